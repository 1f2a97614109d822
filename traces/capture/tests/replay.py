#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the schedule of every algorithm, collective and number of ranks from 2 to 8 on real buffers.

usage: replay.py COLLSIM PROGRAM... [--most N] [--eager]

Makes the schedules with COLLSIM, in one server, in servers of 2 and of 4 ranks, and for clusters
that algorithms are made for (late ranks, slow NICs, servers that differ), hands all of them to
PROGRAM at once, and asks for a result that is right in every number. A schedule that an algorithm
refuses to make is none.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

BYTES = "10007"  # no whole number of floats, and no multiple of any number of ranks
# Schedules that only some cluster has: arguments beside the algorithm.
CASES = (
    ("stragglar", ["-n", "8", "--late", "2=1ms", "--late", "5=2ms", "--opt", "late_ranks=auto"]),
    ("stragglar", ["-n", "7", "--late", "6=1ms", "--opt", "model=duplex"]),
    ("optcc", ["-n", "8", "--slow", "3=2"]),
    ("optcc", ["-n", "8", "-g", "2", "--slow", "1=4"]),
    ("r2ccl", ["-n", "6", "--slow", "0=2"]),
    ("reduce_tree", ["-n", "7", "-c", "broadcast", "--root", "3"]),
    ("reduce_ring", ["-n", "5", "-c", "reduce", "--root", "4"]),
    ("double_binary_tree", ["-n", "8", "--opt", "chunks=5"]),
    ("hierarchical", ["-n", "8", "-g", "4", "--opt", "segments=3"]),
    ("hierarchical", ["-n", "8", "-g", "4", "--opt", "stages=apart"]),
    ("parallel_rings", ["-n", "8", "-g", "4", "--opt", "segments=2"]),
    ("adapcc", ["-n", "6", "--set", "cluster.servers=[{\"gpus\": 4}, {\"gpus\": 2}]"]),
    ("flat_ring", ["-n", "6", "--set", "cluster.servers=[{\"gpus\": 1}, {\"gpus\": 5}]"]),
    ("nccl_rings", ["-n", "7", "--set", "cluster.servers=[{\"count\": 2, \"gpus\": 3}, {\"gpus\": 1}]"]),
)


def make(collsim, algorithm, arguments, path):
    """Why no schedule was made, or None."""
    done = subprocess.run([collsim, "schedule", algorithm, *arguments, "-s", BYTES, "--format", "json",
                           "-o", path], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode != 0 else None


def all_cases(collsim, most):
    listed = subprocess.run([collsim, "list", "algorithms", "--format", "json"], capture_output=True,
                            text=True, check=True)
    for algorithm in json.loads(listed.stdout):
        for collective in algorithm["collectives"]:
            for ranks in range(2, most + 1):
                for gpus in (g for g in (1, 2, 4) if ranks % g == 0):
                    yield algorithm["name"], ["-c", collective, "-n", str(ranks), "-g", str(gpus)]


def main(arguments):
    eager = "--eager" in arguments
    arguments = [a for a in arguments if a != "--eager"]
    most = 8
    if "--most" in arguments:
        at = arguments.index("--most")
        most = int(arguments[at + 1])
        del arguments[at:at + 2]
    if len(arguments) < 2:
        sys.exit(__doc__.strip())
    collsim, program = arguments[0], arguments[1:]
    with tempfile.TemporaryDirectory() as folder:
        cases = [(name, args, False) for name, args in all_cases(collsim, most)]
        cases += [(name, args, True) for name, args in CASES if int(args[1]) <= most]
        paths = [os.path.join(folder, "%03d-%s.json" % (i, case[0])) for i, case in enumerate(cases)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            refusals = list(pool.map(lambda pair: make(collsim, *pair[0][:2], pair[1]), zip(cases, paths)))
        for (name, args, is_required), why in zip(cases, refusals):
            if why is not None and is_required:
                sys.exit("%s %s: no schedule: %s" % (name, " ".join(args), why))
        files = [path for path, why in zip(paths, refusals) if why is None]
        results = os.path.join(folder, "results")
        # 2 repetitions: what the first one leaves in the buffers must not help the second one.
        run = subprocess.run([*program, *files, "--warm-up", "0", "--repetitions", "2", "--quiet",
                              "--json", results] + (["--eager"] if eager else []),
                             capture_output=True, text=True)
        sys.stderr.write(run.stderr)
        if run.returncode != 0:
            sys.exit("exit code %d" % run.returncode)
        with open(results, encoding="utf-8") as file:
            runs = json.load(file)["runs"]
    wrong = sum(r["wrong"] for r in runs)
    if len(runs) != len(files) or wrong != 0 or len(files) < 14 * most:
        sys.exit("%d schedules, %d results, %d wrong numbers" % (len(files), len(runs), wrong))
    print("%d schedules of %d algorithms for 2 to %d ranks are right in every number, twice"
          % (len(files), len({name for name, _, _ in cases}), most))


if __name__ == "__main__":
    main(sys.argv[1:])
