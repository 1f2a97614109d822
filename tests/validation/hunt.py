#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim hunt from the first command line to the answer: the scripts that it prints run under sh with a launcher and
an all_reduce_perf of this file, on clusters with nodes, NICs and rails that are slow; what is slow is found. Then what
goes wrong: logs that are missing, cut off, of another hunt or of other hosts, runs that fail, state files that were
changed.

usage: hunt.py COLLSIM                     (the test)
       hunt.py --perf CLUSTER HOSTS ..     (all_reduce_perf over these hosts)
"""
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

problems = []
HEALTHY = 360e9


def say(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


# ---- what stands for a launcher, nccl-tests and a cluster ----

def perf(cluster, hosts, rail, words):
    """A table as nccl-tests prints it. `cluster` has what is slow, by name, and the noise of a row."""
    with open(cluster, encoding="utf-8") as f:
        is_so = json.load(f)
    option = dict(zip(words[::2], words[1::2]))
    first, last, step = (int(option[x]) for x in ("-b", "-e", "-i"))
    gpus = is_so["gpus"]
    if any(h in is_so.get("dead", ()) for h in hosts):
        print(f"mpirun: {hosts[0]}: could not start")
        return 1
    lost = max([is_so["slow"].get(key, 0) for h in hosts for key in (h, f"{h}.{rail}", f".{rail}")] + [0])
    noise = random.Random(" ".join([str(is_so["seed"]), rail, *hosts]))
    n = len(hosts) * gpus
    print(f"# nThread 1 nGpus 1 minBytes {first} maxBytes {last} step: {step}(bytes) warmup iters: 5 iters: 20 "
          "agg iters: 1 validation: 1 graph: 0\n#\n# Using devices")
    for i in range(n):
        print("#  Rank %2d Group  0 Pid %6d on %10s device %2d [0x%02x] NVIDIA H100 80GB HBM3" %
              (i, 1000 + i, hosts[i // gpus], i % gpus, 16 + i % gpus))
    print("#\n#       size         count      type   redop    root  TIME   algbw   busbw #wrong  TIME   algbw   busbw #wrong\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
          .replace("TIME", "cputime" if is_so["cputime"] else "   time"))
    ratio = (n - 1) / n * (1 if is_so["scatters"] else 2)
    for size in range(first, last + 1, step):
        line = "%12d %13d %9s %7s %7d" % (size, size // 4, "float", "sum", -1)
        for _ in range(2):
            busbw = is_so["healthy"] * (1 - lost) * math.exp(noise.gauss(0, is_so["noise"]))
            us = float("%.2f" % (size * ratio / busbw * 1e6))
            line += " %8.2f %7.2f %7.2f %6d" % (noise.uniform(10, 20) if is_so["cputime"] else us, size / us / 1e3,
                                                size / us / 1e3 * ratio, 0)
        print(line)
    print("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100\n#")
    return 0


LAUNCHER = """#!/bin/sh
# mpirun -np N --host a:8,b:8 [-x NCCL_IB_HCA==NIC] all_reduce_perf ..
hosts=; rail=all
while [ "$1" != all_reduce_perf ]; do
    case $1 in
    --host) hosts=$(echo "$2" | sed 's/:[0-9]*//g'); shift ;;
    -x) rail=${2#NCCL_IB_HCA==}; shift ;;
    esac
    shift
done
shift
exec PYTHON SELF --perf CLUSTER "$hosts" "$rail" "$@"
"""


class Cluster:
    def __init__(self, program, folder, **is_so):
        self.program, self.folder = program, folder
        os.makedirs(os.path.join(folder, "bin"))
        self.set(**{"gpus": 2, "noise": 0.01, "seed": 1, "slow": {}, "healthy": HEALTHY, "cputime": False,
                    "scatters": False, **is_so})
        launcher = os.path.join(folder, "bin", "mpirun")
        with open(launcher, "w", encoding="utf-8") as f:
            f.write(LAUNCHER.replace("PYTHON", sys.executable).replace("SELF", os.path.abspath(__file__))
                    .replace("CLUSTER", os.path.join(folder, "cluster.json")))
        os.chmod(launcher, 0o755)

    def set(self, **is_so):
        with open(os.path.join(self.folder, "cluster.json"), "w", encoding="utf-8") as f:
            json.dump(is_so, f)

    def collsim(self, *words):
        done = subprocess.run([self.program, "hunt", *map(str, words)], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, check=False)
        return done.returncode, done.stdout, done.stderr

    def sh(self, script):
        environment = dict(os.environ, PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"])
        subprocess.run(["sh"], input=script, text=True, cwd=self.folder, env=environment, timeout=300, check=True)

    def answer(self, *words):
        code, text, errors = self.collsim("--state", "hunt.json", "--format", "json", *words)
        say(code == 0, f"{words}: exit {code}: {errors}")
        return json.loads(text) if code == 0 else None

    def hunt(self, *words):
        """Until it is sure; the answer as JSON."""
        code, script, errors = self.collsim("--state", "hunt.json", "-g", "2", *words)
        say(code == 0, f"{words}: exit {code}: {errors}")
        for _ in range(8):
            self.sh(script)
            code, script, errors = self.collsim("--state", "hunt.json", ".")
            say(code == 0 and errors == "", f"{words}: exit {code}: {errors}")
            if "# found: " in script:
                break
        return self.answer()


def named(answer):
    return sorted((s["kind"], s["host"], s["rail"]) for s in answer["bad"])


def check_found(program):
    """What is slow, how it is asked for, what must be found, and in how many rounds at most."""
    cases = {
        "one node of 16": ({"n11": .3}, ["--hosts", "n[01-16]"], [("node", "n11", None)], 3),
        "three nodes of 40": ({"n03": .3, "n04": .2, "n40": .6}, ["--hosts", "n[01-40]", "--bad", "3"],
                              [("node", "n03", None), ("node", "n04", None), ("node", "n40", None)], 4),
        "nothing": ({}, ["--hosts", "n[1-9],login"], [], 3),
        "a NIC": ({"n7.mlx5_2": .14}, ["--hosts", "n[1-12]", "--rails", "mlx5_[0-3]", "--effect", "0.14"],
                  [("nic", "n7", "mlx5_2")], 3),
        "a rail": ({".mlx5_1": .14}, ["--hosts", "n[1-12]", "--rails", "mlx5_[0-3]"], [("rail", None, "mlx5_1")], 3),
        "a node, of those with rails": ({"n5": .2}, ["--hosts", "n[1-12]", "--rails", "mlx5_[0-3]"],
                                        [("node", "n5", None)], 3),
        # Their columns of bandwidths have 0.02, or nothing but 0.00.
        "a node, of those with slow NICs": (
            {"n3": .2}, ["--hosts", "n[1-8]", "--group", "2"], [("node", "n3", None)], 3, {"healthy": 24e6}),
        "a node behind a modem": (
            {"n8": .2}, ["--hosts", "n[1-8]", "--group", "2"], [("node", "n8", None)], 3, {"healthy": 2e6}),
        "a node, from times of processors": ({"n5": .2}, ["--hosts", "n[1-9]"], [("node", "n5", None)], 3, {"cputime": True}),
        "a node, from ReduceScatters": ({"n5": .2}, ["--hosts", "n[1-9]"], [("node", "n5", None)], 3, {"scatters": True}),
    }
    for what, (slow, words, found, most, *is_so) in cases.items():
        is_so = is_so[0] if is_so else {}
        with tempfile.TemporaryDirectory() as folder:
            answer = Cluster(program, folder, slow=slow, **is_so).hunt(*words)
            healthy = (answer and answer["healthy_Bps"] or 0) / is_so.get("healthy", HEALTHY)
            say(abs(healthy - 1) < 0.02, f"{what}: healthy groups have {healthy} of what they have")
            say(answer is not None and answer["is_sure"] and named(answer) == found and answer["rounds"] <= most and
                answer["next"] is None, f"{what}: {answer}")


def check_wrong_logs(program):
    with tempfile.TemporaryDirectory() as folder:
        c = Cluster(program, folder, slow={"n05": .3}, dead=["n02"])
        code, script, errors = c.collsim("--hosts", "n[01-16]", "--state", "hunt.json", "-g", 2)
        c.sh(script)
        code, again, errors = c.collsim("--state", "hunt.json", ".")
        say(code == 0 and "still missing of round 1: 1 runs" in again and "r1-g01" in again and "r1-g02" not in again,
            f"a run that failed: {again}")
        say("r1-g01.log" in errors and errors.count("\n") == 1, f"a run that failed: {errors}")
        answer = c.answer("--failed", "r1-g01")
        likely = [(s["host"], s["alike"]) for s in answer["suspects"] if s["probability"] > .01]
        say(sorted(likely) == [("n01", 4), ("n05", 4)], f"--failed: {likely}")
        say(answer["next"]["round"] == 2, f"--failed: {answer['next']}")
        code, text, errors = c.collsim("--state", "hunt.json", "--failed", "r9-g01")
        say(code == 2 and "'r9-g01' is no run of this hunt" in errors, f"--failed of no run: {errors}")

        # The same logs under other names, and compressed; read twice they say the same.
        shutil.move(os.path.join(folder, "r1-g02.log"), os.path.join(folder, "today"))
        subprocess.run(["gzip", os.path.join(folder, "r1-g03.log")], check=True)
        first = c.answer("today", "r1-g03.log.gz", "r1-g04.log")
        say(c.answer("r1-g04.log", "today") == first, "logs that are read twice")

        # Without the line that says which run it is, the name does.
        with open(os.path.join(folder, "r1-g04.log"), encoding="utf-8") as f:
            lines = f.readlines()
        say(lines[0].startswith("# collsim-hunt "), f"the first line: {lines[0]}")
        for name, text, wrong in (
                ("r1-g04.log", lines[1:], None),
                ("unknown.log", lines[1:], "is of no run of this hunt"),
                ("other.log", [re.sub(r"[0-9a-f]{16}", "0" * 16, lines[0])] + lines[1:], "is a log of another hunt"),
                ("r1-g03.log", [x for x in lines[1:] if "on        n16" not in x], "ranks are listed"),
                ("r1-g02.log", lines[1:6], "r1-g02.log"),
                ("cut.log", lines[:-8], None)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.writelines(text)
            code, _, errors = c.collsim("--state", "hunt.json", name)
            if wrong is None:
                say(code == 0 and errors == "", f"{name}: exit {code}: {errors}")
            else:
                say(code == 2 and wrong in errors and name in errors, f"{name}: exit {code}: {errors}")
        code, _, errors = c.collsim("--state", "hunt.json", "missing.log")
        say(code == 3 and "missing.log" in errors, f"no such log: exit {code}: {errors}")


def check_wrong_states(program):
    with tempfile.TemporaryDirectory() as folder:
        c = Cluster(program, folder)
        state = os.path.join(folder, "hunt.json")
        c.collsim("--hosts", "n[01-16]", "--state", "hunt.json", "-g", 2)
        with open(state, encoding="utf-8") as f:
            good = f.read()
        code, _, errors = c.collsim("--hosts", "n[01-16]", "--state", "hunt.json")
        say(code == 2 and "is there already" in errors, f"a second begin: {errors}")
        for old, new, wrong in (
                ('"bad": 1', '"bad": 2', 'hunt.json:3:9: id: is not that of'),
                ('"n16"', '"n17"', "id: is not that of"),
                ('"n16"', '"n15"', "hosts: 'n15' stands twice"),
                ('"n16"', '"n;6"', "hosts: 'n;6' is no name"),
                ('"noise": 0.05', '"noise": -1', "noise: "),
                ('"rounds"', '"round"', "unknown key"),
                ('"size": 4', '"size": 1', "rounds[0].size"),
                ('[0, 1, 2, 3]', '[0, 1, 2, 16]', "rounds[0].groups[0].hosts[3]: 16"),
                ('[4, 5, 6, 7]', '[4, 5, 6, 0]', "rounds[0].groups[1].hosts[3]: 0 is in group 1"),
                ('"results": []', '"results": [{"test": 1, "busbw_Bps": 1e11, "rows": 1, "log": ""}]', "results[0].test: 1"),
                ('"results": []', '"results": [{"test": 0, "busbw_Bps": 0, "rows": 1, "log": ""}]', "busbw_Bps"),
                ('"command": "mpirun', '"command": "{nowhere}', "command: "),
                ('collsim-hunt-1', 'collsim-hunt-2', "format"),
                ('"rounds": [', '"rounds": [,', "not JSON")):
            say(old in good, f"{old} is not in the state")
            with open(state, "w", encoding="utf-8") as f:
                f.write(good.replace(old, new, 1))
            code, _, errors = c.collsim("--state", "hunt.json")
            say(code == 2 and wrong in errors and re.search(r"hunt\.json:\d+:\d+: ", errors) and errors.count("\n") == 1,
                f"{new}: exit {code}: {errors}")
        for length in range(0, len(good) - 1, 97):
            with open(state, "w", encoding="utf-8") as f:
                f.write(good[:length])
            code, _, errors = c.collsim("--state", "hunt.json")
            say(code == 2 and "hunt.json:" in errors, f"cut at {length}: exit {code}: {errors}")
        say(not [x for x in os.listdir(folder) if x.startswith("hunt.json") and x != "hunt.json"], "a file is left over")
        code, _, errors = c.collsim("--state", "nothing.json")
        say(code == 3 and "nothing.json" in errors, f"no state: exit {code}: {errors}")


def check_wrong_words(program):
    with tempfile.TemporaryDirectory() as folder:
        c = Cluster(program, folder)
        for words, wrong in (
                ([], "needs a cluster"),
                (["--state", "x.json", "--bad", "2"], "goes with --hosts"),
                (["--hosts", "n[1-9]", "--seed", "2"], "goes with --simulate"),
                (["--hosts", "n[1-9]", "--simulate", "10"], "needs --effect"),
                (["--hosts", "n[1-9]", "--simulate", "10", "--state", "x"], "without --state"),
                (["--hosts", "n[1-9]", "a.log"], "begins a hunt"),
                (["--hosts", "n[1-3]"], "accepted are 4"),
                (["--hosts", "n[1-9"], "--hosts"),
                (["--hosts", "n[9-1]"], "is no range"),
                (["--hosts", "n[1-99999999]"], "more than 65536"),
                (["--hosts", "a,b,c,,d"], "empty"),
                (["--hosts", "a,b,c,c"], "stands twice"),
                (["--hosts", "a,b,c,$(d)"], "is no name"),
                (["--hosts", "a,b,c,d", "--rails", "x"], "accepted are none, or 2"),
                (["--hosts", "a,b,c,d", "--group", "3"], "half"),
                (["--hosts", "a,b,c,d", "--template", "run"], "{hosts}"),
                (["--hosts", "a,b,c,d", "--template", "run {hosts} {host}"], "is no place"),
                (["--hosts", "a,b,c,d", "--rails", "x,y", "--template", "run {hosts}"], "{rail}"),
                (["--hosts", "a,b,c,d", "--effect", "2"], "--effect")):
            code, _, errors = c.collsim(*words)
            say(code == 2 and wrong in errors and errors.count("\n") == 1, f"{words}: exit {code}: {errors}")
        with open(os.path.join(folder, "hosts"), "w", encoding="utf-8") as f:
            f.write("# a rack\nn1 slots=8\n\n  n[2-3]   # two\nn4:8\n")
        code, text, errors = c.collsim("--hosts", "hosts", "--template", "run {hosts}")
        say(code == 0 and "run n1,n2;" in text and "run n3,n4:8;" in text, f"a host file: {text} {errors}")


def main():
    if sys.argv[1] == "--perf":
        return perf(sys.argv[2], sys.argv[3].split(","), sys.argv[4], sys.argv[5:])
    program = os.path.abspath(sys.argv[1])
    check_found(program)
    check_wrong_logs(program)
    check_wrong_states(program)
    check_wrong_words(program)
    print(f"hunt: {'nothing wrong' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
