#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The models against other simulators, and against each other, in random scenarios of usual size:
how large are the differences of elapsed times, in how many cases?

usage: simulators.py COLLSIM_BINARY [--cases N] [--seed N] [--loggopsim FOLDER]

  flow    against SimGrid   behind the same dispatcher (simgrid_flow.py has SimGrid play by itself)
  packet  against ns-3      raw packets
  loggp   against LogGOPSim the real program on GOAL files, if --loggopsim or the environment's
                            COLLSIM_LOGGOPSIM names the folder in which `txt2bin` and `LogGOPSim` are

A simulator that is not there is skipped, and said to be. The first two must agree to 1e-9; so must
LogGOPSim where ranks take turns in sending and receiving (ON_GOAL). The other rows say what the
choice of a model is worth. Prints a table of all differences: count, share of equal times, median, 90th
percentile, worst.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

SAME = 1e-9
ALGORITHMS = ("ring", "rhd", "allpairs", "stragglar", "broadcast", "circulant", "merged_rhd",
              "double_binary_tree", "latency_optimal", "hierarchical", "nccl_rings",
              "parallel_rings", "optcc", "r2ccl")
# Of LogGOPSim: (algorithm, powers of two and equal parts only, must agree). Its ranks have one CPU,
# which either sends or takes a message in, so that only those agree whose ranks take turns.
ON_GOAL = (("ring", False, True), ("nccl_rings", False, True), ("latency_optimal", False, True),
           ("circulant", True, True), ("rhd", True, True), ("merged_rhd", True, True),
           ("circulant", False, False), ("rhd", False, False), ("merged_rhd", False, False),
           ("allpairs", False, False), ("stragglar", False, False),
           ("double_binary_tree", False, False))


