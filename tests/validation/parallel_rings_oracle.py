#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parallel Rings, flat and NCCL's rings and the AllGathers inside a server against graphs of
transfers that share no code with collsim.

usage: parallel_rings_oracle.py COLLSIM_BINARY [SEED]
The graphs are looked for in ../shared/prototypes/parallel_rings beside the repository; without them
the test passes and says that it was skipped. A schedule must have exactly the transfers of its
graph, in an order in which every transfer stands behind all that it needs; the time of
Parallel Rings must be that of the fluid model on the graph.
"""
import collections
import json
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLE = os.path.join(ROOT, "..", "shared", "prototypes", "parallel_rings")
SHAPES = ((1, 4), (2, 1), (2, 2), (2, 4), (3, 4), (4, 4), (5, 3), (8, 4), (4, 8), (3, 6), (7, 5))
COLLECTIVES = ("allgather", "reducescatter", "allreduce")


def call(binary, *words):
    ran = subprocess.run([binary] + [str(w) for w in words], capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError("collsim %s: %s" % (" ".join(map(str, words)), ran.stderr.strip()))
    return json.loads(ran.stdout)


def schedule(binary, algorithm, collective, servers, locals_, *options):
    """[(src, dst, chunk)] in the order of the stream, a message of several chunks taken apart"""
    ranks = servers * locals_
    out = call(binary, "schedule", algorithm, "-c", collective, "-n", ranks, "-g", locals_,
               "-s", ranks * 840, "--format", "json", *options)
    return [(t["src"], t["dst"], t["chunk"] + i)
            for t in out["transfers"] for i in range(t.get("span", 1))]


def same(got, graph, key):
    """'' if `got` has the graph's transfers behind what they need, else what is wrong"""
    place, used = collections.defaultdict(list), collections.Counter()
    for at, transfer in enumerate(got):
        place[transfer].append(at)
    wanted = collections.Counter(k for task in graph for k in key(task))
    if wanted != collections.Counter(got):
        return "transfers differ: %s" % list((wanted - collections.Counter(got)).items())[:3]
    ends = []
    for task in graph:
        at = []
        for k in key(task):
            at.append(place[k][used[k]])
            used[k] += 1
        ends.append(at)
    for number, task in enumerate(graph):
        for needed in task["deps"]:
            if max(ends[needed]) >= min(ends[number]):
                return "%s stands before %s" % (task, graph[needed])
    return ""


def blocks(task):
    return [(task["src"], task["dst"], block) for block in task["blks"]]


