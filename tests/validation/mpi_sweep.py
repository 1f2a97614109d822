#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps, or runs with random arrivals, under mpirun: the same rows as one process, whatever dies on
the way.

usage: mpi_sweep.py COLLSIM sweep|montecarlo

Needs Open MPI's mpirun and a collsim that was built with MPI; says "skipped" without them.
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LIMIT_S = 120
# Open MPI keeps memory until the process ends, and the leak checker would report that.
ENVIRONMENT = dict(os.environ, LC_ALL="C",
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
STOPPED = "the same command goes on from there"
# What is tested: its name, the table of its file, more words for the command line, and a cluster
# for which a scenario takes a few milliseconds.
COMMAND = {"sweep": ("sweep", "results", (), 192),
           "montecarlo": ("montecarlo", "montecarlo", ("-i", "200"), 48)}
name, table, more_words, n_cluster = "", "", (), 0
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def command_of(program, *words):
    return [program, name, *words, *more_words]


def mpirun(n_ranks, *command):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(n_ranks), *command]


def run(*command):
    """Exit code, standard output, standard error; a command that hangs is a failure."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=LIMIT_S,
                              env=ENVIRONMENT)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return -1, "", f"no end after {LIMIT_S} s"


def rows(path):
    """Every column of every row, in the order of the file."""
    database = sqlite3.connect(path, timeout=20)
    try:
        return database.execute(f"SELECT * FROM {table}").fetchall()
    finally:
        database.close()


def count(path, condition="1"):
    """Rows so far; 0 where there is no table yet."""
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
        try:
            return database.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()[0]
        finally:
            database.close()
    except sqlite3.Error:
        return 0


def write_config(path, n_points, n_ranks, **more):
    delays = {"name": "exponential", "mean": "1ms"}
    config = {"collective": "allreduce", "algorithm": {"name": "ring"}, "bytes": "4M",
              "cluster": {"ranks": n_ranks, "nic": {"bandwidth": "400Gb/s"}},
              "arrivals": {"distribution": delays},
              "sweep": {"cluster.nic.alpha": [f"{i + 1}ns" for i in range(n_points)], **more}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def pids_of_ranks(launcher):
    """{rank: pid} of the processes that this mpirun started."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent != launcher:
                continue
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
            found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = int(entry)
        except (OSError, KeyError, ValueError):
            continue
    return found


def check_same_rows(program):
    """Any number of ranks and threads, also more ranks than scenarios."""
    write_config("mixed.json", 20, 12, **{"algorithm.name": ["ring", "rhd", "stragglar", "optcc"],
                                          "collective": ["allreduce", "allgather"]})
    write_config("two.json", 2, 4)
    for config, shapes in (("mixed.json", ((1, 0), (2, 1), (4, 1), (3, 2))), ("two.json", ((5, 1),))):
        # A sweep of which some scenarios are refused says so by its exit code.
        exit_code = 2 if name == "sweep" and config == "mixed.json" else 0
        code, _, errors = run(*command_of(program, config, "-o", "one.db", "-j", "1"))
        expect(code == exit_code, f"{config} alone: exit {code}: {errors}")
        want = rows("one.db")
        os.unlink("one.db")
        code, printed, errors = run(*command_of(program, config, "-o", "one.db", "-j", "2"))
        expect(code == exit_code and rows("one.db") == want, f"{config} with -j 2: {code}: {errors}")
        n_errors = count("one.db", "error IS NOT NULL")
        expect((n_errors > 0) == (config == "mixed.json"), f"{config}: {n_errors} rows with an error")
        for n_ranks, jobs in shapes:
            words = ("-j", str(jobs)) if jobs > 0 else ()
            command = mpirun(n_ranks, *command_of(program, config, "-o", "many.db", *words))
            code, output, errors = run(*command)
            what = f"{config} with {n_ranks} ranks and -j {jobs}"
            expect(code == exit_code, f"{what}: exit {code}: {errors}")
            expect(rows("many.db") == want, f"{what}: other rows than one process")
            expect(output == printed, f"{what}: printed {output!r}")
            code, output, _ = run(*command)
            expect(code == exit_code and f"{len(want)} were there, 0 run now" in output,
                   f"{what}, again: {output!r}")
            os.unlink("many.db")
        os.unlink("one.db")


