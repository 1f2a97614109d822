#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of other kinds: one scenario, one algorithm, rows that make no grid, rows that failed, rows without
times, before and after a fault, a trace, no timeline; and what is thinned or refused beyond each limit.

usage: kinds.py COLLSIM_BINARY
"""
import csv
import os
import subprocess

import harness
from harness import Browser, COLLSIM, FOLDER, Page, SOURCES, expect, plain, same, unpack

browser = None


def shown(page, what):
    """The sections that are shown; the console must be empty."""
    browser.open(page)
    browser.settle()
    same(browser.console(), [], f"{what}: console")
    return browser.js("return [...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id)")


def rows_file(name, heads, rows):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows])
    return path


def one_scenario():
    page = Page("-a", "ring,stragglar", "-n", "8", "-s", "1G", "--late", "3=4ms")
    ids = shown(page, "one scenario")
    expect("when" not in ids and "explore" not in ids, f"one scenario has no map and no curves: {ids}")
    expect({"answer", "timeline", "bounds", "rows", "source"} <= set(ids), f"one scenario: {ids}")
    same(len(browser.find_all("#answer .num")), 0, "one scenario: numbers to drag")
    same(plain(browser.text("#verdict")), plain(page.text("verdict")), "one scenario: sentence")
    page = Page("-a", "ring", "-n", "8", "-s", "1G", "--no-timeline")
    ids = shown(page, "no timeline")
    expect("timeline" not in ids and "grid" not in ids and "links" not in ids, f"no timeline: {ids}")


def one_algorithm():
    page = Page("-a", "stragglar", "-n", "4,8,16", "-s", "1M:1G:x32", "--late", "3=100us,1ms")
    ids = shown(page, "one algorithm")
    expect("when" not in ids, f"one algorithm: no map of the best: {ids}")
    expect("explore" in ids and "timeline" in ids, f"one algorithm: {ids}")
    text = plain(browser.text("#answer"))
    expect(not any("faster than" in tile for tile in browser.texts("#tiles .tile")), f"one algorithm is compared with another: {text}")
    expect("above the proven bound" in text, f"one algorithm: the bound is not named: {text}")


def irregular():
    """Rows that make no grid: each move leads to a setting that is there."""
    rows = [[a, n, b, (k + 1) * 1e-3 + n * 1e-5 + b * 1e-12] for k, a in enumerate(("ring", "rhd"))
            for n, b in ((4, 1024), (8, 1024), (8, 4096), (16, 65536), (32, 1024), (32, 65536))]
    page = Page(rows_file("irregular.csv", ["algorithm", "ranks", "bytes", "exposed_s"], rows))
    same(page.n, 6, "irregular: settings")
    ids = shown(page, "irregular")
    expect("when" in ids and "rows" in ids, f"irregular: {ids}")
    known = [tuple(page.values(s).values()) for s in range(page.n)]
    for d in (0, 1):
        browser.focus(f'#answer .num[data-dim="{d}"]')
        for key in (harness.Keys.HOME, *[harness.Keys.ARROW_RIGHT] * 4, *[harness.Keys.ARROW_LEFT] * 4, harness.Keys.END):
            before = browser.js("return collsim.state.setting")
            browser.press(key)
            setting = browser.js("return collsim.state.setting")
            now = browser.js("return collsim.sweep.dims.map((_, k) => Number(document.querySelector(`#answer .num[data-dim='${k}']`)"
                             ".getAttribute('aria-valuenow')))")
            same(tuple(page.dims[k]["values"][w] for k, w in enumerate(now)), known[setting], "irregular: numbers")
            if key == harness.Keys.ARROW_RIGHT and before != setting:
                expect(known[setting][d] >= known[before][d], "irregular: an arrow to the right goes to the left")


def failed_rows():
    rows = []
    for k, a in enumerate(("ring", "rhd", "allpairs")):
        for n in (4, 8, 16):
            for b in (1024, 4096):
                bad = a == "rhd" and n == 8 or n == 16 and b == 4096
                rows.append([a, n, b, "" if bad else (k + 1) * 1e-3 * n, "cannot do 8 <ranks>" if bad else "", "" if bad else "true"])
    page = Page(rows_file("failed.csv", ["algorithm", "ranks", "bytes", "exposed_s", "error", "verified"], rows),
                "--show", "ranks=8,bytes=4096")
    ids = shown(page, "failed rows")
    expect("when" in ids, f"failed rows: {ids}")
    cells = page.state
    same(sum(1 for s in cells if s == 3), 5, "failed rows: cells that failed")
    expect("✗" in browser.text("#ranking"), "failed rows: the ranking has no mark")
    expect("cannot do 8 <ranks>" in browser.text("#ranking"), "failed rows: the ranking has no reason")
    browser.js("const f = document.querySelector('#rows input'); f.value = 'cannot'; f.dispatchEvent(new Event('input'));")
    browser.wait("return collsim.state.filter === 'cannot'", "the filter")
    same(plain(browser.text("#rows .count")), "5 rows", "failed rows: rows with that reason")
    browser.js("collsim.change({setting: collsim.setting_at([2, 1])});")
    sentence = plain(browser.text("#verdict"))
    own = Page(os.path.join(FOLDER, "failed.csv"), "--show", "ranks=16,bytes=4096")
    same(sentence, plain(own.text("verdict")), "failed rows: the sentence where nothing ran")
    hatched = browser.js("return [...document.querySelectorAll('#when .map path')].filter(p => (p.getAttribute('fill') || '').startsWith('url(')).length")
    expect(hatched >= 1, "failed rows: the map hatches nothing")


def before_and_after():
    page = Page("-a", "nccl_rings,r2ccl,optcc", "-n", "16", "-g", "8", "-s", "1G", "--kill-nic", "1.0")
    ids = shown(page, "a dead NIC")
    dims = {d["name"]: d["values"] for d in page.dims}
    same(len(dims["faults"]), 2, "a dead NIC: before and after")
    texts = []
    for key in (harness.Keys.HOME, harness.Keys.END):
        browser.focus('#answer .num')
        browser.press(key)
        texts.append(plain(browser.text("#verdict")))
    expect(texts[0] != texts[1] and any("dead" in t for t in texts), f"a dead NIC: sentences {texts}")
    expect("timeline" in ids, f"a dead NIC: {ids}")
    slow = [r for r in page.data["runs"] if r["slow"]]
    expect(slow, "a dead NIC: no run has a slow rank")
    views = browser.js("const s = document.querySelector('#timeline select'); return s ? [...s.options].map(o => o.textContent) : [];")
    same(len(views), len(page.data["views"]) if len(page.data["views"]) > 1 else 0, "a dead NIC: views")
    for k in range(len(views)):
        browser.js("const s = document.querySelector('#timeline select'); s.value = arguments[0];"
                   "s.dispatchEvent(new Event('change'));", str(k))
        browser.wait(f"return collsim.state.view === {k} && collsim.timeline.view().runs.length === "
                     f"{len(page.data['views'][k]['runs'])}", f"view {k}")


def a_trace():
    log = os.path.join(SOURCES, "traces", "generated-stragglar4.log")
    page = Page("--trace", log)
    ids = shown(page, "a trace")
    expect("late" in ids and "source" in ids, f"a trace: {ids}")
    late = page.data["late"]
    worst = max(late["ranks"], key=lambda r: r["last_ratio"])
    browser.js("for (const d of document.querySelectorAll('#late details')) d.open = true;")
    browser.wait("return document.querySelectorAll('#late tbody tr').length > 0", "the table of who is late")
    text = plain(browser.text("#late"))
    expect(f"GPU {worst['rank']} comes last in" in text, f"a trace: who is late is not said: {text[:200]}")
    rows = browser.js("return [...document.querySelectorAll('#late tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    expect(len(rows) >= len(late["ranks"]), f"a trace: {len(rows)} rows of {len(late['ranks'])} ranks")
    same(plain(browser.text("#verdict")), plain(page.text("verdict")), "a trace: sentence")


def limits():
    """One beyond each limit; the page and standard output say what was left out."""
    rows = [["ring", n, b, 1e-3] for n in range(2, 203) for b in range(1024, 1024 + 4 * 300, 4)]
    same(len(rows) > 60000, True, "rows beyond the limit")
    whole = rows[:60000]
    page = Page(rows_file("whole.csv", ["algorithm", "ranks", "bytes", "exposed_s"], whole))
    same(page.data.get("thinned"), [], "60,000 rows: what is left out")
    same(page.n, 60000, "60,000 rows: settings")
    page = Page(rows_file("more.csv", ["algorithm", "ranks", "bytes", "exposed_s"], rows[:60001]))
    expect(page.n <= 60000, f"60,001 rows: {page.n} settings")
    browser.open(page)
    said = " ".join(page.data["thinned"])
    expect("60,001" in said or "rows" in said, f"60,001 rows: {said!r}")
    expect(all(plain(t) in plain(browser.text("#source")) for t in page.data["thinned"]), "60,001 rows: not said on the page")
    expect("left out" in page.said or "thinned" in page.said.lower() or said in page.said, f"60,001 rows: said only {page.said!r}")

    page = Page("-a", "stragglar", "-n", "256", "-s", "4G", "--late", "100=20ms")
    run = page.data["runs"][0]
    expect(run["transfers"] > 100000 >= run["c"]["start"]["n"], f"{run['transfers']} transfers: {run['c']['start']['n']} in the page")
    expect(run["thinned"], "a thinned timeline does not say so")
    critical = unpack(run["critical"])
    expect(critical and max(critical) < run["c"]["start"]["n"], "the critical path of a thinned timeline")
    sender = unpack(run["c"]["from"])
    expect(100 in sender, "the late rank is left out of a thinned timeline")
    shown(page, "a thinned timeline")
    expect(plain(run["thinned"]) in plain(browser.text("#timeline")), "a thinned timeline: not said below it")
    expect(any(run["thinned"] in t for t in page.data["thinned"]), "a thinned timeline is not among what is left out")
    expect(run["thinned"] in page.said, f"a thinned timeline: said only {page.said!r}")

    heads = ["algorithm", *[f"options.o{k}" for k in range(7)], "exposed_s"]
    seven = [["ring", *[int(j == k) for j in range(7)], 1e-3 * (k + 1)] for k in range(8)]
    run = subprocess.run([COLLSIM, "report", rows_file("seven.csv", heads, seven), "-o", os.path.join(FOLDER, "seven.html")],
                         capture_output=True, text=True)
    same(run.returncode, 2, "seven axes: exit")
    expect("--where" in run.stderr and len(run.stderr.splitlines()) == 1, f"seven axes: {run.stderr!r}")
    expect(not os.path.exists(os.path.join(FOLDER, "seven.html")), "seven axes: a page was written")
    six = Page(rows_file("six.csv", [h for h in heads if h != "options.o6"], [r[:7] + r[8:] for r in seven[:7]]))
    same(len(six.dims), 6, "six axes")
    shown(six, "six axes")
    same(len(browser.find_all("#answer .num")), 6, "six axes: numbers to move")


def main():
    global browser
    browser = Browser()
    for test in (one_scenario, one_algorithm, irregular, failed_rows, before_and_after, a_trace, limits):
        test()
    same(browser.console(), [], "the console")


harness.run(main)
