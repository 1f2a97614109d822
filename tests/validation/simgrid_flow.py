#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flow model against SimGrid's (CM02): random schedules, leaf-spine networks, late ranks and
NICs that change must take the same time to 1e-9. So must the schedules of algorithms with fewer
bytes than ranks, where most messages have no bytes, without latency, behind ranks that are late by
whole seconds, over crossbars, leaves and spines, fat trees and rails.

usage: simgrid_flow.py COLLSIM_BINARY [--cases N] [--few-bytes N] [--models N] [--seed N]
       simgrid_flow.py COLLSIM_BINARY --speed      how fast either is on a contended network

What a message waits for (its ports in schedule order, the writers of what it reads, arrivals) and
the links on its way are worked out here, apart from collsim; simgrid_peer.cpp, built on the spot,
plays the graph. Without SimGrid or a C++ compiler the test passes and says that it was skipped.
NICs do not recover here: SimGrid 3.32 keeps a flow below the bandwidth that its links had when it
started. Last, `--models` cases with exchanges, groups, barriers, several GPUs a server and NICs that
recover are compared with collsim's own model simgrid.
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

sys.dont_write_bytecode = True
from simulators import percentile  # noqa: E402

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


class Tree:
    """Switches with full-duplex uplinks to those above: links of one direction by name, each with
    its bandwidth, and the names on the way between two ranks."""

    def __init__(self, config, hop):
        self.config, self.hop, self.links = dict(config, hop_latency=hop), hop, {}

    def add(self, low, high, bandwidth):
        self.links[low, high] = self.links[high, low] = bandwidth

    def route(self, src, dst):
        return []


