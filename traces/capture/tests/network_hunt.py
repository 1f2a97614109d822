#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/testbed_hunt on a real network of namespaces: it finds what is slow, its exit codes, and that nothing ever stays.

usage: network_hunt.py COLLSIM COLLSIM-TESTBED

Exit code 77: there can be no namespaces here, or another testbed is running.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from network import ROOT, expect, folders, namespaces  # noqa: E402


def command(*options):
    return [os.path.join(ROOT, "scripts", "testbed_hunt"), "--collsim", sys.argv[1], "--program", sys.argv[2], *options]


def run(*options, before=()):
    return subprocess.run([*before, *command(*options)], text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def processes():
    """Command lines of runs of a hunt, and of what they started."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue            # it has ended
        if re.search(r"/collsim-testbed-\w+/|--netns collsim-testbed-|testbed_hunt --run", words):
            found.append(words)
    return found


def left():
    return namespaces() + folders() + processes()


def check_found():
    """Another node for another seed, and nothing where nothing is planted."""
    done = run("--seed", "1,2")
    if done.returncode == 77 or "another testbed" in done.stderr:
        print(done.stdout + done.stderr)
        sys.exit(77)
    expect(done.returncode == 0, f"two hunts: {done.returncode}, {done.stdout}{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    expect([row[0] for row in rows] == ["seed1", "seed2", "healthy"], f"no such hunts: {done.stdout}")
    expect(all(row[1] == row[2] for row in rows) and rows[0][1] != rows[1][1] and rows[2][1] == "nothing",
           f"what was found is not what was planted: {done.stdout}")
    expect(all(int(row[4]) <= 3 for row in rows), f"many rounds: {done.stdout}")
    expect(not left(), f"something stayed after a hunt: {left()}")


def check_wrong_answer():
    """Who allows one round only is not sure yet."""
    done = run("--seed", "1", "--rounds", "1")
    expect(done.returncode == 1 and "NOT SURE" in done.stdout, f"one round: {done.returncode}, {done.stdout}{done.stderr}")


def interrupted(number):
    """The exit code of a hunt that gets a signal while runs are under way."""
    process = subprocess.Popen(command("--rate", "40"), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while process.poll() is None and not any("--netns" in words for words in processes()) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    expect(process.poll() is None and any("--netns" in words for words in processes()), "no run began")
    process.send_signal(number)
    process.communicate()
    return process.returncode


def check_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        expect(interrupted(number) == 3, f"{number}: the exit code is not 3")
        expect(not left(), f"something stayed after {number}: {left()}")
    expect(interrupted(signal.SIGKILL) == -signal.SIGKILL, "it was not killed")
    end = time.monotonic() + 5
    while processes() and time.monotonic() < end:
        time.sleep(0.05)
    expect(not processes(), f"runs go on although their hunt was killed: {processes()}")
    expect(namespaces() and folders(), "a killed hunt leaves nothing: this test tests nothing")


def check_failing_run():
    """A run that cannot do its work ends the hunt with what the run said; and what a killed hunt left is gone."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'the moon is full'\nexit 3\n")
        os.chmod(program, 0o755)
        done = run("--seed", "1", "--program", program)
    expect(done.returncode == 3 and done.stderr.count("\n") == 1 and "the moon is full" in done.stderr,
           f"runs that fail: {done.returncode}, {done.stdout}{done.stderr}")
    expect(not left(), f"something stayed after runs that fail: {left()}")


def check_refusals():
    for words, said in ((("--nodes", "3"), "4 to 16"), (("--group", "1"), "--group: accepted"), (("--slowdown", "1"), "1.01 to 10"),
                        (("--seed", "4,4"), "stands twice"), (("--planted", "4"), "0 to 3"),
                        (("--program", "/nowhere"), "/nowhere is not there")):
        done = run(*words)
        expect(done.returncode == 2 and said in done.stderr, f"{words}: {done}")
    if shutil.which("setpriv"):
        done = run(before=("setpriv", "--reuid", "65534", "--clear-groups"))
        expect(done.returncode == 77 and "skipped: not root" in done.stdout, f"without root: {done}")


def main():
    check_found()
    check_wrong_answer()
    check_signals()
    check_failing_run()
    check_refusals()
    print("network_hunt: three hunts, one that is not sure, three signals, runs that fail, seven refusals: all as they should be")


if __name__ == "__main__":
    main()
