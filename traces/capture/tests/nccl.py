#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim-nccl, on GPUs that the CPU plays: what it writes, and what it says when something is wrong; and the
real program, which says in one line that there is no GPU, or runs every schedule on the one there is.

usage: nccl.py COLLSIM COLLSIM-NCCL-HOST [COLLSIM-NCCL]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 500
HERE = os.path.dirname(os.path.abspath(__file__))
# Open MPI keeps memory until the process ends, and the leak checker would report that.
ENVIRONMENT = dict(os.environ, LC_ALL="C", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*command, **settings):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=LIMIT_S,
                          check=False, env=dict(ENVIRONMENT, **settings))
    return done.returncode, done.stdout, done.stderr


def schedule(collsim, path, algorithm, *words):
    code, _, errors = run(collsim, "schedule", algorithm, "--format", "json", "-o", path, *words)
    expect(code == 0, f"schedule {algorithm} {words}: {errors}")
    return path


def check_results(collsim, host):
    """A late rank of four: the table, JSON and the trace say the same."""
    path = schedule(collsim, "s.json", "stragglar", "-n", "4", "-s", "40000", "--late", "3=20ms")
    for mode in ([], ["--loopback"]):
        code, table, errors = run(host, path, "--late", "3=20ms", "--machine", "m", "--json", "r.json", "--trace",
                                  "t.json", "--slice", "1000", "--repetitions", "3", "--probe", *mode)
        expect(code == 0, f"{mode}: exit {code}: {errors}")
        lines = table.split("\n")
        expect(lines[0] == "# collsim-capture 1 collective allreduce schedule stragglar ranks 4 machine m",
               f"first line {lines[0]!r}")
        rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        expect(len(rows) == 1 and rows[0][0] == "40000" and rows[0][8] == "0", f"rows {rows}")
        probe = [line for line in lines if line.startswith("# probe ")]
        expect(len(probe) == 1 and re.search(r" alone [\d.]+ GB/s, executor [\d.]+ GB/s: [\d.]+ % ", probe[0]),
               f"probe {probe}")
        with open("r.json", encoding="utf-8") as file:
            result = json.load(file)["runs"][0]
        expect(result["wrong"] == 0 and result["mode"] == ("loopback" if mode else "messages"), f"{result['mode']}")
        expect(len(result["repetitions"]) == 3 and result["alone_Bps"] > 0 and result["slice_bytes"] == 1000,
               f"JSON {result}")
        for repetition in result["repetitions"]:
            expect(repetition["makespan_s"] >= 0.02, f"{repetition} ends before the late rank comes")
            expect(max(repetition["rank_end_s"]) == repetition["makespan_s"], f"{repetition}")
        check_trace(result)


def check_trace(result):
    with open("t.json", encoding="utf-8") as file:
        slices = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
    expect(len(slices) == 3 * 2 * result["messages"], f"{len(slices)} slices of {result['messages']} messages")
    with open("s.json", encoding="utf-8") as file:
        late = {t["round"] for t in json.load(file)["transfers"] if 3 in (t["src"], t["dst"])}
    early = [e["ts"] for e in slices if e["args"]["round"] < min(late)]
    expect(early and min(early) < 20000, "nobody worked before the late rank came")


def check_wrong(collsim, host):
    """A schedule that is no AllReduce is found by its numbers."""
    path = schedule(collsim, "ring.json", "ring", "-n", "4", "-s", "4000")
    with open(path, encoding="utf-8") as file:
        ring = json.load(file)
    ring["transfers"][5]["op"] = "copy"
    with open("wrong.json", "w", encoding="utf-8") as file:
        json.dump(ring, file)
    for mode in ([], ["--loopback"]):
        code, _, errors = run(host, "wrong.json", *mode)
        expect(code == 1 and "wrong numbers: the result is no allreduce" in errors, f"exit {code}: {errors}")


