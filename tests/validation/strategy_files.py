#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""AdapCC's trees in files: replayed by `run --opt strategy=FILE` on every model, checked, as fast as
`synthesize --strategy` says, and refused where they do not fit; the same named by configuration files,
of one scenario, a sweep, and a campaign, which look for them beside themselves, and under relay control.

usage: strategy_files.py COLLSIM_BINARY [SEED]
Draws trees, sizes, chunks and ranks that forward.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
MODELS = ("alpha-beta", "loggp", "flow", "packet")
CASES = 6


def run(binary, *args):
    return subprocess.run([binary, *map(str, args)], capture_output=True, text=True, timeout=300)


def draw_tree(rng, n, g, root):
    """A tree over n ranks in servers of g, as XML, and whether some rank forwards."""
    order = [r for r in range(n) if r != root]
    rng.shuffle(order)
    children = {r: [] for r in range(n)}
    placed = [root]
    for rank in order:
        children[rng.choice(placed)].append(rank)
        placed.append(rank)

    def tag(rank, name):
        agg = ' agg="0"' if rng.random() < .2 else ""
        return '<%s id="%d" ip="s%d"%s>%s</%s>' % (
            name, rank, rank // g, agg, "".join(tag(c, "gpu") for c in children[rank]), name)
    return tag(root, "root")


def check(binary, path, args, model, collective):
    """What is wrong, or None."""
    ran = run(binary, "run", *args, "-m", model, "-c", collective, "--opt", "strategy=" + path,
              "--format", "json")
    if ran.returncode != 0:
        return "run: " + ran.stderr.strip()
    row = json.loads(ran.stdout)
    row = row[0] if isinstance(row, list) else row.get("results", [row])[0]
    if not row["verified"] or row["algorithm"] != "adapcc":
        return "run: not verified"
    if row["elapsed_s"] < row["bound_s"] * (1 - 1e-9):
        return "run: %g s, but the bound is %g s" % (row["elapsed_s"], row["bound_s"])
    if collective == "allgather":
        return None
    made = run(binary, "synthesize", *args, "-m", model, "-c", collective, "--strategy", path,
               "--format", "json")
    if made.returncode != 0:
        return "synthesize: " + made.stderr.strip()
    replay_s = json.loads(made.stdout)["replay_s"]
    if abs(replay_s - row["elapsed_s"]) > 1e-9 * replay_s:
        return "run takes %.12g s, synthesize says %.12g s" % (row["elapsed_s"], replay_s)
    return None


def check_configuration(binary, folder, path, args, rng):
    """What is wrong with the same trees in a configuration file beside them, or None."""
    n, g = args[1], args[3]
    size = rng.randrange(1 << 20, 1 << 23)
    scenario = {"cluster": {"ranks": n, "gpus_per_server": g}, "root": args[7],
                "algorithm": {"name": "adapcc", "options": {"strategy": os.path.basename(path), "chunk": 1 << 18}},
                "sweep": {"bytes": [size, 2 * size], "algorithm.options.relay": ["off", "premium"]},
                "arrivals": {"late": [{"rank": n - 1, "delay": "9ms"}]}}
    file = os.path.join(folder, "c.json")
    with open(file, "w") as f:
        json.dump(scenario, f)
    ran = run(binary, "run", file, "--format", "json")
    if ran.returncode != 0:
        return "run: " + ran.stderr.strip()
    rows = json.loads(ran.stdout)
    if len(rows) != 4 or not all(r["verified"] and r["options"]["strategy"] == "trees.xml" for r in rows):
        return "run: %d rows, or not verified" % len(rows)
    if [("decisions" in r) for r in rows] != [False, True, False, True]:
        return "run: decisions with a coordinator alone"
    named = run(binary, "run", "-n", n, "-g", g, "-s", size, "--root", args[7], "--late", "%d=9ms" % (n - 1),
                "--opt", "strategy=" + path, "--opt", "chunk=%d" % (1 << 18), "--format", "json")
    if json.loads(named.stdout)[0]["elapsed_s"] != rows[0]["elapsed_s"]:
        return "run: another time than by the command line"
    again = os.path.join(folder, "again.json")
    with open(again, "w") as f:
        json.dump(rows[0]["scenario"], f)
    if run(binary, "run", again).returncode != 0:
        return "the scenario of a result is none: " + run(binary, "run", again).stderr.strip()
    with open(path, "a") as f:
        f.write("\n")
    if "other trees" not in run(binary, "run", again).stderr:
        return "a file that has changed is not noticed"
    ran = run(binary, "sweep", file, "-o", os.path.join(folder, "rows.db"))
    if ran.returncode != 0:
        return "sweep: " + ran.stderr.strip()
    ran = run(binary, "montecarlo", file, "--iterations", 3, "--format", "json")
    return None if ran.returncode == 0 else "montecarlo: " + ran.stderr.strip()


def main():
    binary, rng, wrong = sys.argv[1], random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1), 0
    configurations = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trees.xml")
        for case in range(CASES):
            g = rng.randrange(1, 5)
            n = g * rng.randrange(2, 4)
            root = rng.randrange(n)
            args = ["-n", n, "-g", g, "-s", rng.randrange(1, 1 << 23), "--root", root,
                    "--opt", "chunk=%d" % rng.randrange(1 << 16, 1 << 20)]
            with open(path, "w") as f:
                f.write("<trees>%s</trees>" % "".join(
                    draw_tree(rng, n, g, root) for _ in range(rng.randrange(1, 4))))
            if "agg" not in open(path).read():
                text = check_configuration(binary, folder, path, args, rng)
                configurations += 1
                if text is not None:
                    print("case %d, configuration: %s" % (case, text))
                    wrong += 1
            for model in MODELS:
                for collective in ("allreduce", "reduce", "broadcast", "allgather"):
                    text = check(binary, path, args, model, collective)
                    if text is not None:
                        print("case %d, %s, %s: %s" % (case, model, collective, text))
                        wrong += 1
        for args, why in ((("-n", n + g, "-g", g), "ranks"), (("-n", n, "-g", g, "-a", "ring"), "strategy"),
                          (("-n", n, "-g", g, "--opt", "moves=3"), "moves"),
                          (("-n", n, "-g", g, "-c", "alltoall"), "alltoall")):
            ran = run(binary, "run", *args, "--opt", "strategy=" + path)
            if ran.returncode != 2 or why not in ran.stderr:
                print("%s: exit %d, %s" % (args, ran.returncode, ran.stderr.strip()))
                wrong += 1
    print("%d files, %d of them also by configurations, %d wrong" % (CASES, configurations, wrong))
    return 1 if wrong or not configurations else 0


if __name__ == "__main__":
    sys.exit(main())
