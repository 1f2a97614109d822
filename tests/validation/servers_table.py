#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of StragglAR over servers in sim/doc/stragglar.md is what the figure servers-table says.

usage: servers_table.py COLLSIM_BINARY [--write]
With --write the table in the page is replaced by what the figure gives now.
"""
import csv
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "sim", "doc", "stragglar.md")
HEAD = "| buffer | servers x GPUs | C | stragglar | bound | / bound | hierarchical | parallel_rings | fastest without a late rank | less, % |\n"
RULE = "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"


def rows(binary):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, COLLSIM_FIGURES=os.path.join(ROOT, "configs", "figures"))
        subprocess.run([binary, "figure", "servers-table", "-o", folder], check=True, env=env, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "servers-table.csv"), newline="", encoding="utf-8") as f:
            return list(csv.DictReader(line for line in f if not line.startswith("#")))


def us(text):
    return "%.0f" % float(text) if float(text) >= 100 else "%.1f" % float(text)


def best_of(row):
    has_segments = row["best_name"] in ("hierarchical", "parallel_rings")
    return "%s %s%s" % (us(row["best_us"]), row["best_name"], "/" + row["best_segments_count"] if has_segments else "")


def line_of(row):
    size, cluster = row["label"].split("; ")
    cells = [size, cluster, row["chunks_count"] if row["form"] != "tree" else "tree",
             us(row["stragglar_us"]), us(row["bound_us"]), "%.2f" % float(row["over_bound_1"]),
             us(row["hierarchical_us"]), us(row["parallel_rings_us"]), best_of(row),
             "%.0f" % abs(float(row["less_percent"]))]
    return "| " + " | ".join(cells) + " |\n"


def main():
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    begin = page.index(HEAD)
    end = page.index("\n\n", begin) + 1
    table = HEAD + RULE + "".join(line_of(r) for r in rows(sys.argv[1]))
    if "--write" in sys.argv[2:]:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(page[:begin] + table + page[end:])
        return 0
    if page[begin:end] != table:
        print("servers_table: %s has another table than the figure servers-table; run it with --write" % PAGE)
        return 1
    print("servers_table: %d rows are those of the figure" % (table.count("\n") - 2))
    return 0


sys.exit(main())