def refuse(code, words, *command, **settings):
    """This exit code, and one line with these words."""
    found, output, errors = run(*command, **settings)
    lines = errors.splitlines()
    expect(found == code and len(lines) == 1 and all(word in lines[0] for word in words) and output == "",
           f"{command[1:]} {settings}: exit {found}, not {code}, with {words}: {errors!r} {output!r}")


def check_errors(host):
    none, two = {"COLLSIM_HOST_GPUS": "0"}, {"COLLSIM_HOST_GPUS": "2"}
    refuse(3, ["no GPU can be used here", "accepted", "--loopback"], host, "ring.json", **none)
    refuse(3, ["rank 3 needs GPU 3, and there are 2", "accepted", "--loopback"], host, "ring.json", **two)
    refuse(3, ["rank 3 needs GPU 9"], host, "ring.json", "--gpu", "6")
    refuse(2, ["--gpu", "is 2", "accepted: 0 to 1"], host, "ring.json", "--loopback", "--gpu", "2", **two)
    refuse(2, ["--slice", "'3'", "at least 4 bytes"], host, "ring.json", "--slice", "3")
    refuse(2, ["--timeout", "up to 1 h"], host, "ring.json", "--timeout", "0s")
    refuse(3, ["not done after"], host, "ring.json", "--timeout", "1ns")
    refuse(2, ["--share-gpu", "mpirun"], host, "ring.json", "--share-gpu")
    refuse(2, ["--loopback", "one process"], host, "ring.json", "--share-gpu", "--loopback")
    refuse(2, ["2 processes", "no MPI"], host, "ring.json", OMPI_COMM_WORLD_SIZE="2")
    refuse(2, ["--trace", "one schedule"], host, "ring.json", "ring.json", "--trace", "t.json")
    refuse(3, ["missing.json", "cannot be opened"], host, "missing.json")
    refuse(2, ["there is no rank 4 among 4"], host, "ring.json", "--late", "4=1ms")
    expect(run(host, "ring.json", "--loopback", "--gpu", "1", "--quiet", **two) == (0, "", ""), "--loopback on GPU 1")


def check_page(host):
    """The manual page has every option, and no other."""
    _, text, _ = run(host, "--help")
    options = set(re.findall(r"^  --([a-z-]+)", text, re.M))
    with open(os.path.join(HERE, os.pardir, "collsim-nccl.1"), encoding="utf-8") as file:
        found = {word.replace("\\-", "-") for word in re.findall(r"^\.It Fl -([a-z\\-]+)", file.read(), re.M)}
    expect(options == found, f"options {sorted(options ^ found)} are only in the help or only on the page")


def check_real(collsim, real):
    """Without a GPU one line; with one, every schedule on it."""
    code, _, errors = run(real, "ring.json", "--loopback")
    if code != 3 or "no GPU can be used here" not in errors:
        expect(code == 0, f"--loopback: exit {code}: {errors}")
        for slices in ("0", "200"):
            code, output, errors = run(sys.executable, os.path.join(HERE, "replay.py"), collsim, real, "--loopback",
                                       "--slice", slices)
            expect(code == 0, f"replays with --loopback: {output}{errors}")
        return
    print("collsim-nccl has found no GPU: " + errors.strip())
    refuse(3, ["no GPU can be used here", "accepted"], real, "ring.json")
    refuse(2, ["unknown option"], real, "--what")
    if shutil.which("mpirun") is not None and run("ldd", real)[1].find("libmpi") >= 0:
        code, _, errors = run("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", real, "ring.json",
                              "--share-gpu")
        ours = [line for line in errors.splitlines() if line.startswith("collsim-nccl: ")]
        expect(code == 3 and len(ours) == 1 and "no GPU can be used here" in ours[0],
               f"under mpirun: exit {code}: {errors}")


def main(collsim, host, *real):
    collsim, host, *real = (os.path.abspath(shutil.which(program) or program) for program in (collsim, host, *real))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_results(collsim, host)
        check_wrong(collsim, host)
        check_errors(host)
        check_page(host)
        if real:
            check_real(collsim, real[0])
        os.chdir("/")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
