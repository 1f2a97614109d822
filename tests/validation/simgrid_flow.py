#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flow model against SimGrid's (CM02): random schedules, leaf-spine networks, late ranks and
NICs that change must take the same time to 1e-9.

usage: simgrid_flow.py COLLSIM_BINARY [--cases N] [--seed N]
       simgrid_flow.py COLLSIM_BINARY --speed      how fast either is on a contended network

What a message waits for (its ports in schedule order, the writers of what it reads, arrivals) is
worked out here, apart from collsim; simgrid_peer.cpp, built on the spot, plays the graph. Without
SimGrid or a C++ compiler the test passes and says that it was skipped. NICs do not recover here:
SimGrid 3.32 keeps a flow below the bandwidth that its links had when it started.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CM02 = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
        "--cfg=network/weight-S:0", "--cfg=network/optim:Full",
        "--cfg=contexts/factory:raw", "--cfg=surf/precision:1e-13", "--cfg=maxmin/precision:1e-12", "--log=root.thres:error"]


def build_peer(folder):
    """The peer's path, or why there is none."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None, "no C++ compiler"
    if subprocess.run(["pkg-config", "--exists", "simgrid"]).returncode != 0:
        return None, "SimGrid is not installed (libsimgrid-dev)"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "simgrid"], capture_output=True,
                           text=True, check=True).stdout.split()
    peer = os.path.join(folder, "peer")
    subprocess.run([compiler, "-O2", "-std=c++17", os.path.join(HERE, "simgrid_peer.cpp"), "-o",
                    peer, *flags], check=True)
    return peer, ""


class Case:
    """A scenario and a schedule: (src, dst, chunk, span, op, bytes)."""

    def __init__(self, n, bytes_, alpha, bandwidth, leaves, spines, uplink, hop):
        self.n, self.bytes, self.alpha, self.bandwidth = n, bytes_, alpha, bandwidth
        self.leaves, self.spines, self.uplink, self.hop = leaves, spines, uplink, hop
        self.late, self.slow, self.chunks, self.transfers = {}, [], n, []

    def route(self, src, dst):
        each = -(-self.n // self.leaves)
        links = [src, self.n + dst]
        if src // each != dst // each:
            spine = (src + dst) % self.spines
            base = 2 * self.n
            links[1:1] = [base + 2 * (src // each * self.spines + spine),
                          base + 2 * (dst // each * self.spines + spine) + 1]
        return links

    def graph(self):
        """The peer's input."""
        half = self.alpha / 2
        links = [(self.bandwidth, half)] * (2 * self.n)
        links += [(self.uplink, self.hop)] * (2 * self.leaves * self.spines)
        changes = []
        for rank, ratio, begin in self.slow:
            changes += [(link, begin, self.bandwidth / ratio) for link in (rank, self.n + rank)]
        timers = {rank: i for i, rank in enumerate(sorted(self.late))}
        out = ["hosts %d" % self.n, "links %d" % len(links)]
        out += ["%.17g %.17g" % link for link in links]
        out += ["changes %d" % len(changes)] + ["%d %.17g %.17g" % c for c in changes]
        out += ["timers %d" % len(timers)] + ["%.17g" % self.late[r] for r in sorted(self.late)]
        out += ["messages %d" % len(self.transfers)]
        before, writers = {}, {}
        for i, (src, dst, chunk, span, op, size) in enumerate(self.transfers):
            needs = {before.get(("tx", src)), before.get(("rx", dst))}
            needs |= {-1 - timers[r] for r in (src, dst) if r in timers}
            for c in range(chunk, chunk + span):
                needs |= set(writers.get((src, c), ()))
            needs.discard(None)
            before["tx", src] = before["rx", dst] = i
            for c in range(chunk, chunk + span):
                kept = writers.get((dst, c), []) if op == "reduce" else []
                writers[dst, c] = kept + [i]
            way = self.route(src, dst)
            out.append(" ".join(map(str, [src, dst, size, len(way), *way, len(needs),
                                          *sorted(needs)])))
        return "\n".join(out) + "\n"

    def schedule(self):
        rows = [{"round": i, "src": t[0], "dst": t[1], "chunk": t[2], "span": t[3], "op": t[4],
                 "bytes": t[5]} for i, t in enumerate(self.transfers)]
        return json.dumps({"format": "collsim-schedule", "version": 1, "collective": "allreduce",
                           "algorithm": "random", "ranks": self.n, "chunks": self.chunks,
                           "bytes": self.bytes, "transfers": rows})

    def config(self):
        return json.dumps({
            "collective": "allreduce", "bytes": self.bytes, "model": "flow", "verify": False,
            "cluster": {"ranks": self.n,
                        "nic": {"bandwidth": self.bandwidth, "alpha": self.alpha},
                        "topology": {"kind": "leaf-spine", "leaves": self.leaves,
                                     "spines": self.spines, "uplink_bandwidth": self.uplink,
                                     "hop_latency": self.hop}},
            "arrivals": {"late": [{"rank": r, "delay": t} for r, t in self.late.items()]},
            "faults": [{"rank": r, "slowdown": l, "from": a, "until": None}
                       for r, l, a in self.slow]})


