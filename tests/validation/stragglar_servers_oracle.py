#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""StragglAR over servers of several GPUs, against a generator and a replay that share no code with it.

usage: stragglar_servers_oracle.py COLLSIM_BINARY [SEED [CASES]]
The generator and its replay are looked for in ../shared/prototypes beside the repository; without
them the test passes and says that it was skipped. Servers, GPUs, gateways, chunks, rates, who is
late and how much are drawn (also GPUs of several servers); the elapsed times must agree, and stay below the closed forms.
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
    form = rng.choice(["chain", "chain", "chain", "tree", "late chain", "direct", "direct", "gateways", "servers", "servers"])
    late = 1
    if form == "late chain":
        late = rng.randrange(2, l) if l > 2 else 1
    elif form in ("direct", "gateways"):
        late = rng.randrange(1, l + 1)
    servers = 1
    if form == "servers" and n > 2:
        late = rng.choice([1, l, rng.randrange(1, l + 1)])
        servers = rng.randrange(2, min(4, n - 1) + 1)
        chunks = (n - servers) * rng.randrange(1, 4)
    gateways = rng.choice([d for d in range(1, l) if l % d == 0]) if form == "gateways" else l
    if gateways < l and late > 1:
        late = rng.choice([1, l])
    return {
        "n": n,
        "l": l,
        "form": form,
        "late": late,
        "gateways": gateways,
        "servers": servers,
        "chunks": 1 if form == "tree" else chunks,
        "halves": n == 3 and form != "tree" and servers == 1 and rng.random() < 0.5,
        "server": rng.randrange(n + 1 - servers),
        "begin": rng.randrange(l) if gateways == l else 0,
        "delay": rng.choice([0.0, 1.0, rng.random()]) * 10 ** rng.uniform(-6, -2) + (1e-9 if late * servers > 1 else 0),
        "bytes": l * chunks * rng.randrange(1, 1 << rng.randrange(4, 24)),
        "nic": (rng.uniform(0, 1e-5), 10 ** rng.uniform(9.5, 11)),
        "nvlink": (rng.uniform(0, 3e-6), 10 ** rng.uniform(10, 12)),
    }


def form_of(c):
    is_chain = "chain" in c["form"] or (c["form"] == "servers" and (c["late"] == 1 or 2 * c["late"] < c["l"]))
    return "chain" if is_chain else "direct"


def options(c):
    inside = "tree" if c["form"] == "tree" else form_of(c)
    said = ["inside=" + inside, "late_ranks=%d" % (c["late"] * c["servers"]), "gateways=%d" % c["gateways"]]
    said += ["chunks=%d" % c["chunks"], "halves=%s" % ("on" if c["halves"] else "off")]
    if c["late"] * c["servers"] == 1:
        said.append("straggler=%d" % late_ranks(c)[0])
    return sum((["--opt", x] for x in said), [])


def late_ranks(c):
    servers = range(c["server"], c["server"] + c["servers"])
    return [v * c["l"] + (c["begin"] + i) % c["l"] for v in servers for i in range(c["late"])]


def collsim(binary, c):
    args = [binary, "run", "-a", "stragglar", "-n", c["n"] * c["l"], "-g", c["l"], "-s", c["bytes"],
            "--alpha", "%.17gs" % c["nic"][0], "--bandwidth", "%.17gB/s" % c["nic"][1],
            "--nvlink-alpha", "%.17gs" % c["nvlink"][0], "--nvlink-bandwidth", "%.17gB/s" % c["nvlink"][1],
            "--format", "json"] + options(c)
    for rank in late_ranks(c):
        args += ["--late", "%d=%.17gs" % (rank, c["delay"])]
    ran = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    return json.loads(ran.stdout)[0]


def server_rounds(binary, n, late, chunks):
    """The main phase of one GPU a server, of which several are late: rounds of (src, dst, chunk, op)."""
    early, steps, known = n - late, (n - late - 1).bit_length(), {"exchange": "X", "reduce": "R", "copy": "C"}
    args = [binary, "schedule", "stragglar", "-n", n, "-s", 1 << 20, "--opt", "late_ranks=%d" % late,
            "--opt", "late_roots=0", "--opt", "chunks=%d" % chunks, "--format", "json"]
    for rank in range(early, n):
        args += ["--late", "%d=1s" % rank]
    said = json.loads(subprocess.run([str(a) for a in args], capture_output=True, text=True, check=True).stdout)
    rounds = [[] for _ in range(1 + said["transfers"][-1]["round"] - steps)]
    for t in said["transfers"]:
        if t["round"] >= steps:
            chunk = t["chunk"] // (chunks // early) + t["chunk"] % (chunks // early) * early
            rounds[t["round"] - steps].append((t["src"], t["dst"], chunk, known[t["op"]]))
    return rounds


def wanted(binary, c, servers, replay):
    n, l, late = c["n"], c["l"], range(c["late"])
    machine = (n * l, c["gateways"] * c["chunks"], c["bytes"] / (c["gateways"] * c["chunks"]), c["nic"], c["nvlink"])
    if c["form"] == "tree":
        stream = servers.tree_stream(n, l)
    else:
        k = c["servers"]
        rounds = server_rounds(binary, n, k, c["chunks"]) if k > 1 else None
        stream = servers.stream(n, l, c["chunks"], c["gateways"], tuple(late), form_of(c), rounds, k, halves=c["halves"])
    arrive = {v * l + p: c["delay"] for v in range(n - c["servers"], n) for p in late}
    return replay.replay(stream, *machine, arrive, False)[0]


def compare(binary, c, servers, replay, model):
    n, l, size, chunks = c["n"], c["l"], c["bytes"], c["chunks"]
    want = wanted(binary, c, servers, replay)
    most = float("inf")
    if c["form"] == "chain" and not c["halves"]:
        most = max(0, model.pre_s(n, l, chunks, size, c["nic"], c["nvlink"]) - c["delay"])
        most += c["delay"] + model.main_s(n, l, chunks, size, c["nic"], c["nvlink"])
    got = collsim(binary, c)
    assert got["verified"] is True, got["verified"]
    assert abs(got["elapsed_s"] - want) <= 1e-9 * want, (got["elapsed_s"], want)
    assert got["elapsed_s"] <= most * (1 + 1e-9), (got["elapsed_s"], most)
    assert got["elapsed_s"] >= got["bound_s"] * (1 - 1e-9), (got["elapsed_s"], got["bound_s"])
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
