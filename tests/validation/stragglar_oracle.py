#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""StragglAR's main phases as exported by collsim, judged by checkers that share no code with it.

usage: stragglar_oracle.py COLLSIM_BINARY [SEED]
The generators and checkers are looked for in ../shared/prototypes beside the repository; without
them the test passes and says that it was skipped. For many numbers of ranks the exported
schedule is taken to labels and rounds, checked transfer by transfer (who has what, ports, pairs), and
its rounds are counted against the generator's. Numbers of chunks other than n - 1 are drawn.
"""
import json
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLES = os.path.join(ROOT, "..", "shared", "prototypes")


def exported(binary, n, late, options):
    """Rounds of the main phase: lists of (src label, dst label, chunk in the order of exchange)."""
    args = [binary, "schedule", "stragglar", "-n", str(n), "--format", "json", "--opt", "straggler=%d" % late]
    for option in options:
        args += ["--opt", option]
    ran = subprocess.run(args, capture_output=True, text=True)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    transfers = json.loads(ran.stdout)["transfers"]
    first = next(t["round"] for t in transfers if late in (t["src"], t["dst"]))
    label = {r: n - 1 if r == late else r - (r > late) for r in range(n)}
    number, rounds = {}, []
    for t in transfers:
        if t["round"] < first:
            continue
        while len(rounds) <= t["round"] - first:
            rounds.append([])
        if t["op"] == "exchange":
            number[t["chunk"]] = len(number)
        src, dst, chunk = label[t["src"]], label[t["dst"]], number[t["chunk"]]
        rounds[-1].append((src, dst, chunk))
        if t["op"] == "exchange":
            rounds[-1].append((dst, src, chunk))
    return rounds


def check_paper_chunks(binary, n, late, sar, check):
    model = "dup" if n % 2 else "tel"
    rounds = exported(binary, n, late, [])
    count, useless, total = check(n, rounds, model)
    assert useless == 0 and total == n * (n - 1), (n, useless, total)
    assert count == len(sar.schedule(n, model)), (n, count)


def check_any_chunks(binary, n, late, chunks, sarc):
    rounds = exported(binary, n, late, ["chunks=%d" % chunks])
    model = "dup" if n % 2 else "tel"
    assert sarc.check(n, chunks, rounds) == n * chunks, (n, chunks)
    assert len(rounds) == len(sarc.sched(n, chunks, model)), (n, chunks, len(rounds))


def main():
    if not os.path.isfile(os.path.join(ORACLES, "late", "sarc.py")):
        print("stragglar_oracle: skipped, the generators are not here")
        return 0
    sys.dont_write_bytecode = True
    sys.path[:0] = [os.path.join(ORACLES, "late"), os.path.join(ORACLES, "stragglar")]
    import sar
    import sarc
    from check import check
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    rng = random.Random(seed)
    cases = failed = 0
    for n in list(range(4, 50)) + [64, 65, 96, 100, 127, 128, 129, 150]:
        late, q = rng.randrange(n), (n - 1).bit_length()
        runs = [lambda: check_paper_chunks(sys.argv[1], n, late, sar, check)]
        for chunks in (q + 1, rng.randrange(q + 1, n + 1), rng.randrange(q + 1, 3 * n)):
            runs.append(lambda c=chunks: check_any_chunks(sys.argv[1], n, late, c, sarc))
        for run in runs:
            cases += 1
            try:
                run()
            except (AssertionError, ValueError, KeyError, IndexError, RuntimeError) as e:
                failed += 1
                print("n=%d straggler %d: %s %s" % (n, late, type(e).__name__, e))
    print("stragglar_oracle: seed %d, %d cases, %d differ" % (seed, cases, failed))
    return 1 if failed else 0


sys.exit(main())
