#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""StragglAR over servers of several GPUs, against a generator and a replay that share no code with it.

usage: stragglar_servers_oracle.py COLLSIM_BINARY [SEED [CASES]]
The generator and its replay are looked for in ../shared/prototypes beside the repository; without
them the test passes and says that it was skipped. Servers, GPUs, chunks, rates, who is late and how
much are drawn; the elapsed times must agree, and stay below the closed forms.
"""
import json
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLES = os.path.join(ROOT, "..", "shared", "prototypes", "stragglar_servers")
SIZES = [(n, l) for n in (2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33) for l in (2, 3, 4, 8) if n * l <= 72]


def drawn(rng):
    n, l = rng.choice(SIZES)
    q = (n - 1).bit_length()
    chunks = rng.choice([1, q + 1, q + 2, max(n - 1, q + 1), 2 * n + 1, 20, rng.randrange(q + 1, 60)])
    return {
        "n": n,
        "l": l,
        "chunks": chunks,
        "halves": n == 3 and rng.random() < 0.5,
        "tree": rng.random() < 0.25,
        "late": rng.randrange(n * l),
        "delay": rng.choice([0, 1, rng.random()]) * 10 ** rng.uniform(-6, -2),
        "bytes": l * chunks * rng.randrange(1, 1 << rng.randrange(4, 24)),
        "nic": (rng.uniform(0, 1e-5), 10 ** rng.uniform(9.5, 11)),
        "nvlink": (rng.uniform(0, 3e-6), 10 ** rng.uniform(10, 12)),
    }


def collsim(binary, c):
    args = [binary, "run", "-a", "stragglar", "-n", c["n"] * c["l"], "-g", c["l"], "-s", c["bytes"],
            "--alpha", "%.17gs" % c["nic"][0], "--bandwidth", "%.17gB/s" % c["nic"][1],
            "--nvlink-alpha", "%.17gs" % c["nvlink"][0], "--nvlink-bandwidth", "%.17gB/s" % c["nvlink"][1],
            "--late", "%d=%.17gs" % (c["late"], c["delay"]), "--opt", "straggler=%d" % c["late"], "--format", "json"]
    if c["tree"]:
        args += ["--opt", "inside=tree"]
    else:
        args += ["--opt", "inside=chain", "--opt", "chunks=%d" % c["chunks"], "--opt", "halves=%s" % ("on" if c["halves"] else "off")]
    ran = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    return json.loads(ran.stdout)[0]


def compare(binary, c, servers, replay, model):
    n, l, size = c["n"], c["l"], c["bytes"]
    chunks = 1 if c["tree"] else c["chunks"]
    arrive = {(n - 1) * l: c["delay"]}
    machine = (n * l, l * chunks, size / (l * chunks), c["nic"], c["nvlink"])
    stream = servers.tree_stream(n, l) if c["tree"] else servers.stream(n, l, chunks, halves=c["halves"])
    want = replay.replay(stream, *machine, arrive, False)[0]
    most = float("inf")
    if not c["tree"] and not c["halves"]:
        most = max(0, model.pre_s(n, l, chunks, size, c["nic"], c["nvlink"]) - c["delay"])
        most += c["delay"] + model.main_s(n, l, chunks, size, c["nic"], c["nvlink"])
    got = collsim(binary, c)
    assert got["verified"] is True, got["verified"]
    assert abs(got["elapsed_s"] - want) <= 1e-9 * want, (got["elapsed_s"], want)
    assert got["elapsed_s"] <= most * (1 + 1e-9), (got["elapsed_s"], most)
    exact = got.get("closed_form_s")
    assert exact is None or abs(exact - want) <= 1e-9 * want, (exact, want)
    return exact is not None


def main():
    if not os.path.isfile(os.path.join(ORACLES, "servers.py")):
        print("stragglar_servers_oracle: skipped, the generator is not here")
        return 0
    sys.dont_write_bytecode = True
    sys.path.insert(0, ORACLES)
    import model
    import replay
    import servers
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    rng = random.Random(seed)
    failed = exact = 0
    for _ in range(cases):
        case = drawn(rng)
        try:
            exact += compare(sys.argv[1], case, servers, replay, model)
        except (AssertionError, ValueError) as e:
            failed += 1
            print("%s: %s %s" % (case, type(e).__name__, e))
    print("stragglar_servers_oracle: seed %d, %d cases, %d with a closed form, %d differ" % (seed, cases, exact, failed))
    return 1 if failed or exact == 0 else 0


sys.exit(main())