def draw(rng):
    n = rng.randrange(2, 25)
    # Slow and long: SimGrid takes times within 1e-9 s for the same.
    bandwidth = rng.uniform(1e4, 1e6)
    leaves = rng.randrange(1, n + 1)
    while -(-n // leaves) * (leaves - 1) >= n:  # no leaf is empty
        leaves -= 1
    case = Case(n, rng.randrange(1 << 20, 1 << 30), rng.choice((0, rng.uniform(0, 10))),
                bandwidth, leaves, rng.randrange(1, 4), bandwidth * rng.choice((0.25, 0.5, 1, 1.5, 4)),
                rng.choice((0, rng.uniform(0, 2))))
    for _ in range(rng.randrange(1, 12 * n)):
        src, chunk = rng.randrange(n), rng.randrange(n)
        dst = (src + rng.randrange(1, n)) % n
        case.transfers.append((src, dst, chunk, 1, rng.choice(("copy", "reduce")),
                               rng.randrange(case.bytes)))
    unit = case.bytes / bandwidth + 1e-6
    first = rng.randrange(n)
    if rng.random() < 0.6:
        case.late = {r: rng.uniform(0, unit) for r in range(n) if r != first and rng.random() < 0.5}
    if rng.random() < 0.6:
        for rank in rng.sample(range(n), rng.randrange(1, n)):
            case.slow.append((rank, rng.uniform(1, 5), rng.uniform(0, 3 * unit)))
    return case


def times(binary, peer, case, folder, repeats=1):
    """(seconds on flow, on SimGrid, wall of collsim, wall of SimGrid's simulation)"""
    config, schedule = os.path.join(folder, "c.json"), os.path.join(folder, "s.json")
    with open(config, "w") as f:
        f.write(case.config())
    with open(schedule, "w") as f:
        f.write(case.schedule())
    wall = float("inf")
    for _ in range(repeats):
        begin = time.time()
        ours = subprocess.run([binary, "run", config, "--schedule", schedule, "--format", "json"],
                              capture_output=True, text=True)
        wall = min(wall, time.time() - begin)
    if ours.returncode != 0:
        sys.exit("collsim: " + ours.stderr)
    theirs = subprocess.run([peer, *CM02], input=case.graph(), capture_output=True, text=True)
    if theirs.returncode != 0:
        sys.exit("SimGrid: " + theirs.stderr)
    at, spent = map(float, theirs.stdout.split())
    # A rank that comes after everything has ended is the end of the collective with us.
    at = max([at, *case.late.values()])
    return json.loads(ours.stdout)[0]["elapsed_s"], at, wall, spent


def compare(binary, peer, n_cases, seed, folder):
    rng, worst = random.Random(seed), 0
    for i in range(n_cases):
        case = draw(rng)
        ours, theirs, _, _ = times(binary, peer, case, folder)
        error = abs(ours - theirs) / theirs
        worst = max(worst, error)
        if error > 1e-9:
            print("seed %d case %d: n %d, %d messages: flow %.15g s, SimGrid %.15g s"
                  % (seed, i, case.n, len(case.transfers), ours, theirs))
            return 1
    print("%d cases, seed %d: flow is SimGrid, largest difference %.1e" % (n_cases, seed, worst))
    return 0


def algorithm_transfers(binary, algorithm, n, size):
    """The transfers of an algorithm over n ranks, and how many chunks the buffer has."""
    run = subprocess.run([binary, "schedule", algorithm, "-n", str(n), "-s", str(size), "--format",
                          "json"], capture_output=True, text=True, check=True)
    schedule = json.loads(run.stdout)
    each = size // schedule["chunks"]
    return [(t["src"], t["dst"], t["chunk"], t.get("span", 1), t["op"], t.get("span", 1) * each)
            for t in schedule["transfers"]], schedule["chunks"]


def speed_cases(binary):
    """(name, case): what 1024 ranks send over 32 leaves and 8 spines, 4:1."""
    n = 1024
    shift = Case(n, n << 20, 3e-6, 450e9, 32, 8, 450e9, 5e-7)
    for k in range(1, 51):
        shift.transfers += [(r, (r + 37 * k) % n, r, 1, "copy", 1 << 20) for r in range(n)]
    yield "shift", shift
    for algorithm in ("rhd", "double_binary_tree"):
        case = Case(n, 1 << 30, 3e-6, 450e9, 32, 8, 450e9, 5e-7)
        case.transfers, case.chunks = algorithm_transfers(binary, algorithm, n, case.bytes)
        yield algorithm, case


def simulation_s(binary, folder):
    """Seconds of one replay of the files that times() has written, nothing else."""
    run = subprocess.run([binary, "bench", os.path.join(folder, "c.json"), "--schedule",
                          os.path.join(folder, "s.json"), "--format", "json"], capture_output=True,
                         text=True, check=True)
    row = json.loads(run.stdout)[0]
    return row["transfers"] / row["transfers_per_s"]


def speed(binary, peer, folder):
    """`shift`: in 50 rounds everybody sends 1 MiB to the rank 37, 74, .. ahead; and AllReduces of
    1 GiB. Everybody is there at once, or late by up to 1 ms. (Late ranks make the times a matter
    of rounding after some ten rounds, in either program.) Simulations alone on both sides, without
    the reading of files."""
    print("| | messages | late by up to | flow | SimGrid | ratio | time simulated |")
    print("|---|---|---|---|---|---|---|")
    for name, case in speed_cases(binary):
        for latest_s in (0, 1e-3):
            rng = random.Random(1)
            case.late = {r: rng.uniform(0, latest_s) for r in range(1, case.n) if latest_s > 0}
            runs = []
            for _ in range(5):
                ours, theirs, _, spent = times(binary, peer, case, folder)
                runs.append((simulation_s(binary, folder), spent))
            own, foreign = (sorted(run[i] for run in runs)[2] for i in (0, 1))
            print("| %s | %d | %g ms | %.4f s | %.3f s | %.1f | %.6g s, %.6g s |"
                  % (name, len(case.transfers), 1e3 * latest_s, own, foreign, foreign / own, ours,
                     theirs), flush=True)
    return 0


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--cases", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=int(os.environ.get("COLLSIM_SEED", "1")))
    arguments.add_argument("--speed", action="store_true")
    o = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peer, reason = build_peer(folder)
        if peer is None:
            print("skipped: " + reason)
            return 0
        if o.speed:
            return speed(o.binary, peer, folder)
        return compare(o.binary, peer, o.cases, o.seed, folder)


if __name__ == "__main__":
    sys.exit(main())