def percentile(ordered, share):
    """By linear interpolation between the two nearest."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def row(name, errors):
    """One line of the table, in per cent; errors are signed and relative."""
    sizes = sorted(abs(e) for e in errors)
    equal = sum(e <= SAME for e in sizes)
    return "| %s | %d | %d | %s | %s | %s |" % (
        name, len(sizes), equal,
        *("%.2g %%" % (100 * v) for v in (percentile(sizes, 0.5), percentile(sizes, 0.9), sizes[-1])))


def elapsed_s(binary, arguments):
    """Seconds, or None where the scenario is refused."""
    run = subprocess.run([binary, "run", *arguments, "--format", "json"], capture_output=True, text=True)
    if run.returncode == 2:
        return None
    if run.returncode != 0:
        sys.exit("collsim run %s: %s" % (" ".join(arguments), run.stderr))
    return json.loads(run.stdout)[0]["elapsed_s"]


def has_model(binary, model):
    return elapsed_s(binary, ["-a", "ring", "-n", "2", "-s", "1M", "-m", model]) is not None


def draw(rng):
    """A configuration: anything that an algorithm does, late ranks, slow NICs, leaves and spines."""
    g = rng.choice((1, 1, 1, 2, 4))
    n = g * rng.randrange(2, 17 if g == 1 else 9)
    bandwidth = rng.choice((12.5e9, 50e9, 450e9))
    size = int(2 ** rng.uniform(16, 24))
    x = size / bandwidth
    cluster = {"ranks": n, "gpus_per_server": g,
               "nic": {"bandwidth": bandwidth, "alpha": rng.choice((1e-6, 3e-6, 10e-6))},
               "nvlink": {"bandwidth": 450e9, "alpha": 1e-6}}
    if rng.random() < 0.5:
        cluster["topology"] = {"kind": "leaf-spine", "leaves": 2, "spines": rng.randrange(1, 3),
                               "uplink_bandwidth": n // g * bandwidth / rng.choice((2, 4, 8)),
                               "hop_latency": 5e-7}
    late = rng.sample(range(n), rng.choice((0, 1, 1, 2)))
    faults = [{"rank": g * s, "slowdown": rng.uniform(1, 4)}
              for s in rng.sample(range(n // g), rng.choice((0, 1)))]
    return {"cluster": cluster, "bytes": size, "faults": faults,
            "arrivals": {"late": [{"rank": r, "delay": rng.uniform(0, 2 * x)} for r in late]},
            "algorithm": rng.choice(ALGORITHMS)}


def differences(binary, a, b, n_cases, rng, folder, crossbar=False):
    """Signed relative differences of model a from model b, in cases that neither refuses."""
    path, errors, tries = os.path.join(folder, "c.json"), [], 0
    while len(errors) < n_cases:
        tries += 1
        if tries > 50 * n_cases + 50:
            sys.exit("%s, %s: nearly every scenario is refused" % (a, b))
        config = draw(rng)
        if crossbar:
            config["cluster"].pop("topology", None)
        with open(path, "w") as f:
            json.dump(config, f)
        times = [elapsed_s(binary, [path, "-m", model]) for model in (a, b)]
        if None not in times:
            errors.append(times[0] / times[1] - 1)
            if b in ("simgrid", "ns3") and abs(errors[-1]) > SAME:
                print("%s %.15g s, %s %.15g s: %s" % (a, times[0], b, times[1], json.dumps(config)))
    return errors


class LogGOPSim:
    """The real program, and the scenario that it takes as long for as -m loggp: a message of k bytes
    costs o + L + (k - 1) G + o there, and alpha + k G here."""

    def __init__(self, programs, binary, folder):
        self.programs, self.binary = programs, binary
        self.text, self.packed = (os.path.join(folder, "s." + end) for end in ("goal", "bin"))

    def seconds(self, algorithm, n, size, alpha_ns, G):
        """Times by either program, or None where the algorithm refuses the scenario."""
        made = subprocess.run([self.binary, "schedule", algorithm, "-n", str(n), "-s", str(size),
                               "--format", "goal", "-o", self.text], capture_output=True, text=True)
        if made.returncode != 0:
            return None
        subprocess.run([os.path.join(self.programs, "txt2bin"), "-i", self.text, "-o", self.packed],
                       capture_output=True, check=True)
        said = subprocess.run([os.path.join(self.programs, "LogGOPSim"), "-b", "-f", self.packed,
                               "-L", str(alpha_ns + G), "-o", "0", "-g", str(G), "-G", str(G),
                               "-S", "2147483647"], capture_output=True, text=True, check=True).stdout
        theirs = next(float(line.split("(")[0].rsplit(":", 1)[1]) for line in said.splitlines()
                      if line.startswith("Maximum finishing time"))
        ours = elapsed_s(self.binary, ["-a", algorithm, "-n", str(n), "-s", str(size), "-m", "loggp",
                                       "--alpha", "%dns" % alpha_ns, "--bandwidth", "%.17g" % (1e9 / G)])
        return ours, 1e-9 * theirs

    def differences(self, algorithm, is_even, n_cases, rng):
        errors = []
        while len(errors) < n_cases:
            n = 2 ** rng.randrange(1, 6) if is_even else rng.randrange(2, 33)
            equal = 4 * n * rng.randrange(1, 200000)
            size = equal if is_even else rng.choice((equal, rng.randrange(4 * n, 2 ** 24)))
            times = self.seconds(algorithm, n, size, rng.randrange(0, 10000), rng.randrange(1, 5))
            if times is not None:
                errors.append(times[0] / times[1] - 1)
        return errors


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--cases", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=int(os.environ.get("COLLSIM_SEED", "1")))
    arguments.add_argument("--loggopsim", default=os.environ.get("COLLSIM_LOGGOPSIM"))
    o = arguments.parse_args()
    failed, notes = False, []
    print("| | cases | equal to 1e-9 | median | 90 % | worst |\n|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for salt, (a, b, crossbar) in enumerate((("flow", "simgrid", False), ("packet", "ns3", False),
                                                 ("alpha-beta", "packet", True),
                                                 ("loggp", "packet", True), ("flow", "packet", False))):
            if not has_model(o.binary, b):
                notes.append("skipped: the model %s is not there" % b)
                continue
            errors = differences(o.binary, a, b, o.cases, random.Random(o.seed + 1000003 * salt), folder,
                                 crossbar)
            print(row("`%s` against %s" % (a, "`packet`" if b == "packet" else "`%s`" % b), errors), flush=True)
            failed |= b != "packet" and max(map(abs, errors)) > SAME
        if o.loggopsim is None:
            notes.append("skipped: LogGOPSim is not named (--loggopsim)")
        else:
            peer, rng = LogGOPSim(o.loggopsim, o.binary, folder), random.Random(o.seed)
            for algorithm, is_even, must_agree in ON_GOAL:
                errors = peer.differences(algorithm, is_even, o.cases, rng)
                print(row("`loggp` against LogGOPSim, %s%s" % (algorithm, ", n = 2^k" if is_even else ""),
                          errors), flush=True)
                failed |= must_agree and max(map(abs, errors)) > SAME
    print("".join("%s\n" % note for note in notes), end="")
    return failed


if __name__ == "__main__":
    sys.exit(main())
