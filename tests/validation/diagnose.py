#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim diagnose: made-up logs with one thing wrong each get the verdict for it, healthy ones of every version
none, and what cannot be diagnosed is refused in a line. Real logs, where they lie beside the sources, get the
verdicts that were found for them by hand.

Real logs are looked for in ../shared/data beside the repository.

usage: diagnose.py COLLSIM
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

problems = []
NIC = 50e9 * .965  # bytes a second of NCCL's data over a NIC of 400 Gb/s


def say(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def expected(program, ranks, version, *words):
    servers = ["-n", ranks, "-g", min(ranks, 8), "-b", 8, "-e", "8G", "-f", 2, "--nccl-version", version]
    code, text, errors = run(program, "expect", "--topology", "dgx-h100", "--format", "json", *servers, *words)
    say(code == 0, f"expect: {errors}")
    return json.loads(text)


def write_log(path, rows, ranks, version, change, in_place=lambda x: 1, gpu="NVIDIA H100 80GB HBM3", gpus=8):
    """As nccl-tests writes it; change(row) is the time in seconds."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 "
                "agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
        for i in range(ranks):
            f.write("#  Rank %2d Group  0 Pid %6d on     host%d device %2d [0x%02x] %s\n" %
                    (i, 1000 + i, i // gpus, i % gpus, 16 + i % gpus, gpu))
        f.write(f"NCCL version {version}.3+cuda12.8\n#\n")
        f.write("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
                "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")
        for row in rows:
            f.write("%12d %13d %9s %7s %7d" % (row["bytes"], row["bytes"] // 4, "float", "sum", -1))
            for times in (1, in_place(row)):
                us = float("%.2f" % (change(row) * times * 1e6))
                f.write(" %8.2f %7.2f %7.2f %6d" % (us, row["bytes"] / us / 1e3, row["bytes"] / us / 1e3 * 2 * (ranks - 1) / ranks, 0))
            f.write("\n")
        f.write("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100\n#\n")


def verdicts(program, path, *words):
    code, text, errors = run(program, "diagnose", path, "--format", "json", *words)
    if not text:
        return [f"exit {code}: {errors}"], code, errors
    found = json.loads(text)["verdicts"]
    say((code == 1) == (found[0]["name"] != "NORMAL"), f"{path}: exit {code} with {found}")
    say(all(v["from_bytes"] <= v["to_bytes"] and v["evidence"] for v in found), f"{path}: {found}")
    return [v["name"] for v in found], code, errors


def check_made_up(program):
    """name: (ranks, what becomes of a row, verdicts)"""
    large = 64 << 20
    by_version = {}

    def rows(ranks, *words, version="2.28"):
        key = (ranks, version) + words
        if key not in by_version:
            by_version[key] = expected(program, ranks, version, *words)
        return by_version[key]

    def times(ranks, *words):
        return {r["bytes"]: r["expected_s"] for r in rows(ranks, *words)}
    first = rows(32)[0]["expected_s"]
    tree, ring = times(16, "--nccl-algo", "tree"), times(8, "--nccl-algo", "ring,tree")
    cases = {
        "healthy": (32, lambda r: r["expected_s"], ["NORMAL"]),
        "latency": (32, lambda r: r["expected_s"] + 1.5 * first, ["LATENCY HIGH", "SLOW IN THE MIDDLE"]),
        "half of the NICs": (32, lambda r: max(r["expected_s"], 2 * 31 / 32 * r["bytes"] / (4 * NIC)), ["NICS", "SLOW"]),
        "forced tree": (16, lambda r: tree[r["bytes"]], ["WRONG ALGORITHM", "SLOW"]),
        "NVLS off": (8, lambda r: ring[r["bytes"]], ["NVLS OFF"]),
        "one NIC of eight": (32, lambda r: r["expected_s"] * (8 / 7 if r["bytes"] >= large else 1), ["NORMAL"]),
        "collapse": (32, lambda r: r["expected_s"] * (30 if r["bytes"] >= large else 1), ["COLLAPSE", "SLOW"]),
        "too fast": (32, lambda r: r["expected_s"] * (.3 if r["bytes"] >= large else 1), ["FASTER THAN THE BOUND", "FAST"]),
        "latency low": (32, lambda r: r["expected_s"] * (.4 if r["bytes"] <= 1 << 16 else 1), ["LATENCY LOW"]),
        "slow from 64 MiB": (32, lambda r: r["expected_s"] * (1.9 if r["bytes"] >= large else 1), None),
    }
    for name, (ranks, change, want) in cases.items():
        write_log("x.log", rows(ranks), ranks, "2.28", change)
        found, code, errors = verdicts(program, "x.log")
        say(want is None and code == 1 and found[-1] == "SLOW" or found == want, f"{name}: {found} {errors}")
        say("dgx-h100 is taken, by 'NVIDIA H100" in errors, f"{name}: {errors}")
    # What the expected times cannot show a baseline of the same servers does.
    write_log("good.log", rows(32), 32, "2.28", lambda r: r["expected_s"] * 1.1)
    write_log("x.log", rows(32), 32, "2.28", lambda r: r["expected_s"] * 1.1 * (8 / 7 if r["bytes"] >= large else 1))
    say(verdicts(program, "x.log")[0] == ["NORMAL"], "7 of 8 NICs without a baseline")
    say("SLOW" in verdicts(program, "x.log", "--baseline", "good.log")[0], "7 of 8 NICs with a baseline")
    say(verdicts(program, "good.log", "--baseline", "good.log")[0] == ["NORMAL"], "a log against itself")
    # A baseline of small sizes alone says nothing of large ones; one in which sizes are missing says what it can.
    write_log("few.log", [r for r in rows(32) if r["bytes"] < 1 << 20], 32, "2.28", lambda r: r["expected_s"] * 1.1)
    code, text, errors = run(program, "diagnose", "x.log", "--baseline", "few.log")
    say(code == 2 and not text and "has none of the log's sizes from" in errors, f"a baseline of small sizes: {code} {text} {errors}")
    write_log("half.log", rows(32)[::2], 32, "2.28", lambda r: r["expected_s"] * 1.1)
    code, text, _ = run(program, "diagnose", "x.log", "--baseline", "half.log", "--format", "json")
    found = json.loads(text)["verdicts"]
    say([v["name"] for v in found] == ["SLOW"] and large <= found[0]["from_bytes"] <= 2 * large, f"sizes missing in the baseline: {found}")
    write_log("x.log", rows(32), 32, "2.28", lambda r: r["expected_s"] * 1.1 * (30 if r["bytes"] >= large else 1))
    say("times what the baseline took" in run(program, "diagnose", "x.log", "--baseline", "good.log")[1], "collapse beside a baseline")
    # 18 hosts of 4 GPUs in one NVLink domain.
    rack = json.loads(run(program, "expect", "-n", 72, "--topology", "nvl72", "--nccl-version", "2.28", "--format", "json")[1])
    write_log("rack.log", rack, 72, "2.28", lambda r: r["expected_s"], gpu="NVIDIA GB200", gpus=4)
    say(verdicts(program, "rack.log")[0] == ["NORMAL"], f"a rack: {verdicts(program, 'rack.log')}")
    say(verdicts(program, "rack.log", "--topology", "nvl72")[0] == ["NORMAL"], "a rack with its topology")
    # Noise of 3 % changes nothing.
    generator = random.Random(5)
    for version in ("2.10", "2.18", "2.22", "2.27", "2.30"):
        for ranks in (2, 4, 8, 16, 64, 256):
            write_log("x.log", rows(ranks, version=version), ranks, version,
                      lambda r: r["expected_s"] * generator.uniform(.97, 1.03))
            found = verdicts(program, "x.log")[0]
            say(found == ["NORMAL"], f"{ranks} ranks, NCCL {version}: {found}")


def check_refusals(program):
    rows = expected(program, 16, "2.28")
    write_log("x.log", rows, 16, "2.28", lambda r: r["expected_s"], lambda r: 2 if r["bytes"] == 1024 else 1)
    say("us out of place and" in verdicts(program, "x.log")[2], "columns that differ are not named")
    write_log("eight.log", expected(program, 8, "2.28"), 8, "2.28", lambda r: r["expected_s"])
    with open("x.log", encoding="utf-8") as f:
        whole = f.read()
    with open("cut.log", "w", encoding="utf-8") as f:
        f.write("\n".join(whole.split("\n")[:40]) + "\n")
    with open("torn.log", "w", encoding="utf-8") as f:
        f.write(whole[:len(whole) * 3 // 4])
    with open("both.log", "w", encoding="utf-8") as f:
        f.write(whole + whole)
    with open("nobody.log", "w", encoding="utf-8") as f:
        f.write(whole.replace("NVIDIA H100 80GB HBM3", "a GPU"))
    with open("old.log", "w", encoding="utf-8") as f:
        f.write(whole.replace("version 2.28.3", "version 2.99.1"))
    for name, said in (("silent.log", "NCCL version 2.28.3+cuda12.8\n"), ("coded.log", "NCCL version 2.28.3+cuda12.8")):
        with open(name, "w", encoding="utf-8") as f:
            f.write(whole.replace(said, "# nccl-tests version 2.17.6 nccl-headers=22100 nccl-library=22106" if "\n" not in said else ""))
    say("the log does not say it, 2.30 is taken" in verdicts(program, "silent.log")[2], "a version that is taken is not named")
    code, text, errors = run(program, "diagnose", "coded.log")
    say("NCCL 2.21" in text and "--nccl-version" not in errors, f"the library's code: {text[:80]} {errors}")
    for device in ("NVIDIA A100-PCIE-40GB", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA GH200 480GB", "NVIDIA H200 NVL", "L40S"):
        with open("card.log", "w", encoding="utf-8") as f:
            f.write(whole.replace("NVIDIA H100 80GB HBM3", device))
        code, _, errors = run(program, "diagnose", "card.log")
        say(code == 2 and f"no preset has GPUs like '{device}'" in errors, f"{device}: exit {code}: {errors}")
    for device, preset in (("NVIDIA A100-SXM4-80GB", "dgx-a100"), ("NVIDIA H200", "dgx-h200"), ("NVIDIA GB200", "nvl72"), ("NVIDIA B200", "hgx-b200")):
        with open("card.log", "w", encoding="utf-8") as f:
            f.write(whole.replace("NVIDIA H100 80GB HBM3", device))
        say(f"{preset} is taken" in run(program, "diagnose", "card.log")[2], f"{device} is not {preset}")
    say("missing-rows" in verdicts(program, "cut.log")[2], "a log that is cut is not named")
    say("2.99.1" in verdicts(program, "old.log")[2], "a version that is not known is not named")
    for words, code, said in ((("absent.log",), 3, "absent.log: cannot be opened"),
                              ((), 2, "diagnose: needs a log"),
                              (("both.log",), 2, "both.log"),
                              (("torn.log",), 2, "torn.log:43:"),
                              (("nobody.log",), 2, "--topology: needs a preset or a file"),
                              (("old.log", "--strict"), 2, "is not known: accepted with --strict"),
                              (("x.log", "--topology", "nowhere"), 2, "nowhere"),
                              (("x.log", "-g", "5"), 2, "16 ranks in x.log"),
                              (("x.log", "-n", "7"), 2, "x.log"),
                              (("x.log", "--nccl-algo", "pat"), 2, "--nccl-algo: nothing is left"),
                              (("x.log", "--baseline", "eight.log"), 2, "--baseline: eight.log is of allreduce on 8 ranks"),
                              (("x.log", "--baseline", "absent.log"), 3, "absent.log")):
        got, text, errors = run(program, "diagnose", *words)
        ours = [line for line in errors.split("\n") if line.startswith("collsim: ") and ": note: " not in line]
        say(got == code and not text and len(ours) == 1 and said in ours[0], f"{words}: exit {got}, {text!r}, {errors!r}")
    code, text, _ = run(program, "diagnose", "x.log", "--format", "csv", "-o", "out.csv")
    with open("out.csv", encoding="utf-8") as f:
        lines = f.read().split("\n")
    say(code == 0 and text == "" and len(lines) == len(rows) + 2, "csv into a file")
    code, text, errors = run(program, "diagnose", "x.log", "-o", "x.svg")
    say(code == 0 and "NORMAL" in text and os.path.exists("x.svg") or "gnuplot is missing" in errors, f"picture: {code} {errors}")
    if os.path.exists("x.svg"):
        with open("x.svg", encoding="utf-8") as f:
            picture = f.read()
        say(all(words in picture for words in ("NORMAL", "measured", "bus bandwidth")), "the picture lacks words")
    for name, begins in (("x.png", b"\x89PNG"), ("x.PDF", b"%PDF"), ("y.SVG", b"<?xml")):
        code, text, errors = run(program, "diagnose", "x.log", "-o", name)
        if "gnuplot is missing" not in errors:
            with open(name, "rb") as f:
                say(code == 0 and f.read(len(begins)) == begins, f"{name}: {errors}")
    if os.path.exists("x.PDF"):
        time.sleep(1.01)
        run(program, "diagnose", "x.log", "-o", "z.pdf")
        with open("x.PDF", "rb") as f, open("z.pdf", "rb") as g:
            say(f.read() == g.read(), "the same PDF a second later differs")
    begin = time.monotonic()
    run(program, "diagnose", "x.log")
    say(time.monotonic() - begin < 1, "it takes longer than a second")


LOGS = {  # name: (options, verdicts)
    "h100_p5_1node8gpu_aws_batch_allreduce.txt": ("--topology p5.48xlarge", ["NORMAL"]),
    "a100x8_superbench_nccl_allreduce.log": ("--topology dgx-a100 --nccl-version 2.10", ["NORMAL"]),
    "a100x8_superbench_nccl_allgather.log": ("--topology dgx-a100 --nccl-version 2.10", ["NORMAL"]),
    "a100x8_superbench_nccl_reducescatter.log": ("--topology dgx-a100 --nccl-version 2.10", ["NORMAL"]),
    "a100_p4de_2nodes16gpu_aws_allreduce.txt": ("--topology p4de.24xlarge", ["NORMAL"]),
    "gb200_nvl72_1rack_coreweave_allreduce_readme.txt": ("--topology nvl72", ["NORMAL"]),
    "gb200_nvl72_2racks_coreweave_allreduce_readme.txt": ("--topology nvl72 -n 128 -g 64", ["NORMAL"]),
    "issue_nccl1453_h100x24_degraded_allreduce_srun_labels.txt": ("--topology dgx-h100 -g 8", ["COLLAPSE", "SLOW"]),
}


def check_real(program, folder):
    if not os.path.isdir(folder):
        print("diagnose: no real logs are at hand: they are left out")
        return
    for name, (options, want) in LOGS.items():
        found = verdicts(program, os.path.join(folder, name), *options.split())[0]
        say(found == want, f"{name}: {found}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    logs = os.path.join(root, "..", "shared", "data")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_made_up(program)
        check_refusals(program)
        check_real(program, logs)
        os.chdir("/")
    print(f"diagnose: {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
