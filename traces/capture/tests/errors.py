#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capture program says and does when something is wrong.

usage: errors.py COLLSIM TESTBED
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

LIMIT_S = 60


class Failed(Exception):
    pass


def claim(holds, message):
    if not holds:
        raise Failed(message)


class Cases:
    def __init__(self, collsim, testbed, folder):
        self.collsim, self.testbed, self.folder = collsim, testbed, folder
        self.ring = self.schedule("ring", "-n", "4", "-s", "4096")
        with open(self.ring, encoding="utf-8") as file:
            self.text = file.read()

    def schedule(self, *arguments):
        path = os.path.join(self.folder, "%s.json" % "-".join(a.strip("-") for a in arguments))
        subprocess.run([self.collsim, "schedule", *arguments, "--format", "json", "-o", path], check=True)
        return path

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *arguments):
        return subprocess.run([self.testbed, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)

    def refuse(self, code, words, *arguments):
        """One line on standard error with these words, this exit code, nothing else."""
        run = self.run(*arguments)
        claim(run.returncode == code, "%s: exit code %d, not %d: %s"
              % (" ".join(arguments), run.returncode, code, run.stderr))
        lines = run.stderr.splitlines()
        claim(len(lines) == 1, "%s: not one line: %r" % (" ".join(arguments), run.stderr))
        for word in words:
            claim(word in lines[0], "%s: %r does not say %r" % (" ".join(arguments), lines[0], word))
        return run

    # ---- files ----

    def test_no_file(self):
        self.refuse(3, ["nowhere.json", "No such file"], "nowhere.json")

    def test_no_json(self):
        self.refuse(2, ["bad.json:1:"], self.file("bad.json", "ring of four"))

    def test_cut_file(self):
        for part in (0.1, 0.5, 0.9, 0.99):
            text = self.text[:int(len(self.text) * part)]
            line = "cut.json:%d:" % (text.count("\n") + 1)
            self.refuse(2, [line if part < 0.99 else "cut.json:"], self.file("cut.json", text))

    def test_bad_key(self):
        text = self.text.replace('"dst": 2', '"dst": 9', 1)
        self.refuse(2, ["key.json:5:", "transfers[1].dst", "9", "[0, 3]"], self.file("key.json", text))
        text = self.text.replace('"round": 0, "src"', '"round": 0, "form"', 1)
        self.refuse(2, ["key.json:4:", "form"], self.file("key.json", text))

    def test_chunk_of_two_sizes(self):
        text = self.text.replace('"op": "copy"', '"op": "copy", "bytes": 4000', 1)
        self.refuse(2, ["sizes.json", "bytes", "one size"], self.file("sizes.json", text))

    def test_more_than_the_memory(self):
        text = self.text.replace('"bytes": 4096', '"bytes": 1000000000000000')
        self.refuse(2, ["huge.json", "bytes", "GB"], self.file("huge.json", text))

    def test_too_many_ranks(self):
        self.refuse(2, ["many.json", "ranks", "1024"],
                    self.file("many.json", self.text.replace('"ranks": 4', '"ranks": 1025')))

    # ---- wrong schedules ----

    def test_wrong_schedule(self):
        for old, new in (('"op": "reduce"', '"op": "copy"'), ('"op": "copy"', '"op": "reduce"')):
            path = self.file("wrong.json", self.text.replace(old, new, 1))
            self.refuse(1, ["wrong.json", "wrong numbers", "allreduce"], path, "--quiet")
            table = self.run(path).stdout.splitlines()[-1].split()
            claim(int(table[8]) > 0 and table[8] == table[12], "#wrong is %r" % table)

    def test_lost_transfer(self):
        lines = self.text.split("\n")
        for lost in range(3, len(lines) - 3):
            path = self.file("lost.json", "\n".join(lines[:lost] + lines[lost + 1:]))
            self.refuse(1, ["wrong numbers"], path, "--quiet")

    def test_right_after_wrong(self):
        wrong = self.file("first.json", self.text.replace('"op": "reduce"', '"op": "copy"', 1))
        results = os.path.join(self.folder, "both")
        self.refuse(1, ["first.json"], wrong, self.ring, "--quiet", "--json", results)
        with open(results, encoding="utf-8") as file:
            runs = json.load(file)["runs"]
        claim(runs[0]["wrong"] > 0 and runs[1]["wrong"] == 0, "wrong: %r" % [r["wrong"] for r in runs])

    # ---- what breaks ----

    def test_rank_dies(self):
        long = self.schedule("ring", "-n", "5", "-s", "64M")
        for rank, at in ((0, "10ms"), (3, "0s"), (4, "20ms")):
            begin = time.monotonic()
            self.refuse(3, ["ring", "rank %d" % rank, "connection"], long, "--cut", "%d=%s" % (rank, at))
            claim(time.monotonic() - begin < LIMIT_S / 2, "it took long to notice")

    def test_rank_dies_without_discipline(self):
        long = self.schedule("allpairs", "-n", "5", "-s", "64M")
        self.refuse(3, ["connection"], long, "--eager", "--cut", "2=10ms")

    def test_nothing_moves(self):
        long = self.schedule("ring", "-n", "3", "-s", "64M")
        self.refuse(3, ["had not ended 0.005 s"], long, "--timeout", "5ms")

    def test_late_rank_does_not_hold_up_the_end(self):
        long = self.schedule("ring", "-n", "4", "-s", "64M")
        begin = time.monotonic()
        self.refuse(3, ["connection"], long, "--late", "1=600s", "--cut", "3=10ms")
        claim(time.monotonic() - begin < LIMIT_S / 2, "it waited for a rank that comes much later")

    def test_failing_command(self):
        self.refuse(3, ["'false' failed with status 1"], self.ring, "--at", "0s=false", "--late", "0=100ms")
        self.refuse(3, ["'exit 4'", "ended"], self.ring, "--before", "exit 4")
        self.refuse(3, ["'sleep 1000'", "ended"], self.ring, "--at", "0s=sleep 1000", "--late", "0=50ms")
        self.refuse(3, ["namespace" if os.getuid() != 0 else "cannot enter", "rank"], self.ring, "--netns",
                    "no-such-namespace-{rank}")

    def test_places(self):
        four, nowhere = ["--places", "7,302,5,6"], "no-such-namespace-{rank}"
        self.refuse(2, ["--places", "3 places", "4 ranks"], self.ring, "--places", "0,1,2")
        self.refuse(3, ["cannot enter", "no-such-namespace-302", "for rank 1"], self.ring, *four, "--netns", nowhere)
        self.refuse(2, ["'303.0.0.1' of rank 1"], self.ring, *four, "--address", "{host}.0.0.1")
        claim(self.run(self.ring, *four[:1], "9,0,4,2", "--address", "127.0.0.{host}").returncode == 0, "four other places")

    def test_unwritable(self):
        self.refuse(3, ["nowhere/x"], self.ring, "--quiet", "--json", os.path.join(self.folder, "nowhere", "x"))

    def test_nothing_half_written(self):
        kept = self.file("kept.json", "mine")
        self.refuse(3, ["connection"], self.schedule("ring", "-n", "3", "-s", "64M"), "--cut", "1=0s", "--json", kept)
        with open(kept, encoding="utf-8") as file:
            claim(file.read() == "mine", "a failed run has touched its results")
        claim(not [f for f in os.listdir(self.folder) if "kept.json" in f and f != "kept.json"], "a file is left")

    def test_results_in_the_place_of_something(self):
        """No option writes over a schedule that is run, by whatever name, nor over another's results."""
        link = os.path.join(self.folder, "link.json")
        os.symlink(self.ring, link)
        for option in ("--json", "--table", "--trace"):
            for name in (self.ring, os.path.join(self.folder, ".", os.path.basename(self.ring)), link):
                self.refuse(2, [option, "is a schedule"], self.ring, option, name)
        both = os.path.join(self.folder, "two")
        self.refuse(2, ["--trace", "--json already"], self.ring, "--json", both, "--trace", both)
        claim(not os.path.exists(both), "a file was written")
        with open(self.ring, encoding="utf-8") as file:
            claim(file.read() == self.text, "the schedule was changed")

    def test_few_descriptors(self):
        """Whichever call finds no descriptor left says so, and nothing stays open or half-written."""
        kept = os.path.join(self.folder, "few")
        limits = range(5, 40, 3)
        for limit in limits:
            run = subprocess.run(["sh", "-c", 'ulimit -n %d; exec "$@"' % limit, "sh", self.testbed, self.ring,
                                  "--quiet", "--json", kept], capture_output=True, text=True, timeout=LIMIT_S, check=False)
            claim(run.returncode in (0, 3, 127), "%d descriptors: exit code %d" % (limit, run.returncode))
            claim(run.returncode == 127 or len(run.stderr.splitlines()) == (run.returncode != 0), run.stderr)
            claim(run.returncode != 3 or not os.path.exists(kept), "%d descriptors: results are left" % limit)
            if run.returncode == 0:
                break
        claim(run.returncode == 0 and limit > limits[0], "it never failed, or always: %d" % limit)

    def test_little_memory(self):
        """Whatever asks for memory or a thread and gets none, there is one line and no crash."""
        codes = set()
        for limit in range(4, 200, 14):
            run = subprocess.run(["sh", "-c", 'ulimit -v %d; exec "$@"' % (limit << 10), "sh", self.testbed, self.ring,
                                  "--quiet"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
            claim(run.returncode in (0, 3, 127), "%d MiB: exit code %d: %s" % (limit, run.returncode, run.stderr))
            claim(run.returncode == 127 or len(run.stderr.splitlines()) == (run.returncode != 0), run.stderr)
            codes.add(run.returncode)
        claim({0, 3} <= codes, "exit codes %s" % codes)

    # ---- the command line ----

    def test_arguments(self):
        for words, arguments in (
                (["no schedule"], []), (["--late", "RANK=TIME"], ["--late", "3"]),
                (["--late"], ["--late", "3=soon"]), (["--late", "1 h"], ["--late", "3=2e9"]),
                (["--late", "no rank 4 among 4"], ["--late", "4=1ms"]),
                (["--cut", "no rank 9"], ["--cut", "9=1ms"]), (["--repetitions"], ["--repetitions", "0"]),
                (["--repetitions", "missing"], ["--repetitions"]), (["unknown option '--frobnicate'"], ["--frobnicate"]),
                (["--machine", "word"], ["--machine", "two words"]), (["--at", "TIME=COMMAND"], ["--at", "true"]),
                (["--places", "twice"], ["--places", "0,2,1,2"]), (["--places", "'x'"], ["--places", "0,x"]),
                (["--places", "0,3,6"], ["--places", "0,00000000000000000001"]), (["--places"], ["--places", "0,,1"]),
                (["--eager", "no value"], ["--eager=1"]), (["address", "numeric"], ["--address", "localhost:1"]),
                (["--prime"], ["--prime", "much"]), (["--priority"], ["--priority", "100"]),
                (["--late", "rank 1 is given twice"], ["--late", "1=1ms", "--late", "1=2ms"]),
                (["--trace", "one schedule"], [self.ring, "--trace", "t"])):
            self.refuse(2, words, *([self.ring] if arguments else []), *arguments)

    def test_manual(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "collsim-testbed.1")
        with open(page, encoding="utf-8") as file:
            described = set(re.findall(r"^\.It Fl -([a-z-]+)", file.read(), re.M))
        shown = set(re.findall(r"^  --([a-z-]+)", self.run("--help").stdout, re.M))
        claim(shown == described, "in the help or in the manual only: %s" % ", ".join(sorted(shown ^ described)))

    # ---- what must work ----

    def test_results(self):
        results, trace = os.path.join(self.folder, "r"), os.path.join(self.folder, "t")
        run = self.run(self.ring, "--json", results, "--trace", trace, "--late", "2=20ms", "--machine", "box",
                       "--at", "1ms=true", "--repetitions", "3")
        claim(run.returncode == 0, run.stderr)
        lines = run.stdout.splitlines()
        claim(lines[0] == "# collsim-capture 1 collective allreduce schedule ring ranks 4 machine box", lines[0])
        with open(results, encoding="utf-8") as file:
            got = json.load(file)["runs"][0]
        claim(got["late"] == [{"rank": 2, "late_s": 0.02}], "late: %r" % got["late"])
        claim(len(got["repetitions"]) == 3 == len(got["changes"]), "repetitions: %r" % got)
        for repetition, changes in zip(got["repetitions"], got["changes"]):
            claim(repetition["makespan_s"] > 0.02, "a ring does not end before its late rank came")
            claim(abs(repetition["makespan_s"] - repetition["exposed_s"] - 0.02) < 1e-9, "exposed: %r" % repetition)
            claim(max(repetition["rank_end_s"]) == repetition["makespan_s"], "ends: %r" % repetition)
            claim(0.001 <= changes[0]["begin_s"] <= changes[0]["end_s"], "changes: %r" % changes)
        spans = got["makespan_s"]
        claim(spans["min"] <= spans["median"] <= spans["max"], "summary: %r" % spans)
        with open(trace, encoding="utf-8") as file:
            slices = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        claim(len(slices) == 2 * 3 * got["messages"], "%d slices" % len(slices))

    def test_disciplined_exchange(self):
        """With port discipline no port has two messages at once, in any repetition."""
        trace = os.path.join(self.folder, "x")
        run = self.run(self.schedule("stragglar", "-n", "8", "-s", "1M"), "--trace", trace, "--quiet")
        claim(run.returncode == 0, run.stderr)
        rows = {}
        with open(trace, encoding="utf-8") as file:
            for event in json.load(file)["traceEvents"]:
                if event["ph"] == "X":
                    rows.setdefault((event["pid"], event["tid"]), []).append(
                        (event["ts"], event["ts"] + event["dur"]))
        for row, slices in rows.items():
            slices.sort()
            for (_, end), (begin, _) in zip(slices, slices[1:]):
                claim(begin >= end - 0.002, "row %r: a message begins before the one before it ends" % (row,))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(sys.argv[1], sys.argv[2], folder)
        names = [name for name in dir(cases) if name.startswith("test_")]
        for name in names:
            try:
                getattr(cases, name)()
            except (Failed, subprocess.SubprocessError) as why:
                print("%s: %s" % (name, why))
                failed += 1
    print("%d passed, %d failed" % (len(names) - failed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
