#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bar of a command on a terminal: it comes after a second, goes when the command ends, and changes no result.

usage: progress.py COLLSIM
"""
import os
import pty
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAR = re.compile(rb"^\[[#.]{30}\] montecarlo: (\d+) of \d+, \d+ %(, about \d+ \w+ left)? *$")

binary = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__.strip())
problems = []


def expect(condition, message):
    if not condition:
        problems.append(message)


def on_terminal(*words):
    """(standard output, what the terminal got) of a command whose standard error is a terminal"""
    master, slave = pty.openpty()
    with subprocess.Popen([binary, *words], cwd=SOURCE, stdout=subprocess.PIPE, stderr=slave) as run:
        os.close(slave)
        written = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # nobody has the other end any more
                break
            if not piece:
                break
            written += piece
        output = run.stdout.read()
        expect(run.wait() == 0, f"{words}: exit {run.returncode}: {written!r}")
    os.close(master)
    return output, written


# As many iterations as take more than a second on this machine.
iterations, written = 5000, b""
while not written and iterations <= 10**8:
    iterations *= 4
    command = ("montecarlo", "configs/montecarlo-arrivals.json", "--replay", "-j", "1", "-i", str(iterations))
    output, written = on_terminal(*command)
bars = written.split(b"\r")
expect(bars[0] == b"" and bars[-1] == b"", f"the bar is not drawn in its line: {written!r}")
expect(len(bars) > 3 and bars[-2].strip() == b"", f"the bar does not go: {bars[-2:]}")
found = [BAR.match(bar) for bar in bars[1:-2]]
expect(found and all(found), f"no bars: {bars[1:-2]}")
done = [int(match.group(1)) for match in found if match]
expect(done == sorted(done), f"it goes back: {done}")
quiet, nothing = on_terminal(*command, "-q")
expect(nothing == b"" and quiet == b"", f"-q says {nothing!r}, {quiet!r}")
ran = subprocess.run([binary, *command], cwd=SOURCE, capture_output=True, check=False)
expect(not re.search(rb"[\r\[]", ran.stderr), f"a bar where there is no terminal: {ran.stderr!r}")
expect(output and output == ran.stdout, "the progress changes the results")
print("\n".join(problems) if problems else f"{len(bars) - 3} bars for {iterations} iterations")
sys.exit(1 if problems else 0)
