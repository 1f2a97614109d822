#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expected times of NCCL against an evaluator that shares no code with them, and against measured tables.

usage: nccl_oracle.py COLLSIM_BINARY [SEED [CASES]]
Both are looked for in ../shared beside the repository; what is not there is skipped, and said.
Machines, servers, GPUs, versions, collectives, filters and sizes are drawn: the choice must be the
same and the time agree to 1e-9. Of the tables the errors must be as sim/doc/nccl.md says them.
"""
import json
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(ROOT, "..", "shared")
ORACLE = os.path.join(SHARED, "prototypes", "nccl")
TABLES = os.path.join(SHARED, "data", "nccl_tables")
# generation, GPUs, NICs and their GB/s, PCIe, CPU, fabric, latency that its plugin declares
MACHINES = {
    "dgx-a100": ("ampere", 8, 8, 25.0, 24.0, "amd", "ib", 0.0),
    "dgx-h100": ("hopper", 8, 8, 50.0, 48.0, "intel", "ib", 0.0),
    "hgx-b200": ("blackwell", 8, 8, 50.0, 48.0, "intel", "ib", 0.0),
    "nvl72": ("blackwell", 72, 72, 50.0, 48.0, "intel", "ib", 0.0),
    "p4d.24xlarge": ("ampere", 8, 4, 12.5, 12.0, "intel", "efa1", 75.0),
}


def expect(binary, *args):
    ran = subprocess.run([binary, "expect", *map(str, args), "--format", "json"], capture_output=True, text=True)
    if ran.returncode != 0:
        raise ValueError("%s: %s" % (" ".join(map(str, args)), ran.stderr.strip()))
    return json.loads(ran.stdout)


def drawn_sizes(rng):
    return sorted({rng.choice([8, 16, 17, 1 << rng.randrange(3, 35), rng.randrange(8, 1 << rng.randrange(4, 35))]) for _ in range(6)})


def wrong_case(binary, rng, oracle):
    """What disagrees in a drawn case, or None."""
    name = rng.choice(list(MACHINES))
    arch, most, nics, nic, pcie, cpu, fabric, latency = MACHINES[name]
    servers = rng.choice([1, 1, 2, 3, 4, 5, 8, 16, 64])
    gpus = most if servers > 1 else rng.randrange(2, most + 1)
    # Blackwell's tables of 2.29 and 2.30 list speeds that the evaluator leaves out.
    minor = rng.randrange(19, 29 if arch == "blackwell" else 31)
    collective = rng.choice(["allreduce", "allgather", "reducescatter"] + (["alltoall"] if servers == 1 else []))
    t = oracle.Topo(servers, gpus, arch, nics, nic, pcie, cpu=cpu, netlat=latency, version="2.%d" % minor,
                    buff=(8 if fabric == "efa1" else 4) << 20, nvlstreechunk=1 << 19 if fabric == "efa1" else None)
    t.fabric = fabric
    args = ["--topology", name, "-n", servers * gpus, "-g", gpus, "-c", collective, "--nccl-version", "2.%d" % minor]
    only = None
    if rng.random() < 0.3:
        t.nvls = False
        args.append("--no-nvls")
    if rng.random() < 0.3:
        only = ("ring",)
        args += ["--nccl-algo", "Ring"]
    if rng.random() < 0.2 and collective != "alltoall":
        t.perproc = rng.choice([k for k in range(2, gpus + 1) if gpus % k == 0] or [1])
        args += ["--gpus-per-process", t.perproc]
    sizes = drawn_sizes(rng)
    for row in expect(binary, *args, "-s", ",".join(map(str, sizes))):
        us, algorithm, protocol, _ = oracle.predict(t, row["bytes"], collective, only)
        if (row["algorithm"], row["protocol"]) != (algorithm, protocol) or abs(row["expected_s"] * 1e6 / us - 1) > 1e-9:
            return "%s, %d B: %s/%s %.12g us, but the evaluator says %s/%s %.12g us" % (
                " ".join(map(str, args)), row["bytes"], row["algorithm"], row["protocol"], row["expected_s"] * 1e6,
                algorithm, protocol, us)
    return None


def part(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def wrong_tables(binary):
    """The errors of the tables; what is worse than the page says."""
    cells = {}
    for name in sorted(os.listdir(TABLES)):
        topology = {"a100": "dgx-a100", "h100": "dgx-h100", "b200": "hgx-b200"}[name.split("_")[0]]
        with open(os.path.join(TABLES, name), encoding="ascii") as f:
            rows = [line.split(",") for line in f.read().split()[1:]]
        for collective, n in sorted({(r[2], int(r[3])) for r in rows}):
            cell = [r for r in rows if r[2] == collective and int(r[3]) == n]
            got = expect(binary, "--topology", topology, "-n", n, "-c", collective, "--nccl-version", cell[0][1],
                         "-s", ",".join(r[4] for r in cell))
            cells[topology, collective, n] = [abs(g["expected_s"] * 1e6 / float(r[5]) - 1) for g, r in zip(got, cell)]
    problems = []
    for (topology, collective, n), errors in cells.items():
        print("%s %s of %d: %d rows, median %.1f %%, 90th percentile %.1f %%"
              % (topology, collective, n, len(errors), 100 * part(errors, .5), 100 * part(errors, .9)))
        if collective != "alltoall" and part(errors, .5) > .065:
            problems.append("%s %s of %d: median above 6.5 %%" % (topology, collective, n))
    for title, is_of, median, nine in (("tuned", lambda c: c != "alltoall", .025, .08), ("alltoall", lambda c: c == "alltoall", .08, .25)):
        errors = [e for key, cell in cells.items() if is_of(key[1]) for e in cell]
        print("%s: %d rows, median %.1f %%, 90th percentile %.1f %%" % (title, len(errors), 100 * part(errors, .5), 100 * part(errors, .9)))
        if part(errors, .5) > median or part(errors, .9) > nine:
            problems.append("%s: above %g and %g" % (title, median, nine))
    return problems


def main():
    binary = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    problems = []
    if os.path.isdir(TABLES):
        problems += wrong_tables(binary)
    else:
        print("no tables in %s: skipped" % TABLES)
    if os.path.isdir(ORACLE):
        sys.dont_write_bytecode = True
        sys.path.insert(0, ORACLE)
        import expect as oracle
        rng = random.Random(seed)
        problems += [p for p in (wrong_case(binary, rng, oracle) for _ in range(cases)) if p is not None]
        print("%d drawn cases against the evaluator" % cases)
    else:
        print("no evaluator in %s: skipped" % ORACLE)
    for problem in problems:
        print("nccl_oracle: " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
