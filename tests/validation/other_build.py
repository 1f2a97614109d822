#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of two builds of the program are not mixed unless that is asked for: a copy of the program that
takes itself for another build goes on with the files of the first, and shares work with it.

usage: other_build.py COLLSIM
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*command, **environment):
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False,
                          env=dict(os.environ, LC_ALL="C", ASAN_OPTIONS="detect_leaks=0", **environment))
    return done.returncode, done.stdout, done.stderr


def build_of(program):
    code, output, _ = run(program, "--version")
    found = re.fullmatch(r"collsim \d+\.\d+\.\d+ \(build (\S+)\)\n", output)
    expect(code == 0 and found, f"--version: {output!r}")
    return found.group(1) if found else ""


def copy_as(program, folder, build, other):
    """The program and its modules, with another identity of the same length."""
    os.mkdir(folder)
    for name in ("collsim", "collsim-mpi.so", "collsim-simgrid", "collsim-ns3"):
        source = os.path.join(os.path.dirname(program), name)
        if os.path.exists(source):
            with open(source, "rb") as file:
                data = file.read()
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data.replace(build.encode() + b"\0", other.encode() + b"\0"))
            os.chmod(os.path.join(folder, name), 0o755)
    return os.path.join(folder, "collsim")


def builds_in(path, table):
    database = sqlite3.connect(path)
    try:
        return database.execute(f"SELECT build, count(*) FROM {table} GROUP BY 1 ORDER BY 1").fetchall()
    finally:
        database.close()


def check_files(program, other, builds):
    """The second build is refused with both named; with --accept-build rows of both stand in the file,
    and those of the first are not run again."""
    for command, table, more in (("sweep", "results", ()), ("montecarlo", "montecarlo", ("-i", "20"))):
        path = command + ".db"
        code, _, errors = run(program, command, "two.json", "-o", path, *more)
        expect(code == 0, f"{command}: {errors}")
        code, output, errors = run(other, command, "three.json", "-o", path, *more)
        expect(code == 2 and output == "" and all(b in errors for b in builds), f"{command}: {code} {errors}")
        expect("--accept-build" in errors and path in errors, f"{command}: {errors}")
        expect(builds_in(path, table) == [(builds[0], 2)], f"{command}: {builds_in(path, table)}")
        code, output, errors = run(other, command, "three.json", "-o", path, "--accept-build", *more)
        expect(code == 0 and "2 were there, 1 run now" in output, f"{command}: {code} {output} {errors}")
        expect(dict(builds_in(path, table)) == {builds[0]: 2, builds[1]: 1}, f"{command}: {builds_in(path, table)}")
        code, _, errors = run(program, command, "two.json", "-o", path, *more)
        expect(code == 2 and all(b in errors for b in builds), f"{command}, the first again: {code} {errors}")
        for one, build in ((program, builds[0]), (other, builds[1])):
            code, output, _ = run(one, "montecarlo" if more else "run", "two.json", "--format", "json", *more)
            expect(code == 0 and [row["build"] for row in json.loads(output)] == 2 * [build],
                   f"{command}: the rows of {build}")


def check_simulator(model, program, other, builds):
    """A simulator's part computes times, too: it must be of the same build, and is no row of a sweep else."""
    part = f"collsim-{model}"
    if not os.path.exists(os.path.join(os.path.dirname(program), part)):
        print(f"skipped: this build has no {part}")
        return
    elsewhere = {"COLLSIM_MODULES": os.path.dirname(other)}
    words = ["two.json", "--set", f"model.name={model}"]
    code, output, errors = run(program, "run", *words, **elsewhere)
    expect(code == 3 and output == "" and f"{part} is of build {builds[1]}, the program of {builds[0]}" in errors,
           f"{part} of another build: {code} {output} {errors}")
    code, output, errors = run(program, "sweep", *words, "-o", f"{model}.db", **elsewhere)
    expect(code == 3 and "2 missing" in output and builds_in(f"{model}.db", "results") == [],
           f"{part} of another build: {code} {output} {errors}")
    code, output, errors = run(program, "sweep", *words, "-o", f"{model}.db")
    expect(code == 0 and "2 run now" in output, f"{part} of this build: {code} {output} {errors}")


def check_ranks(program, other, builds):
    """All ranks, and the module, are of one build."""
    if shutil.which("mpirun") is None or not os.path.exists(os.path.join(os.path.dirname(program), "collsim-mpi.so")):
        print("skipped: there is no mpirun, or no module for it")
        return
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
    words = ["sweep", "two.json", "-o", "ranks.db"]
    code, _, errors = run(*start, "-n", "2", program, *words, ":", "-n", "1", other, *words)
    ours = [line for line in errors.split("\n") if line.startswith("collsim: ")]
    expect(code == 2 and len(ours) == 1 and "rank 2 runs build " + builds[1] in ours[0]
           and "rank 0 runs build " + builds[0] in ours[0], f"two builds: {code} {ours}")
    expect(not os.path.exists("ranks.db"), "two builds: a file was written")
    code, _, errors = run(*start, "-n", "2", program, *words, COLLSIM_MODULES=os.path.dirname(other))
    expect(code == 2 and f"is of build {builds[1]}, the program of {builds[0]}" in errors,
           f"a module of another build: {code} {errors}")


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program = os.path.abspath(sys.argv[1])
    os.environ.pop("COLLSIM_MODULES", None)
    first = build_of(program)
    second = "other-" + first[6:] if len(first) > 6 else first[::-1]
    folder = tempfile.mkdtemp(prefix="cs_build_")
    try:
        os.chdir(folder)
        other = copy_as(program, os.path.join(folder, "other"), first, second)
        expect(build_of(other) == second, "the copy does not take itself for another build")
        for name, sizes in (("two.json", ["1M", "2M"]), ("three.json", ["1M", "2M", "4M"])):
            with open(name, "w", encoding="utf-8") as file:
                json.dump({"cluster": {"ranks": 4}, "arrivals": {"distribution": {"name": "exponential", "mean": "1ms"}},
                           "sweep": {"bytes": sizes}}, file)
        check_files(program, other, (first, second))
        for model in ("simgrid", "ns3"):
            check_simulator(model, program, other, (first, second))
        check_ranks(program, other, (first, second))
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
