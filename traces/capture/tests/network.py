#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/testbed on a real network of namespaces: what it writes, its exit codes, and that nothing ever stays.

usage: network.py COLLSIM COLLSIM-TESTBED

Exit code 77: there can be no namespaces here, or another testbed is running.
"""
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PREFIX = "collsim-testbed-"
QUICK = ("--setting", "flat", "--ranks", "4", "--bytes", "1M", "--only", "flat 4 ring 1M 200Mb/s slow", "--repetitions", "1",
         "--gate", "20")


def command(*options):
    return [os.path.join(ROOT, "scripts", "testbed"), "--collsim", sys.argv[1], "--program", sys.argv[2], *options]


def run(*options, before=()):
    return subprocess.run([*before, *command(*options)], text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def namespaces():
    text = subprocess.run(["ip", "netns", "list"], text=True, stdout=subprocess.PIPE, check=True).stdout
    return [line for line in text.splitlines() if line.startswith(PREFIX)]


def folders():
    return [name for name in os.listdir(tempfile.gettempdir()) if name.startswith(PREFIX)]


def expect(is_so, what):
    if not is_so:
        sys.exit(f"network: {what}")


def interrupted(number):
    """The exit code of a run that gets a signal while it measures."""
    process = subprocess.Popen(command("--setting", "flat", "--ranks", "4"), text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while process.poll() is None and not namespaces() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(2)
    expect(process.poll() is None and namespaces(), "it did not begin")
    process.send_signal(number)
    process.communicate()
    return process.returncode


def check_results(folder):
    path = os.path.join(folder, "cells.csv")
    done = run(*QUICK, "-o", path)
    if done.returncode == 77 or "another testbed" in done.stderr:
        print(done.stdout + done.stderr)
        sys.exit(77)
    expect(done.returncode == 0, f"a cell: {done.returncode}, {done.stdout}{done.stderr}")
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expect(len(rows) == 3 and {row["transport"] for row in rows} == {"disciplined"}, rows)
    # A ring takes 0.065 s, and twice as long around a NIC of half its rate; less if that is so for a while only.
    still, later, a_while = (float(row["measured_s"]) for row in rows)
    expect(0.12 < still < 0.14 and 0.07 < a_while < later < 0.9 * still, f"{still}, {later}, {a_while} s are no such rings")
    expect(not namespaces() and not folders(), "something stayed after a run")


def check_gate():
    done = run(*QUICK, "--gate", "0.001")
    expect(done.returncode == 1 and "run once more" in done.stdout and "FAILED: flat 4 ring" in done.stdout,
           f"a cell beyond the gate: {done.returncode}, {done.stdout}{done.stderr}")


def check_signals():
    expect(interrupted(signal.SIGTERM) == 3, "SIGTERM: the exit code is not 3")
    expect(not namespaces() and not folders(), "something stayed after SIGTERM")
    expect(interrupted(signal.SIGKILL) == -signal.SIGKILL, "it was not killed")
    expect(namespaces() and folders(), "a killed run leaves nothing: this test tests nothing")
    done = run(*QUICK)
    expect(done.returncode == 0, f"after a killed run: {done.returncode}, {done.stdout}{done.stderr}")
    expect(not namespaces() and not folders(), "what a killed run left stayed")


def check_refusals():
    done = run("--only", "no cell is called this")
    expect(done.returncode == 2 and "no cell has" in done.stderr, f"no cells: {done}")
    done = run("--setting", "moon")
    expect(done.returncode == 2 and "flat, servers, leaf-spine" in done.stderr, f"a setting that there is not: {done}")
    done = run("--ranks", "0")
    expect(done.returncode == 2 and "accepted are 4 to 16" in done.stderr, f"no ranks: {done}")
    if shutil.which("setpriv"):
        done = run(*QUICK, before=("setpriv", "--reuid", "65534", "--clear-groups"))
        expect(done.returncode == 77 and "skipped: not root" in done.stdout, f"without root: {done}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_results(folder)
    check_gate()
    check_signals()
    check_refusals()
    print("network: a cell, the gate, two signals and four refusals: all as they should be")


if __name__ == "__main__":
    main()