def mirrored(graph, servers, locals_):
    """the graph's tasks with the servers numbered the other way round, so that its rings turn as
    collsim's do"""
    def turn(rank):
        return (servers - rank // locals_) % servers * locals_ + rank % locals_
    return [dict(t, src=turn(t["src"]), dst=turn(t["dst"]), blks=[turn(b) for b in t["blks"]])
            for t in graph.t]


def one_after_the_other(scatters, gathers):
    """AllReduce: a rank's own block is handed on when all of it has arrived"""
    into = collections.defaultdict(list)
    for number, task in enumerate(scatters):
        for block in task["blks"]:
            if task["dst"] == block:
                into[block].append(number)
    both = list(scatters)
    for task in gathers:
        deps = [d + len(scatters) for d in task["deps"]]
        for block in task["blks"]:
            deps += into[block] if task["src"] == block else []
        both.append(dict(task, deps=deps))
    return both


def rails(binary, pr):
    """Parallel Rings, the three collectives, both exchanges"""
    for servers, locals_ in SHAPES:
        for exchange, make in (("mesh", pr.ag_fullmesh), ("sockets", pr.ag_socket)):
            if exchange == "sockets" and locals_ % 2 != 0:
                continue
            gathers = make(servers, locals_).t
            scatters = mirrored(pr.reverse(make(servers, locals_)), servers, locals_)
            graphs = (gathers, scatters, one_after_the_other(scatters, gathers))
            for collective, graph in zip(COLLECTIVES, graphs):
                got = schedule(binary, "parallel_rings", collective, servers, locals_,
                               "--opt", "exchange=" + exchange)
                yield ("parallel_rings %s %s %dx%d" % (collective, exchange, servers, locals_),
                       same(got, graph, blocks))


def channels(binary, pr):
    """the flat ring and the four rings of servers with four GPUs"""
    for servers in (2, 3, 5):
        got = schedule(binary, "flat_ring", "allgather", servers, 4)
        graph = pr.flat_ring(servers, 4)
        yield "flat_ring %dx4" % servers, same(
            got, graph.t, lambda t: [(t["src"], t["dst"], b) for b, _ in t["blks"]])
        for order in ("rotated", "sockets"):
            got = schedule(binary, "nccl_rings", "allgather", servers, 4, "--opt", "order=" + order)
            graph = pr.flat_ring(servers, 4, 4, order == "sockets")
            yield "nccl_rings %s %dx4" % (order, servers), same(
                got, graph.t, lambda t: [(t["src"], t["dst"], 4 * b + c) for b, c in t["blks"]])


def intra(binary, pr):
    """the algorithms of the paper's table, four ranks; ReduceScatter in its forward formulation"""
    for name, graph in (("ibcast_linear", "ib_linear"), ("ibcast_knomial", "ib_knomial"),
                        ("ibcast_btdd", "ib_btdd"), ("ibcast_btdh", "ib_btdh"),
                        ("iallgather_rd", "iag_rd")):
        got = schedule(binary, name, "allgather", 1, 4)
        yield name, same(got, pr.intra(graph).t, blocks)
    for servers, locals_ in SHAPES:
        got = schedule(binary, "parallel_rings", "reducescatter", servers, locals_)
        yield ("parallel_rings reducescatter as written forward %dx%d" % (servers, locals_),
               same(got, pr.rs_forward(servers, locals_).t, blocks))


def times(binary, pr, rng):
    """replayed and fluid, servers with a link for every pair"""
    for _ in range(12):
        servers, locals_ = rng.randrange(1, 6), rng.randrange(2, 5)
        cluster = pr.Cl(rng.uniform(8e9, 150e9), rng.uniform(8e9, 50e9),
                        a_nv=rng.uniform(1e-6, 9e-6), a_net=rng.uniform(1e-6, 2e-5))
        size, ranks = 4096 * rng.randrange(16, 4096), servers * locals_
        graphs = (pr.ag_fullmesh(servers, locals_), pr.rs_forward(servers, locals_))
        for collective, graph in zip(COLLECTIVES, graphs):
            want = pr.timed(graph, cluster, size, "mesh")
            got = call(binary, "run", "-a", "parallel_rings", "-c", collective, "-n", ranks,
                       "-g", locals_, "-s", size * ranks, "--alpha", "%.17gs" % cluster.a_net,
                       "--bandwidth", "%.17g" % cluster.net, "--nvlink-alpha",
                       "%.17gs" % cluster.a_nv, "--nvlink-bandwidth", "%.17g" % cluster.nv,
                       "--nvlink-kind", "direct", "--format", "json")[0]
            near = got["verified"] and abs(got["elapsed_s"] - want) <= 1e-6 * want
            yield ("time of %s %dx%d" % (collective, servers, locals_),
                   "" if near else "got %.9g s, want %.9g s" % (got["elapsed_s"], want))


def main():
    if not os.path.isfile(os.path.join(ORACLE, "parallel_rings.py")):
        print("parallel_rings_oracle: skipped, the graphs are not here")
        return 0
    sys.dont_write_bytecode = True
    sys.path.insert(0, ORACLE)
    import parallel_rings as pr
    binary = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    rng, count, failed = random.Random(seed), 0, 0
    for part in (rails(binary, pr), channels(binary, pr), intra(binary, pr), times(binary, pr, rng)):
        for name, wrong in part:
            count += 1
            if wrong:
                failed += 1
                print("%s: %s" % (name, wrong))
    print("parallel_rings_oracle: seed %d, %d cases, %d differ" % (seed, count, failed))
    return 1 if failed else 0


sys.exit(main())
