#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim-mpi on this machine: every schedule is right in every number (replay.py), wrong ones are
found, links are probed, results can be read, and whatever goes wrong ends with a line and no hang.

usage: mpi.py COLLSIM COLLSIM-MPI replay|eager|errors|results|death|calibrate

Needs Open MPI's mpirun; exits with 77 without it.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 500
HERE = os.path.dirname(os.path.abspath(__file__))
# Open MPI keeps memory until the process ends, and the leak checker would report that.
ENVIRONMENT = dict(os.environ, LC_ALL="C",
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
problems = []
collsim, program = "", ""


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*command):
    """Exit code, standard output, standard error; a command that hangs is a failure."""
    try:
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                              timeout=LIMIT_S, env=ENVIRONMENT)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return -1, "", f"no end after {LIMIT_S} s"


def mpirun(n_ranks, *words):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", n_ranks, program, *words]


def ours(errors):
    return [line for line in errors.split("\n") if line.startswith("collsim-mpi: ")]


def schedule(path, algorithm, n, *words):
    """Write a schedule; None where the algorithm does not do this."""
    code, _, errors = run(collsim, "schedule", algorithm, "-n", n, "--format", "json", "-o", path, *words)
    if code == 2:
        return None
    expect(code == 0, f"schedule {algorithm} -n {n} {words}: exit {code}: {errors}")
    return path


def rows(table):
    """[(title line, [fields of a row])] of tables."""
    found, title = [], ""
    for line in table.split("\n"):
        if line.startswith("# collsim-capture"):
            title = line
        elif line.strip() and not line.startswith("#"):
            found.append((title, line.split()))
    return found


def check_replay(*words):
    code, output, errors = run(sys.executable, os.path.join(HERE, "replay.py"), collsim, *mpirun(8), *words)
    expect(code == 0, f"replays: exit {code}: {output}{errors}")
    print(output, end="")


def check_eager():
    check_replay("--eager", "--most", "6")


def check_wrong():
    """A schedule that is no AllReduce is found by its numbers."""
    with open(schedule("ring.json", "ring", 4, "-s", "4000"), encoding="utf-8") as file:
        ring = json.load(file)
    ring["transfers"][5]["op"] = "copy"
    with open("no-sum.json", "w", encoding="utf-8") as file:
        json.dump(ring, file)
    code, output, errors = run(*mpirun(4, "ring.json", "no-sum.json"))
    found = {row[-1] for _, row in rows(output)}
    expect(code == 1, f"wrong numbers: exit {code}: {errors}")
    expect(len(found) == 2 and "0" in found, f"wrong numbers were not seen: {output}")
    expect(len(ours(errors)) == 1 and "no-sum.json" in ours(errors)[0], f"wrong numbers: {errors}")


