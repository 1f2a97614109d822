#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random strategies on servers that differ, by AdapCC's cost models, against an evaluator that shares
no code with collsim.

usage: adapcc_oracle.py COLLSIM_BINARY [SEED]
The evaluator is looked for in ../shared/prototypes/adapcc beside the repository; without it the test
passes and says that it was skipped. Draws servers, trees, sizes, chunks and flags; trees and
topology go through files.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLE = os.path.join(ROOT, "..", "shared", "prototypes", "adapcc")
N_CASES = 60
MODELS = (("literal", dict(share="edge", bottle="literal", tail="K")),
          ("literal_k1", dict(share="edge", bottle="literal", tail="K-1")),
          ("port_service", dict(share="port", bottle="service", tail="K-1")),
          ("volume", dict(share="volume")))


def graph_xml(servers):
    lines, rank = ['<graph alpha_us="20">'], 0
    for number, (gpus, nic, nvlink) in enumerate(servers):
        inside = "".join('<gpu id="%d"/>' % (rank + i) for i in range(gpus))
        lines.append('<server id="%d" ip="s%d" nvlink="direct" nvlink_GBps="%g" nvlink_alpha_us="5">'
                     '<nic id="%d" gbps="%g">%s</nic></server>' % (number, number, nvlink, number, 8 * nic, inside))
        rank += gpus
    return "\n".join(lines + ["</graph>"])


def tree_xml(topology, tree, rank):
    name = "root" if tree.p[rank] == -1 else "gpu"
    sizes = 'size="%d" chunk="%d"' % (tree.S, tree.C) if name == "root" else ""
    children = "".join(tree_xml(topology, tree, c) for c in tree.ch[rank])
    return '<%s id="%d"ip="s%d"%s agg="%d">%s</%s>' % (
        name, rank, topology.of[rank], sizes, tree.agg[rank], children, name)


def draw_tree(rng, model, topology):
    order = list(range(topology.n))
    rng.shuffle(order)
    parent = {order[0]: -1}
    for i in range(1, topology.n):
        parent[order[i]] = order[rng.randrange(i)]
    size = rng.randrange(1, 64 << 20)
    return model.Tree(parent, size, rng.randrange(max(1, size // 200), size + 1),
                      {g: rng.random() < .8 for g in parent})


def evaluated(binary, folder, topology, trees, collective):
    paths = [os.path.join(folder, name) for name in ("graph.xml", "trees.xml")]
    texts = [graph_xml(topology.srv), "<trees>%s</trees>" % "".join(tree_xml(topology, t, t.root) for t in trees)]
    for path, text in zip(paths, texts):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    args = [binary, "synthesize", "--graph", paths[0], "--strategy", paths[1], "-c", collective,
            "-s", str(sum(int(t.S) for t in trees)), "--format", "json"]
    ran = subprocess.run(args, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit("adapcc_oracle: " + ran.stderr.strip())
    return json.loads(ran.stdout)


def main():
    if not os.path.isdir(ORACLE):
        print("skipped: no evaluator in " + os.path.normpath(ORACLE))
        return 0
    sys.path.insert(0, ORACLE)
    import adapcc_model as model
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng, wrong = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for case in range(N_CASES):
            servers = [(rng.randrange(1, 6), rng.choice((12.5, 6.25, 25.0)), rng.choice((50.0, 100.0)))
                       for _ in range(rng.randrange(1, 6))]
            if sum(s[0] for s in servers) < 2:
                servers.append((2, 12.5, 100.0))
            topology = model.Topo(servers)
            trees = [draw_tree(rng, model, topology) for _ in range(rng.randrange(1, 5))]
            collective = rng.choice(("allreduce", "reduce", "broadcast"))
            got = evaluated(sys.argv[1], folder, topology, trees, collective)
            for name, how in MODELS:
                want = model.evaluate(topology, trees, collective, **how)
                if abs(got["cost_s"][name] - want) > 1e-9 * want:
                    print("case %d of seed %d, %s, %s: %.12g, not %.12g" %
                          (case, seed, collective, name, got["cost_s"][name], want))
                    wrong += 1
            if got["cost_s"]["volume"] < got["bound_s"] * (1 - 1e-12) or got["replay_s"] is not None:
                print("case %d of seed %d: bound %g, replay %s" % (case, seed, got["bound_s"], got["replay_s"]))
                wrong += 1
    print("%d strategies by %d models, %d differ" % (N_CASES, len(MODELS), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