def check_errors(program):
    """One line of ours, the exit code of one process, and no waiting."""
    write_config("bad.json", 3, 4, bytes=["4K", "8K", "12parsec"])
    with open("broken.json", "w", encoding="utf-8") as file:
        file.write('{"collective":\n')
    cases = [("bad.json", "-o", "bad.db"), ("broken.json", "-o", "broken.db"), (),
             ("two.json", "-o", "missing/two.db"), ("absent.json", "-o", "absent.db"),
             ("two.json", "-o", "two.db", "--no-such-option")]
    if name == "montecarlo":
        cases += [("two.json", "--confidence", "2"), ("two.json", "--baseline", "rhd")]
    for words in cases:
        alone = run(*command_of(program, *words))
        many = run(*mpirun(4, *command_of(program, *words)))
        ours = [line for line in many[2].split("\n") if line.startswith("collsim: ")]
        expect(many[0] == alone[0], f"{words}: exit {many[0]} with ranks, {alone[0]} without")
        expect(ours == alone[2].strip().split("\n"), f"{words}: {ours} with ranks, {alone[2]!r}")
    two = command_of(program, "two.json", "-o", "x.db")
    others = [command_of(program, "mixed.json", "-o", "x.db")]
    if name == "montecarlo":
        others += [two + ["-i", "201"], two + ["--sampling", "sobol"], two + ["--replay"]]
    for other in others:
        code, _, errors = run(*mpirun(2, *two), ":", "-n", "1", *other)
        expect(code == 2 and "rank 2 has another configuration" in errors, f"{code}: {errors}")
        expect(not os.path.exists("x.db"), f"{other}: a file was written")
    code, output, _ = run(*mpirun(3, program, name, "--help"))
    expect(code == 0 and output.count("usage:") == 1, f"--help: exit {code}: {output!r}")