class LeafSpine(Tree):
    def __init__(self, n, leaves, spines, uplink, hop):
        super().__init__({"kind": "leaf-spine", "leaves": leaves, "spines": spines,
                          "uplink_bandwidth": uplink}, hop)
        self.each, self.spines = -(-n // leaves), spines
        for leaf in range(leaves):
            for spine in range(spines):
                self.add(("leaf", leaf), ("spine", spine), uplink)

    def route(self, src, dst):
        a, b = src // self.each, dst // self.each
        spine = "spine", (src + dst) % self.spines
        return [] if a == b else [(("leaf", a), spine), (spine, ("leaf", b))]


class FatTree(Tree):
    """Leaf l of pod p leads to the spines (p, 0 .. uplinks), spine (p, s) to the cores (s, 0 ..)."""

    def __init__(self, n, bandwidth, below, uplinks, over, pod_leaves, cores, core_over, hop):
        config = {"kind": "fat-tree", "leaf_servers": below, "uplinks": uplinks,
                  "oversubscription": over}
        leaves = -(-n // below)
        if pod_leaves < leaves:
            config.update(pod_leaves=pod_leaves, core_uplinks=cores, core_oversubscription=core_over)
        super().__init__(config, hop)
        self.below, self.uplinks = below, uplinks
        self.pod_leaves, self.cores = min(pod_leaves, leaves), cores
        up = below * bandwidth / over / uplinks
        core = up * self.pod_leaves / core_over / cores
        for leaf in range(leaves):
            for s in range(uplinks):
                spine = "spine", leaf // self.pod_leaves, s
                self.add(("leaf", leaf), spine, up)
                for c in range(cores if pod_leaves < leaves else 0):
                    self.add(spine, ("core", s, c), core)

    def route(self, src, dst):
        a, b = src // self.below, dst // self.below
        s, turn = (src + dst) % self.uplinks, (src + dst) // self.uplinks
        way = [("leaf", a), ("spine", a // self.pod_leaves, s)]
        if a // self.pod_leaves != b // self.pod_leaves:
            way += [("core", s, turn % self.cores), ("spine", b // self.pod_leaves, s)]
        way += [("leaf", b)]
        return [] if a == b else list(zip(way, way[1:]))


class Rails(Tree):
    """One GPU a server: a rail switch for every group of servers."""

    def __init__(self, n, bandwidth, group, spines, over, hop):
        super().__init__({"kind": "rails", "spines": spines, "oversubscription": over,
                          "group_servers": group}, hop)
        self.each, self.spines = min(group, n), spines
        for rail in range(-(-n // self.each)):
            for s in range(spines):
                self.add(("rail", rail), ("spine", s), self.each * bandwidth / over / spines)

    def route(self, src, dst):
        a, b = src // self.each, dst // self.each
        spine = "spine", (src + dst) % self.spines
        return [] if a == b else [(("rail", a), spine), (spine, ("rail", b))]


class Case:
    """A scenario and a schedule: (src, dst, chunk, span, op, bytes)."""

    def __init__(self, n, bytes_, alpha, bandwidth, tree):
        self.n, self.bytes, self.alpha, self.bandwidth = n, bytes_, alpha, bandwidth
        self.tree = tree  # None: a crossbar
        self.late, self.slow, self.chunks, self.transfers = {}, [], n, []
        self.numbers = {}
        for name in tree.links if tree is not None else ():
            self.numbers[name] = 2 * n + len(self.numbers)

    def route(self, src, dst):
        inner = self.tree.route(src, dst) if self.tree is not None else []
        return [src, *(self.numbers[link] for link in inner), self.n + dst]

    def graph(self):
        """The peer's input."""
        links = [self.bandwidth] * (2 * self.n) + [self.tree.links[name] for name in self.numbers]
        changes = []
        for rank, ratio, begin in self.slow:
            changes += [(link, begin, self.bandwidth / ratio) for link in (rank, self.n + rank)]
        timers = {rank: i for i, rank in enumerate(sorted(self.late))}
        out = ["hosts %d" % self.n, "links %d" % len(links)]
        out += ["%.17g" % link for link in links]
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
            latency = self.alpha + (len(way) - 2) * self.tree.hop if self.tree else self.alpha
            out.append(" ".join(map(str, [src, dst, size, latency, len(way), *way, len(needs),
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
                        "topology": self.tree.config if self.tree is not None
                        else {"kind": "crossbar"}},
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
    size, alpha = rng.randrange(1 << 20, 1 << 30), rng.choice((0, rng.uniform(0, 10)))
    spines, uplink = rng.randrange(1, 4), bandwidth * rng.choice((0.25, 0.5, 1, 1.5, 4))
    case = Case(n, size, alpha, bandwidth,
                LeafSpine(n, leaves, spines, uplink, rng.choice((0, rng.uniform(0, 2)))))
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


def draw_tree(rng, n, bandwidth):
    """Any topology for n servers of a GPU each; hops without latency in three cases of four."""
    hop, kind = rng.choice((0, 0, 0, rng.uniform(0, 1e-3))), rng.randrange(4)
    if kind == 0:
        return None
    if kind == 1:
        leaves = rng.randrange(1, n + 1)
        while -(-n // leaves) * (leaves - 1) >= n:  # no leaf is empty
            leaves -= 1
        uplink = bandwidth * rng.choice((0.25, 0.5, 1, 4))
        return LeafSpine(n, leaves, rng.randrange(1, 4), uplink, hop)
    if kind == 2:
        return FatTree(n, bandwidth, rng.randrange(1, 5), rng.randrange(1, 4), rng.choice((1, 2, 3)),
                       rng.randrange(1, 4), rng.randrange(1, 4), rng.choice((1, 2)), hop)
    return Rails(n, bandwidth, rng.randrange(1, 6), rng.randrange(1, 4), rng.choice((1, 2)), hop)


def draw_few_bytes(rng, schedules):
    """An algorithm that has fewer bytes than ranks (most times) and late ranks to wait for. Times
    that meet, zeros and whole seconds are wanted."""
    n = rng.randrange(2, 25)
    size = rng.randrange(1, n + 1) if rng.random() < 0.9 else rng.randrange(1, 100 * n)
    bandwidth = rng.choice((1e4, 2.0 ** 14, 1e6, rng.uniform(1e4, 1e6)))
    alpha = rng.choice((0, 0, 0, rng.uniform(0, 1e-3)))
    case = Case(n, size, alpha, bandwidth, draw_tree(rng, n, bandwidth))
    case.transfers, case.chunks = schedules.draw(rng, n, size)
    delays = [0.5, 1, 2, 3, size / bandwidth, rng.uniform(0, 4 * size / bandwidth)]
    for rank in rng.sample(range(n), rng.choice((0, 1, 1, 2, n - 1))):
        case.late[rank] = rng.choice(delays)
    if len(case.late) == n:
        case.late.popitem()
    if rng.random() < 0.3:
        for rank in rng.sample(range(n), rng.randrange(1, n)):
            case.slow.append((rank, rng.uniform(1, 5), rng.choice((0, 1, rng.uniform(0, 2)))))
    return case


def compare(binary, peer, cases, name, folder):
    errors = []
    for case in cases:
        ours, theirs, _, _ = times(binary, peer, case, folder)
        error = abs(ours - theirs) / theirs if theirs > 0 else abs(ours)
        errors.append(error)
        if error > 1e-9:
            print("%s, case %d: n %d, %d messages: flow %.15g s, SimGrid %.15g s"
                  % (name, len(errors), case.n, len(case.transfers), ours, theirs))
            return 1
    if errors:
        print("%d cases, %s: flow is SimGrid, differences: median %.1e, 90 %% %.1e, largest %.1e"
              % (len(errors), name, *(percentile(sorted(errors), p) for p in (0.5, 0.9, 1))))
    return 0


class Schedules:
    """The transfers of algorithms, each made once."""

    PLAIN = {"round", "src", "dst", "chunk", "span", "op"}  # what the graph of messages can say

    def __init__(self, binary):
        self.binary, self.made = binary, {}

    def make(self, algorithm, n, size):
        """(transfers, chunks), or None where n ranks are refused or the graph cannot say it."""
        run = subprocess.run([self.binary, "schedule", algorithm, "-n", str(n), "-s", str(size),
                              "--format", "json"], capture_output=True, text=True)
        if run.returncode != 0:
            return None
        schedule = json.loads(run.stdout)
        chunks, rows = schedule["chunks"], schedule["transfers"]
        if any(set(t) - self.PLAIN or t["op"] == "exchange" for t in rows):
            return None
        first = [c * (size // chunks) + min(c, size % chunks) for c in range(chunks + 1)]
        return [(t["src"], t["dst"], t["chunk"], t.get("span", 1), t["op"],
                 first[t["chunk"] + t.get("span", 1)] - first[t["chunk"]]) for t in rows], chunks

    def draw(self, rng, n, size):
        while True:
            name = rng.choice(("ring", "rhd", "double_binary_tree", "latency_optimal", "merged_rhd"))
            key = name, n, size
            if key not in self.made:
                self.made[key] = self.make(*key)
            if self.made[key] is not None:
                return self.made[key]


def draw_for_models(rng):
    """Options of `collsim run` for anything that an algorithm does, with few bytes."""
    g = rng.choice((1, 1, 2, 4))
    n = g * rng.randrange(1 if g > 1 else 2, 13)
    bandwidth = rng.choice((1e4, 1e6, rng.uniform(1e4, 1e6)))
    zero = rng.random() < 0.6
    alpha = [0 if zero else rng.choice((0, rng.uniform(0, 1e-3))) for _ in range(3)]
    late = {r: rng.choice((0.5, 1, 2, rng.uniform(0, 1))) for r in range(1, n) if rng.random() < 0.3}
    servers = n // g
    tree = rng.choice((
        None, {"kind": "leaf-spine", "leaves": servers, "spines": rng.randrange(1, 3),
               "uplink_bandwidth": bandwidth * rng.choice((0.5, 1)), "hop_latency": alpha[2]},
        {"kind": "fat-tree", "leaf_servers": rng.randrange(1, 3), "uplinks": rng.randrange(1, 3),
         "oversubscription": rng.choice((1, 2)), "hop_latency": alpha[2]},
        {"kind": "rails", "spines": 1, "group_servers": rng.randrange(1, 3), "oversubscription": 2,
         "hop_latency": alpha[2]}))
    faults = []
    for server in range(servers if rng.random() < 0.4 else 0):
        begin = rng.choice((0, 0.5, 1))
        until = rng.choice((None, begin + 1, begin + rng.uniform(0.1, 2)))
        if rng.random() < 0.5:
            faults.append({"rank": server * g, "slowdown": rng.uniform(1, 4), "from": begin,
                           "until": until})
    cluster = {"ranks": n, "gpus_per_server": g, "nic": {"bandwidth": bandwidth, "alpha": alpha[0]},
               "nvlink": {"bandwidth": bandwidth * rng.choice((1, 4)), "alpha": alpha[1],
                          "kind": rng.choice(("direct", "switched"))}}
    if cluster["nvlink"]["kind"] == "direct":
        cluster["nvlink"]["concurrent"] = rng.choice((None, 1, 2))
    if tree is not None and servers > 1:
        cluster["topology"] = tree
    return {"collective": "allreduce", "cluster": cluster, "faults": faults,
            "bytes": rng.randrange(1, n + 1),
            "arrivals": {"late": [{"rank": r, "delay": t} for r, t in late.items()]},
            "algorithm": rng.choice(("ring", "rhd", "allpairs", "stragglar", "broadcast", "circulant",
                                     "hierarchical", "nccl_rings", "parallel_rings", "merged_rhd",
                                     "double_binary_tree", "latency_optimal"))}


def compare_models(binary, n_cases, rng, folder):
    """The models flow and simgrid behind the same dispatcher; scenarios that an algorithm refuses
    do not count."""
    path, n, worst = os.path.join(folder, "m.json"), 0, 0
    while n < n_cases:
        config, seconds = draw_for_models(rng), []
        for model in ("flow", "simgrid"):
            with open(path, "w") as f:
                json.dump(dict(config, model=model), f)
            run = subprocess.run([binary, "run", path, "--format", "json"], capture_output=True,
                                 text=True)
            if run.returncode == 0:
                seconds.append(json.loads(run.stdout)[0]["elapsed_s"])
            elif run.returncode != 2:
                print("case %d, %s: %s%s" % (n, model, run.stderr, json.dumps(config)))
                return 1
        if len(seconds) == 1:
            print("case %d: one model refuses it: %s%s" % (n, run.stderr, json.dumps(config)))
            return 1
        if seconds:
            error = abs(seconds[0] - seconds[1]) / max(*seconds, 1e-300)
            worst, n = max(worst, error), n + 1
            if error > 1e-9:
                print("case %d: flow %.15g s, simgrid %.15g s: %s" % (n, *seconds, json.dumps(config)))
                return 1
    print("%d cases: flow is simgrid, largest difference %.1e" % (n, worst))
    return 0


def speed_cases(binary):
    """(name, case): what 1024 ranks send over 32 leaves and 8 spines, 4:1."""
    n = 1024
    leaves = LeafSpine(n, 32, 8, 450e9, 5e-7)
    shift = Case(n, n << 20, 3e-6, 450e9, leaves)
    for k in range(1, 51):
        shift.transfers += [(r, (r + 37 * k) % n, r, 1, "copy", 1 << 20) for r in range(n)]
    yield "shift", shift
    for algorithm in ("rhd", "double_binary_tree"):
        case = Case(n, 1 << 30, 3e-6, 450e9, leaves)
        case.transfers, case.chunks = Schedules(binary).make(algorithm, n, case.bytes)
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
    arguments.add_argument("--few-bytes", type=int, default=300)
    arguments.add_argument("--models", type=int, default=100)
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
        rng, few, both = (random.Random(o.seed + salt) for salt in (0, 1000003, 2000003))
        schedules, seed = Schedules(o.binary), "seed %d" % o.seed
        return (compare(o.binary, peer, (draw(rng) for _ in range(o.cases)), seed, folder)
                or compare(o.binary, peer, (draw_few_bytes(few, schedules)
                                            for _ in range(o.few_bytes)),
                           seed + ", few bytes", folder)
                or compare_models(o.binary, o.models, both, folder))


if __name__ == "__main__":
    sys.exit(main())