def check_bad_input():
    """One line of ours, exit code 2, nothing written."""
    schedule("ring.json", "ring", 4, "-s", "4000")
    with open("ring.json", encoding="utf-8") as file:
        text = file.read()
    for name, content in (("cut.json", text[:len(text) // 2]), ("empty.json", ""),
                          ("rank.json", text.replace('"dst": 1', '"dst": 9')),
                          ("key.json", text.replace('"chunks"', '"chunky"'))):
        with open(name, "w", encoding="utf-8") as file:
            file.write(content)
        code, output, errors = run(*mpirun(4, "ring.json", name, "--table", "out.txt"))
        expect(code == 2 and len(ours(errors)) == 1 and name in ours(errors)[0], f"{name}: {code}: {errors}")
        expect(output == "" and not os.path.exists("out.txt"), f"{name}: something was written")
    for n, words, what in ((3, ["ring.json"], "4 ranks"), (4, ["absent.json"], "absent.json"), (4, [], "--probe"),
                           (4, ["ring.json", "--timeout", "0s"], "--timeout"),
                           (4, ["ring.json", "--late", "4=1ms"], "--late"),
                           (4, ["ring.json", "ring.json", "--trace", "t.json"], "--trace"),
                           (4, ["--links", "l.json", "--table"], "--table"),
                           (4, ["ring.json", "--links", "ring.json"], "is a schedule"),
                           (4, ["ring.json", "--no-such"], "--no-such"),
                           (4, ["ring.json", "--busy", "0"], "--busy")):
        code, output, errors = run(*mpirun(n, *words))
        wanted = 3 if what == "absent.json" else 2
        expect(code == wanted and len(ours(errors)) == 1 and what in ours(errors)[0], f"{words}: {code}: {errors}")
    code, output, _ = run(*mpirun(3, "--help"))
    expect(code == 0 and output.count("usage:") == 1, f"--help: exit {code}: {output}")
    with open(os.path.join(os.path.dirname(HERE), "collsim-mpi.1"), encoding="utf-8") as file:
        manual = file.read()
    for option in re.findall(r"^  --([a-z-]+)", output, re.M):
        expect(f".It Fl -{option}" in manual, f"--{option} is not in the manual page")
    code, output, _ = run(*mpirun(3, "--version"))
    expect(code == 0 and output.count("collsim-mpi") == 1, f"--version: exit {code}: {output}")


def check_segments():
    """Messages of many segments, whose ends are no ends of the pieces that they are made of."""
    paths = [schedule(f"{name}{i}.json", name, 6, "-s", 3000001, *words)
             for i, (name, *words) in enumerate((
                 ("ring",), ("rhd",), ("circulant",), ("latency_optimal",), ("allpairs", "-c", "alltoall"),
                 ("stragglar", "--late", "5=1ms"), ("optcc", "--slow", "1=2"), ("hierarchical", "-g", 3),
                 ("two_step_alltoall", "-c", "alltoall", "-g", 3)))]
    expect(None not in paths, f"schedules that are not made: {paths}")
    for words in ((), ("--eager",)):
        code, _, errors = run(*mpirun(6, *paths, "--repetitions", "2", "--quiet", *words))
        expect(code == 0, f"segments {words}: exit {code}: {errors}")


def check_links():
    code, output, errors = run(*mpirun(5, "--links", "links.json"))
    expect(code == 0 and "bandwidth (GB/s)" in output, f"--probe: exit {code}: {output}{errors}")
    with open("links.json", encoding="utf-8") as file:
        links = json.load(file)
    expect(links["format"] == "collsim-links" and links["ranks"] == 5, str(links)[:200])
    pairs = {(link["src"], link["dst"]) for link in links["links"]}
    expect(pairs == {(a, b) for a in range(5) for b in range(5) if a != b}, f"pairs: {pairs}")
    for link in links["links"]:
        times = link["round_trip_minimum_s"]
        expect(0 < link["alpha_s"] < 0.01 and len(times) == len(links["sizes_bytes"]), str(link))
        expect(all(0 < a <= b for a, b in zip(times, link["round_trip_median_s"])), str(link))
        expect(1e7 < link["bandwidth_Bps"] < 1e12, str(link))


def check_late_and_trace():
    """A rank that is late, and times of all ranks on one clock."""
    schedule("star.json", "stragglar", 4, "-s", "4M", "--late", "3=30ms")
    code, _, errors = run(*mpirun(6, "star.json", "--late", "3=300ms", "--repetitions", "2", "--json", "late.json",
                                  "--trace", "trace.json"))
    expect(code == 0, f"late rank: exit {code}: {errors}")
    with open("late.json", encoding="utf-8") as file:
        report = json.load(file)["runs"][0]
    expect(len(report["clocks"]) == 4, str(report))
    # One machine: all clocks are the same, whatever the comparison says of its own error.
    expect(all(abs(clock["offset_s"]) <= clock["error_s"] for clock in report["clocks"]), str(report["clocks"]))
    for repetition in report["repetitions"]:
        expect(repetition["rank_end_s"][3] > 0.3, f"rank 3 was not late: {repetition}")
        expect(abs(repetition["exposed_s"] - (repetition["makespan_s"] - 0.3)) < 1e-9, str(repetition))
    with open("trace.json", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    expect(len(events) == 2 * 2 * report["messages"], f"{len(events)} slices of {report['messages']} messages")
    # Slices of the first repetition, which begins at 0.
    late = [event["ts"] for event in events if event["pid"] == 3]
    others = [event["ts"] for event in events if event["pid"] != 3]
    expect(min(late) >= 300000 - 1 and -1 <= min(others) < 300000, f"{min(late)}, {min(others)} us")


def check_one_start():
    """Sizes of a schedule are rows of one table, other schedules have tables of their own."""
    paths = [schedule(f"ring{s}.json", "ring", 4, "-s", s) for s in (4096, 65536, 1048576)]
    paths.append(schedule("pairs.json", "allpairs", 4, "-s", 65536))
    code, output, errors = run(*mpirun(4, *paths, "--table", "run.txt"))
    with open("run.txt", encoding="utf-8") as file:
        table = file.read()
    found = [(title.split("schedule ")[1].split()[0], int(row[0])) for title, row in rows(table)]
    expect(code == 0 and found == [("ring", 4096), ("ring", 65536), ("ring", 1048576), ("allpairs", 65536)],
           f"tables: exit {code}: {found}: {errors}{table}")
    expect(output == "", f"printed with -o: {output}")


def pids_of_ranks(launcher):
    """{rank: pid} of the processes that this mpirun started."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
            if entry.isdigit() and parent == launcher:
                found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = int(entry)
        except (OSError, KeyError, ValueError):
            continue
    return found


def check_death():
    """A rank is killed or stopped in the middle."""
    for rank, which in ((2, signal.SIGKILL), (0, signal.SIGKILL), (2, signal.SIGSTOP), (0, signal.SIGSTOP)):
        end_rank(rank, which)


def end_rank(rank, which):
    """A message, an exit code, no hang, no results."""
    what = f"rank {rank} after {which.name}"
    schedule("long.json", "ring", 4, "-s", "4M")
    with open("errors.txt", "w+", encoding="utf-8") as errors:
        words = mpirun(4, "long.json", "--repetitions", "100000", "--timeout", "2s", "--table", "dead.txt")
        launcher = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=errors,
                                    env=ENVIRONMENT)
        ranks, until = {}, time.monotonic() + 30
        while len(ranks) < 4 and time.monotonic() < until:
            time.sleep(0.05)
            ranks = pids_of_ranks(launcher.pid)
        time.sleep(1)
        expect(launcher.poll() is None, f"{what}: it ended before")
        os.kill(ranks[rank], which)
        start = time.monotonic()
        try:
            code = launcher.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            launcher.kill()
            code = 0
        took = time.monotonic() - start
        errors.seek(0)
        text = errors.read()
    for pid in ranks.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    expect(code != 0 and text.strip() != "", f"{what}: exit {code}, {text!r}")
    expect(took < 30, f"{what}: {took:.1f} s until the end")
    expect(not os.path.exists("dead.txt"), f"{what}: results were written")
    if which == signal.SIGSTOP:
        expected = "no answer from rank 2" if rank == 2 else "rank 0 did not end the run"
        expect(any("not done after 2 s" in line and expected in line for line in ours(text)), f"{what}: {text}")
        expect(len(ours(text)) == 1, f"{what}: {text}")
    print(f"{what}: ended after {took:.1f} s, exit {code}", flush=True)


def check_calibration():
    """A ring that was run here gives a calibration."""
    sizes = [2 ** k for k in range(14, 24)]
    paths = [schedule(f"c{s}.json", "ring", 4, "-s", s) for s in sizes]
    code, _, errors = run(*mpirun(4, *paths, "--table", "captured.txt", "--repetitions", "3"))
    expect(code == 0, f"captured run: exit {code}: {errors}")
    code, output, errors = run(collsim, "calibrate", "captured.txt", "-o", "machine.json")
    expect(code == 0 and "# schedule   ring" in output, f"calibrate: exit {code}: {output}{errors}")
    if code == 0:
        code, output, errors = run(collsim, "run", "-a", "ring,allpairs", "-n", 4, "-s", "1M", "--calibration",
                                   "machine.json", "--format", "json")
        expect(code == 0 and all(row["elapsed_s"] > 0 for row in json.loads(output)), f"run: {code}: {errors}")


CHECKS = {
    "replay": (check_replay,),
    "eager": (check_eager,),
    "errors": (check_wrong, check_bad_input),
    "results": (check_segments, check_links, check_late_and_trace, check_one_start),
    "death": (check_death,),
    "calibrate": (check_calibration,),
}


def main():
    global collsim, program
    if len(sys.argv) != 4 or sys.argv[3] not in CHECKS:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if shutil.which("mpirun") is None or "Open MPI" not in run("mpirun", "--version")[1]:
        print("skipped: there is no mpirun of Open MPI (openmpi-bin)")
        return 77
    collsim, program = (os.path.abspath(path) for path in sys.argv[1:3])
    folder = tempfile.mkdtemp(prefix="cs_mpi_")
    try:
        os.chdir(folder)
        for check in CHECKS[sys.argv[3]]:
            start = time.monotonic()
            check()
            print(f"{check.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    print("failed" if problems else "all as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
