#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on the testbed (traces/testbed.csv) against what is predicted today.

usage: testbed_cells.py COLLSIM_BINARY [--data FILE.csv]

Every cell is predicted again, with the schedule that collsim makes for it today: on ports with token buckets
(scripts/lib/testbed_ports.py), and by collsim itself, with the start-up time of the testbed and with none. Both must be what
is recorded, and the first must be near what was measured. No network is needed. Prints the errors by schedule, and whether
schedules come in the predicted order.
"""
import argparse
import csv
import importlib.machinery
import importlib.util
import itertools
import os
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
from simulators import percentile  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEDIAN, WORST = 0.01, 0.03      # of cells with disciplined ports
RECORDED_S = 1e-6               # a prediction of today differs from the recorded one by rounding alone


def load_testbed():
    """scripts/testbed as a module."""
    loader = importlib.machinery.SourceFileLoader("testbed", os.path.join(ROOT, "scripts", "testbed"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("testbed", loader))
    loader.exec_module(module)
    return module


def key(setting, cell):
    return (setting, cell.schedule, cell.ranks, cell.ranks // cell.gpus, cell.bytes, cell.nic / 1e6, str(cell.fault))


def key_of_row(row):
    setting = "-".join(row["setting"].split("-")[:3]) if row["setting"].startswith("leaf") else row["setting"]
    return (setting, row["schedule"], int(row["ranks"]), int(row["servers"]), int(row["bytes"]),
            float(row["rate_Mbps"]), row["fault"])


class Today:
    """The cells that the rows are of, each with its schedule and its predictions of today, made when they are asked for."""

    def __init__(self, testbed, binary, folder, rows):
        self.testbed, self.collsim, self.found = testbed, testbed.Collsim(binary, folder), {}
        wanted = {key_of_row(row) for row in rows}
        flat = [row for row in rows if row["setting"] == "flat"]
        options = argparse.Namespace(
            setting=["flat", "servers", "leaf-spine"], only="", all=True, bytes=sorted({int(row["bytes"]) for row in rows}),
            ranks=sorted({int(row["ranks"]) for row in rows}), rate=sorted({1e6 * float(row["rate_Mbps"]) for row in flat}))
        places = {known[:-1] for known in wanted}
        for cell in testbed.all_cells(options):
            setting = (f"leaf-spine-{cell.uplink / 1e6:g}" if cell.uplink else
                       f"servers-{testbed.INSIDE / 1e6:g}" if cell.gpus > 1 else cell.setting)
            if key(setting, cell)[:-1] not in places:
                continue
            _, schedule = self.collsim.schedule(cell)
            testbed.place_change(cell, schedule)
            if key(setting, cell) in wanted:
                self.found.setdefault(key(setting, cell), cell)

    def of(self, row):
        """(on buckets, by collsim, by collsim without start-up times) in seconds, or None where the cell is unknown."""
        cell = self.found.get(key_of_row(row))
        if cell is None:
            return None
        path, schedule = self.collsim.schedule(cell)
        if cell.uplink:
            return None
        alpha = self.testbed.ports.ALPHA_S
        by = []
        for start_s in (alpha, 0.0):
            self.testbed.ports.ALPHA_S = start_s
            by.append(self.collsim.elapsed_s(cell, path))
        self.testbed.ports.ALPHA_S = alpha
        return self.testbed.on_ports_s(cell, schedule), *by


def errors_of(rows, column):
    return sorted(abs(float(row[column]) / float(row["measured_s"]) - 1) for row in rows)


def line(name, rows, columns):
    cells = ["| %s | %d" % (name, len(rows))]
    for column in columns:
        errors = errors_of(rows, column)
        cells.append(" / ".join("%.2f" % (100 * v) for v in (percentile(errors, 0.5), percentile(errors, 0.9), errors[-1])))
    return " | ".join(cells) + " |"


def table(title, rows, columns, name_of):
    """Errors of the rows of each name: median / 90th percentile / worst, in per cent."""
    print("\n%s (%%: median / 90 %% / worst)\n| | cells | %s |\n|---|--:|%s" % (
        title, " | ".join(columns), "--:|" * len(columns)))
    for name in dict.fromkeys(name_of(row) for row in rows):
        print(line(name, [row for row in rows if name_of(row) == name], columns))
    print(line("all", rows, columns))


def order(rows):
    """Pairs of schedules that are predicted more than 5 % apart: how many are, and how many come in the other order."""
    places, wrong, pairs = {}, [], 0
    for row in rows:
        places.setdefault(key_of_row(row)[:1] + key_of_row(row)[2:], []).append(row)
    for one, two in itertools.chain(*(itertools.combinations(group, 2) for group in places.values())):
        predicted, measured = (float(one[c]) / float(two[c]) for c in ("predicted_s", "measured_s"))
        if abs(predicted - 1) > 0.05:
            pairs += 1
            if (predicted < 1) != (measured < 1):
                wrong.append("%s and %s: predicted %.3f, measured %.3f (%s)" % (
                    one["schedule"], two["schedule"], predicted, measured, key_of_row(one)))
    return pairs, wrong


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--data", default=os.path.join(ROOT, "traces", "testbed.csv"))
    o = arguments.parse_args()
    with open(o.data, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    failed, wire = [], []
    with tempfile.TemporaryDirectory() as folder:
        today = Today(load_testbed(), o.binary, folder, rows)
        for row in rows:
            predicted = today.of(row)
            if key_of_row(row) not in today.found:
                failed.append("%s: there is no such cell any more" % (key_of_row(row),))
            elif predicted is not None:
                row["wire_s"] = predicted[2]
                for name, value in zip(("predicted_s", "collsim_s"), predicted):
                    if abs(value - float(row[name])) > RECORDED_S:
                        failed.append("%s: %s is %.6f today, and was %s" % (key_of_row(row), name, value, row[name]))
    ports = [row for row in rows if "wire_s" in row]
    disciplined = [row for row in ports if row["transport"] == "disciplined"]
    for title, part, columns in (
            ("Disciplined, rates that hold", [row for row in disciplined if "@" not in row["fault"]], ("predicted_s", "wire_s")),
            ("Disciplined, rates that change", [row for row in disciplined if "@" in row["fault"]], ("predicted_s", "wire_s")),
            ("Eager", [row for row in ports if row["transport"] == "eager"], ("predicted_s",))):
        if part:
            table(title, part, columns, lambda row: row["schedule"])
    leaves = [row for row in rows if "wire_s" not in row]
    if leaves:
        table("Leaf and spine", leaves, ("predicted_s",), lambda row: "%(setting)s, %(transport)s" % row)
    errors = errors_of(disciplined, "predicted_s")
    if percentile(errors, 0.5) > MEDIAN or errors[-1] > WORST:
        failed.append("disciplined cells: %.2f %% off in the median, %.2f %% at most" % (
            100 * percentile(errors, 0.5), 100 * errors[-1]))
    print("\n%d disciplined cells: %.2f %% off in the median, %.2f %% at most" % (
        len(errors), 100 * percentile(errors, 0.5), 100 * errors[-1]))
    pairs, wrong = order([row for row in disciplined if "@" not in row["fault"]])
    print("\n%d cells; %d pairs of schedules are predicted more than 5 %% apart, %d of them came in the other order"
          % (len(rows), pairs, len(wrong)))
    print("".join("FAILED %s\n" % text for text in failed + wrong), end="")
    return bool(failed or wrong)


if __name__ == "__main__":
    sys.exit(main())