def long_config(program, seconds):
    """Enough scenarios for three workers to be busy for more than so many seconds, and their rows."""
    for path in ("rate.db", "whole.db"):
        if os.path.exists(path):
            os.unlink(path)
    write_config("rate.json", 100000, n_cluster)
    alone = subprocess.Popen(command_of(program, "rate.json", "-o", "rate.db", "-j", "1"),
                             stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    while count("rate.db") == 0 and alone.poll() is None:
        time.sleep(0.01)
    before = count("rate.db")
    time.sleep(1)
    per_second = max(count("rate.db") - before, 10)
    alone.terminate()
    alone.wait(LIMIT_S)
    write_config("long.json", min(99999, int(4 * seconds * per_second)), n_cluster)
    code, output, errors = run(*command_of(program, "long.json", "-o", "whole.db"))
    expect(code == 0, f"long.json: exit {code}: {output}{errors}")
    return rows("whole.db")


def check_killed(program, want, who, which):
    """Kill one in the middle: message, exit, rows kept; then the same command ends it. False where it ended by itself."""
    what = f"{who} after {which.name}"
    command = mpirun(4, *command_of(program, "long.json", "-o", "killed.db"))
    # mpirun wakes its ranks, waits so many seconds, sends SIGTERM, waits as long again and kills; where others use the
    # processors one second is too short for a last message.
    patience = "2" if who == "mpirun" else "1"
    first = [*command[:1], "--mca", "odls_base_sigkill_timeout", patience, *command[1:]]
    with open("killed.err", "w+", encoding="utf-8") as errors:
        launcher = subprocess.Popen(first, stdout=subprocess.DEVNULL, stderr=errors,
                                    env=ENVIRONMENT)
        until = time.monotonic() + LIMIT_S
        while count("killed.db") < 20 and time.monotonic() < until and launcher.poll() is None:
            time.sleep(0.01)
        ranks = pids_of_ranks(launcher.pid)
        at_kill = count("killed.db")
        if at_kill < len(want) and launcher.poll() is None:
            expect(len(ranks) == 4, f"{what}: {ranks}, {at_kill} rows")
            os.kill(launcher.pid if who == "mpirun" else ranks[int(who.split()[1])], which)
        try:
            code = launcher.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            launcher.kill()
            code = 0
        errors.seek(0)
        text = errors.read()
    if rows("killed.db") == want:
        os.unlink("killed.db")
        return False
    expect(code != 0, f"{what}: exit {code}")
    expect(text.strip() != "", f"{what}: no message")
    if (who, which) != ("rank 0", signal.SIGKILL):
        expect(text.count(STOPPED) == 1, f"{what}: {text}")
    kept = rows("killed.db")
    expect(at_kill <= len(kept) < len(want), f"{what}: {at_kill} rows before, {len(kept)} kept")
    expect(set(kept) <= set(want), f"{what}: rows that one process does not have")
    code, output, errors = run(*command)
    expect(code == 0 and f"{len(kept)} were there" in output, f"{what}, again: {output}{errors}")
    expect(rows("killed.db") == want, f"{what}, again: other rows than one process")
    print(f"{what}: {at_kill} rows before, {len(kept)} of {len(want)} kept", flush=True)
    os.unlink("killed.db")
    return True


def check_lacking(program):
    """Some hosts, or all of them, lack a part of the program: here SimGrid's."""
    beside = os.path.dirname(program)
    if not os.path.exists(os.path.join(beside, "collsim-simgrid")):
        print("skipped: this build has no SimGrid")
        return
    for folder, parts in (("whole", ("collsim-mpi.so", "collsim-simgrid")), ("lacking", ("collsim-mpi.so",))):
        os.mkdir(folder)
        for part in parts:
            os.symlink(os.path.join(beside, part), os.path.join(folder, part))
    config = {"bytes": "1M", "arrivals": {"distribution": {"name": "exponential", "mean": "1ms"}},
              "sweep": {"model.name": ["alpha-beta", "simgrid"], "cluster.ranks": [-1, 4, 8, 16],
                        "cluster.nic.alpha": [f"{i + 1}us" for i in range(6)]}}
    if name == "montecarlo":
        del config["sweep"]["cluster.ranks"][0]
    with open("lack.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    exit_code = 2 if name == "sweep" else 0
    words = command_of(program, "lack.json", "-o", "lack.db")
    code, _, errors = run(*words, "-j", "2")
    expect(code == exit_code, f"lack.json alone: exit {code}: {errors}")
    want = rows("lack.db")
    n_all, n_simgrid = len(want), count("lack.db", "model = 'simgrid'")
    os.unlink("lack.db")

    def lacking(n_lacking, n_whole):
        """Rank 0 is whole, so many behind it lack the part, the others do not."""
        parts = [("whole", 1), ("lacking", n_lacking), ("whole", n_whole)]
        line = mpirun(0, "")[:-3]
        for at, (folder, n) in enumerate(part for part in parts if part[1] > 0):
            line += ([":"] if at > 0 else []) + ["-n", str(n), "-x", "COLLSIM_MODULES=" + os.path.abspath(folder)]
            line += words
        return line

    for n_lacking, n_whole in ((1, 1), (2, 1), (1, 3)):
        code, output, errors = run(*lacking(n_lacking, n_whole))
        what = f"{n_lacking} of {n_lacking + n_whole} ranks lack a part"
        expect(code == exit_code, f"{what}: exit {code}: {output}{errors}")
        expect(rows("lack.db") == want, f"{what}: other rows than one process")
        os.unlink("lack.db")
    code, output, errors = run(*lacking(3, 0))
    ours = [line for line in errors.split("\n") if line.startswith("collsim: ")]
    expect(code == 3 and f"{n_simgrid} missing" in output, f"all ranks lack a part: exit {code}: {output}{errors}")
    expect(len(ours) == 1 and f"{n_simgrid} of {n_all} scenarios are missing" in ours[0] and "collsim-simgrid" in ours[0],
           f"all ranks lack a part: {ours}")
    expect(count("lack.db") == n_all - n_simgrid, f"all ranks lack a part: {count('lack.db')} rows")
    code, output, errors = run(*lacking(1, 1))
    expect(code == exit_code and f"{n_simgrid} run now" in output, f"the same again: exit {code}: {output}{errors}")
    expect(rows("lack.db") == want, "the same again: other rows than one process")


def check_without_module(program):
    """A program without MPI refuses to be several."""
    alone = os.path.join(os.getcwd(), "bin", "collsim")
    os.mkdir("bin")
    shutil.copy(program, alone)
    code, _, errors = run(*mpirun(2, *command_of(alone, "two.json", "-o", "none.db")))
    ours = [line for line in errors.split("\n") if line.startswith("collsim: ")]
    expect(code == 2 and len(ours) == 1 and "libopenmpi-dev" in ours[0], f"no module: {code} {ours}")
    expect(not os.path.exists("none.db"), "no module: a file was written")
    code, _, errors = run(*mpirun(1, *command_of(alone, "two.json", "-o", "none.db")))
    expect(code == 0 and len(rows("none.db")) == 2, f"no module, one rank: {code} {errors}")


def main():
    global name, table, more_words, n_cluster
    if len(sys.argv) != 3 or sys.argv[2] not in COMMAND:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program = os.path.abspath(sys.argv[1])
    name, table, more_words, n_cluster = COMMAND[sys.argv[2]]
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun (openmpi-bin)")
        return 0
    if not os.path.exists(os.path.join(os.path.dirname(program), "collsim-mpi.so")):
        print("skipped: collsim was built without MPI (libopenmpi-dev)")
        return 0
    if "Open MPI" not in run("mpirun", "--version")[1]:
        print("skipped: this mpirun is not Open MPI's")
        return 0
    folder = tempfile.mkdtemp(prefix="cs_mpi_")
    try:
        os.chdir(folder)
        check_same_rows(program)
        check_errors(program)
        check_without_module(program)
        check_lacking(program)
        seconds = 0
        for who, which, least_seconds in (("rank 2", signal.SIGKILL, 1), ("rank 0", signal.SIGKILL, 1),
                                          ("rank 3", signal.SIGTERM, 1), ("mpirun", signal.SIGINT, 3)):
            if seconds < least_seconds:
                seconds = least_seconds
                want = long_config(program, seconds)
            # The rate was measured while others may have used the processors: what ends by itself is made longer.
            while not check_killed(program, want, who, which):
                seconds *= 3
                expect(seconds <= 27, f"{who} after {which.name}: it goes on to its end")
                if seconds > 27:
                    break
                want = long_config(program, seconds)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
