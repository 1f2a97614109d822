#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every number of ranks: StragglAR's schedule is replayed and verified, and takes n - 2 rounds
before the late rank and n - 2 + ceil(log2 n) with it.

usage: stragglar_every_n.py COLLSIM_BINARY [--to N] [--jobs J]

With a release build and two jobs 2 to 2048 (5.7e9 transfers) take about half a minute.
"""
import argparse
import csv
import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SHARE = 64  # numbers of ranks per process


def check(binary, numbers):
    """What is wrong with these numbers of ranks, or nothing."""
    run = subprocess.run([binary, "run", "-a", "stragglar", "-s", "1G", "-n",
                          ",".join(map(str, numbers)), "--format", "csv"], capture_output=True,
                         text=True)
    if run.returncode != 0:
        return ["%d..%d: %s" % (numbers[0], numbers[-1], run.stderr.strip())]
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    wrong = [] if len(rows) == len(numbers) else ["%d rows of %d" % (len(rows), len(numbers))]
    for n, row in zip(numbers, rows):
        rounds = 2 * (n - 2) + (n - 1).bit_length()
        if int(row["ranks"]) != n or row["verified"] != "true" or int(row["rounds"]) != rounds:
            wrong.append("%s ranks: verified %s, %s rounds, not %d"
                         % (row["ranks"], row["verified"], row["rounds"], rounds))
    return wrong


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--to", type=int, default=2048)
    arguments.add_argument("--jobs", type=int, default=2)
    o = arguments.parse_args()
    numbers = list(range(2, o.to + 1))
    shares = -(-len(numbers) // SHARE)
    csv.field_size_limit(1 << 30)
    with ThreadPoolExecutor(o.jobs) as pool:
        wrong = sum(pool.map(lambda i: check(o.binary, numbers[i::shares]), range(shares)), [])
    print("\n".join(wrong[:20]) if wrong else "stragglar verified for every n from 2 to %d" % o.to)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
