#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random OptCC schedules against an exact rational evaluator that shares no code with collsim.

usage: optcc_oracle.py COLLSIM_BINARY [SEED]
The evaluator is looked for in ../shared/prototypes/optcc beside the repository; without it the test
passes and says that it was skipped. Draws p, the slowdowns, GPUs per server, rounds and alpha.
"""
import json
import os
import random
import subprocess
import sys
from fractions import Fraction as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLE = os.path.join(ROOT, "..", "shared", "prototypes", "optcc")
SECTION_BYTES = 2520000
RATE_BPS = 1000000
N_CASES = 80


def replayed(binary, p, slow, rounds, n_sections, g, alpha, bubbles):
    args = [binary, "run", "-a", "optcc", "-n", p * g, "-g", g, "-s", n_sections * g * SECTION_BYTES,
            "--alpha", "%.17gs" % (float(alpha) * SECTION_BYTES / RATE_BPS), "--bandwidth", RATE_BPS,
            "--nvlink-alpha", "0s", "--nvlink-bandwidth", max(1, g - 1) * RATE_BPS,
            "--opt", "rounds=%d" % rounds, "--opt", "chosen=optcc", "--opt", "ramp=0",
            "--opt", "bubbles=" + bubbles, "--format", "json"]
    for server, ratio in enumerate(slow):
        args += ["--slow", "%d=%.17g" % (server * g, float(ratio))]
    ran = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if ran.returncode != 0:
        return None, ran.stderr.strip()
    result = json.loads(ran.stdout)[0]
    if not result["verified"]:
        return None, "not verified"
    return result["elapsed_s"] * RATE_BPS / SECTION_BYTES, ""


def draw(rng):
    """p, slowdowns, rounds, GPUs per server, alpha in sections"""
    m = rng.choice((1, 1, 1, 2, 3))
    p = m + rng.randrange(2, 11)
    slow = [rng.choice((F(8, 7), F(4, 3), F(3, 2), F(2), F(5, 2), F(3))) for _ in range(m)]
    g = rng.choice((1, 1, 2, 3)) if p - m <= 6 else 1
    alpha = 0 if g > 1 else rng.choice((F(0), F(0), F(1, 2), F(2)))
    return p, slow, rng.randrange(3, 7), g, alpha


def expected(oracle, p, slow, rounds, g, alpha):
    gen, gen_multi, replay = oracle
    if g > 1:
        flows, info = gen_multi(p, g, slow, rounds)
        _, ticks = replay(flows)
        return info["N"], float(F(ticks, info["S"]))
    flows, info = gen(p, slow, rounds)
    _, ticks = replay(flows, alpha=alpha * info["c"])
    return info["N"], float(F(ticks) / info["c"])


def main():
    if not os.path.isfile(os.path.join(ORACLE, "optcc.py")):
        print("optcc_oracle: skipped, the evaluator is not here")
        return 0
    sys.dont_write_bytecode = True
    sys.path.insert(0, ORACLE)
    from multigpu import gen_multi
    from optcc import gen
    from verify import replay
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    rng = random.Random(seed)
    failed = 0
    for _ in range(N_CASES):
        p, slow, rounds, g, alpha = draw(rng)
        n_sections, want = expected((gen, gen_multi, replay), p, slow, rounds, g, alpha)
        special = len(slow) == 1 and slow[0] >= 2 and g == 1
        if special and rounds * (p - 2) < p + 1:
            continue  # the evaluator builds the special section even where it does not fit
        got, why = replayed(sys.argv[1], p, slow, rounds, n_sections, g, alpha, "off")
        if got is None or abs(got - want) > 1e-9 * want:
            failed += 1
            print("p=%d l=%s R=%d g=%d alpha=%s: got %s, want %.12g %s"
                  % (p, ",".join(map(str, slow)), rounds, g, alpha, got, want, why))
    print("optcc_oracle: seed %d, %d cases, %d differ" % (seed, N_CASES, failed))
    return 1 if failed else 0


sys.exit(main())
