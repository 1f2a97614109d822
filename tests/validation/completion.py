#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What shells offer behind `collsim`: every command and option of the help, values of the kind that
the help names, and nothing that the program would refuse. bash completes for real; the scripts of
zsh and fish are read by these shells where they are installed.

usage: completion.py COLLSIM_BINARY
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "completion")
binary = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__.strip())
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)


def text_of(*words):
    run = subprocess.run([binary, *words], text=True, capture_output=True)
    expect(run.returncode == 0, f"{words}: exit {run.returncode}: {run.stderr}")
    return run.stdout


def offered(*words):
    return [line.split("\t")[0] for line in text_of("complete", *words).splitlines()]


def in_bash(folder, *words):
    """What bash offers for the last of the words."""
    script = (f"PATH={os.path.dirname(binary)}:$PATH; . {SCRIPTS}/collsim.bash; COMP_WORDS=(\"$@\"); "
              "COMP_CWORD=$(($# - 1)); _collsim; printf '%s\\n' \"${COMPREPLY[@]}\"")
    run = subprocess.run(["bash", "-c", script, "bash", "collsim", *words], text=True,
                         capture_output=True, cwd=folder)
    expect(run.returncode == 0 and run.stderr == "", f"bash: {words}: {run.stderr}")
    return [line for line in run.stdout.splitlines() if line]


commands = re.findall(r"^  ([a-z]+) ", text_of("--help"), re.M)
expect(len(commands) > 10, f"commands: {commands}")
expect(offered("") == commands + ["--help", "--version"], "not the commands of the help")
for command in commands:
    options = re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text_of(command, "--help"), re.M)
    expect(options and offered(command, "-") == options, f"{command}: not the options of its help")

algorithms = re.findall(r"^(\w+) ", text_of("list", "algorithms"), re.M)
for words, wanted in (
        (("ru",), ["run"]), (("run", "--form"), ["--format"]), (("run", "--format", ""), ["table", "json", "csv"]),
        (("run", "-a", ""), algorithms), (("run", "-a", "ring,r"), ["ring," + a for a in algorithms if a[0] == "r"]),
        (("run", "-c", "allr"), ["allreduce"]), (("run", "--trace", ""), [":files"]), (("run", "--late", ""), []),
        (("verify", ""), [":files"]), (("run", ""), [":files"]), (("list", "algo"), ["algorithms"]),
        (("schedule", "stragg"), ["stragglar"]), (("figure", "al"), [":files", "all"]), (("figure", "stragglar-2"), [":files", "stragglar-2a", "stragglar-2b"]),
        (("topology", "dgx-h1"), ["dgx-h100", ":files"]), (("run", "--topology", "dgx-h1"), [":files", "dgx-h100"]),
        (("nothing", ""), []), (("run", "--no-verify", "x"), [":files"])):
    got = offered(*words)
    expect(sorted(got) == sorted(wanted), f"{words}: {got}, not {wanted}")
for topic in offered("list", ""):
    text_of("list", topic)
for name in offered("run", "--topology", "dgx"):
    if name != ":files":
        text_of("topology", name)
expect(text_of("complete") == "", "something is offered for no word")

with tempfile.TemporaryDirectory() as folder:
    for name in ("a file.json", "other"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    for words, wanted in ((("ru",), ["run"]), (("run", "--format", "j"), ["json"]),
                          (("verify", "a"), ["a file.json"]), (("verify", "o"), ["other"]),
                          (("run", "--late", ""), [])):
        got = in_bash(folder, *words)
        expect(got == wanted, f"bash: {words}: {got}, not {wanted}")
for shell, script in (("zsh", "_collsim"), ("fish", "collsim.fish")):
    if shutil.which(shell):
        run = subprocess.run([shell, "-n", os.path.join(SCRIPTS, script)], text=True, capture_output=True)
        expect(run.returncode == 0 and run.stderr == "", f"{shell}: {run.stderr}")
    else:
        print(f"skipped: there is no {shell}")
print("\n".join(problems) if problems else f"{len(commands)} commands are completed")
sys.exit(1 if problems else 0)
