#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what optcc chooses by itself within 1 % of the best of many fixed choices?

usage: optcc_best.py COLLSIM [--ranks P[,P..]] [--tolerance 0.01] [--quick]

LogGP, 200 Gb/s, 1 GiB, one slow NIC of slowdown 8/7 to 4, overheads o from 0 to 2 us. Fixed are
the copies, the ramp and the bubbles, and the rounds in steps of a quarter. The largest excess of
every number of ranks is printed. It takes minutes for each; --quick tries every other thing.
"""
import argparse
import itertools
import json
import subprocess
import sys

OVERHEADS_US = (0, 0.5, 2)
SLOWDOWNS = (8 / 7, 4 / 3, 2, 4)
COPIES = (1, 2, 3, 4)
MOST_TRANSFERS = 40e6  # more are never the best, and slow


def run(program, ranks, slowdown, overhead_us, options):
    alpha_us = max(3, 2 * overhead_us + 1)
    words = [program, "run", "-a", "optcc", "-n", str(ranks), "-s", "1G", "--alpha", f"{alpha_us}us",
             "--bandwidth", "200Gb/s", "-m", "loggp", "--model-opt", f"overhead_s={overhead_us * 1e-6!r}",
             "--slow", f"0={slowdown!r}", "--no-verify", "--format", "json"]
    for key, value in options.items():
        words += ["--opt", f"{key}={value}"]
    answer = subprocess.run(words, capture_output=True, text=True)
    if answer.returncode == 2 and options:
        return None  # no such schedule
    if answer.returncode != 0:
        sys.exit(f"{' '.join(words)}: {answer.stderr}")
    return json.loads(answer.stdout)[0]


def best_of_fixed(program, ranks, slowdown, overhead_us, quick):
    """(seconds, options) of the best fixed choice."""
    shapes = itertools.product((0, 1, 2), ("on", "off")) if slowdown < 2 else ((0, "off"),)
    shapes = tuple(shapes)[::2 if quick else 1]
    growth = 1.6 if quick else 1.25
    best = None
    for (ramp, bubbles), copies in itertools.product(shapes, COPIES[:3 if quick else 4]):
        rounds, least = 1, None
        while rounds <= 4096:
            options = {"rounds": rounds, "copies": copies, "ramp": ramp, "bubbles": bubbles,
                       "chosen": "optcc"}
            result = run(program, ranks, slowdown, overhead_us, options)
            rounds = int(rounds * growth) + 1
            if result is None:
                continue
            seconds = result["elapsed_s"]
            if least is not None and seconds > 1.1 * least:
                break  # it only gets worse
            least = seconds if least is None else min(least, seconds)
            if best is None or seconds < best[0]:
                best = seconds, options
            if result["transfers"] > MOST_TRANSFERS:
                break
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ranks", default="8,17")
    parser.add_argument("--tolerance", type=float, default=0.01)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for ranks in map(int, arguments.ranks.split(",")):
        worst = 0.0
        settings = itertools.product(SLOWDOWNS, OVERHEADS_US)
        for slowdown, overhead_us in tuple(settings)[::2 if arguments.quick else 1]:
            chosen = run(arguments.program, ranks, slowdown, overhead_us, {})
            best_s, options = best_of_fixed(arguments.program, ranks, slowdown, overhead_us,
                                            arguments.quick)
            excess = chosen["elapsed_s"] / best_s - 1
            worst = max(worst, excess)
            if excess > arguments.tolerance:
                failed += 1
                print(f"FAILED: p = {ranks}, l = {slowdown:.4g}, o = {overhead_us} us: {excess:.2%} above "
                      f"{options}; chosen were {chosen['options']}", flush=True)
        print(f"p = {ranks}: at most {worst:.2%} above the best of all that was tried", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
