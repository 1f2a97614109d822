#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown on hover is what the program computed: cells of the map, points of curves, bars of the
timeline. The timeline's transfers are those of `run --trace`, its critical path and reasons those of
`run --explain`. The search for the transfer under the pointer finds what a look at all of them finds.

usage: hover.py COLLSIM_BINARY
"""
import json
import os
import random
import re

import harness
from harness import Browser, FOLDER, Page, collsim, expect, plain, same, unpack

SWEEP = ("-a", "ring,rhd,allpairs,stragglar", "-n", "8,16", "-s", "64K:1G:x128", "--late", "3=10us:10.24ms:x4",
         "--show", "ranks=8,bytes=1G,arrivals.late[0].delay_s=2.56ms")
# options of a run, its algorithms, and what shares ports
RUNS = ((("-n", "8", "-s", "1G", "--late", "3=2.56ms"), "ring,stragglar", "ports of one"),
        (("-n", "8", "-s", "1G", "--late", "3=2.56ms"), "ring,rhd", "exchanges"),
        (("-m", "flow", "-n", "8", "-g", "4", "-s", "256M", "--late", "7=1ms"), "ring,stragglar", "shared ports"),
        (("-m", "flow", "-n", "8", "-s", "256M", "--late", "7=1ms"), "ring,allpairs", "ports shared by many"))
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
browser = None


def seconds_of(text):
    number, unit = plain(text).split(" ")
    return float(number.replace(",", "")) * UNITS[unit]


def near(text, value, what):
    """A time as it is shown has three digits."""
    expect(abs(seconds_of(text) - value) <= 0.0051 * abs(value) + 1e-15, f"{what}: {text!r} is shown for {value}")


def middle_of(selector, script):
    """A place of the window: what a script says of an svg's own coordinates."""
    return browser.js(f"""
        const svg = document.querySelector(arguments[0]);
        svg.scrollIntoView({{block: 'center', behavior: 'instant'}});
        const b = svg.getBoundingClientRect(), k = b.width / svg.viewBox.baseVal.width, [x, y] = (svg => {{ {script} }})(svg);
        return [b.x + x * k, b.y + y * k];""", selector)


def rows_of_tip():
    return browser.js("return [...document.querySelectorAll('#tip tr')].map(r => [...r.cells].map(c => c.textContent))")


def check_tip(page, setting, what, measure="exposed_s"):
    """The tip has each schedule's value of a setting, best first."""
    rows = rows_of_tip()
    by_title = {look["title"]: name for name, look in page.data["looks"].items()}
    names = [by_title.get(r[0]) for r in rows if r[0] in by_title]
    values = [page.value(measure, setting, n) for n in names]
    same(len(names), len(page.algorithms), f"{what}: schedules in the tip")
    same(values, sorted(values), f"{what}: order of the tip")
    for (title, text), value in zip(rows, values):
        near(text, value, f"{what}: {title}")
    bounds = [r[1] for r in rows if r[0] == "proven bound"]
    if expect(len(bounds) == 1, f"{what}: no bound in the tip"):
        near(bounds[0], page.value("bound_exposed_s", setting, names[0]), f"{what}: bound")


def maps_and_curves(page):
    x, y, z = browser.js("const m = document.querySelector('#when .map svg').map; return [m.x, m.y, 3 - m.x - m.y];")
    start = browser.js("return collsim.sweep.place.map(p => p[collsim.state.setting])")
    nx, ny = len(page.dims[x]["values"]), len(page.dims[y]["values"])
    for i in range(nx):
        for j in range(ny):
            px, py = middle_of("#when .map svg", f"return [svg.map.ax.centre({i}), svg.map.ay.centre({j})];")
            browser.mouse("mouseMoved", px, py)
            places = {x: i, y: j, z: start[z]}
            setting = next(s for s in range(page.n) if all(page.index[d][s] == p for d, p in places.items()))
            check_tip(page, setting, f"map {i},{j}")
    same(browser.js("return collsim.sweep.place.map(p => p[collsim.state.setting])"), start, "hover moved the scenario")
    for i in range(nx):
        px, py = middle_of("#when .cut svg", f"return [svg.chart.x.centre({i}), (svg.chart.box.top + svg.chart.box.bottom) / 2];")
        browser.mouse("mouseMoved", px, py)
        places = {x: i, y: start[y], z: start[z]}
        setting = next(s for s in range(page.n) if all(page.index[d][s] == p for d, p in places.items()))
        check_tip(page, setting, f"curve {i}")
    for k in range(browser.js("return document.querySelectorAll('#explore .panels svg.plot').length")):
        selector = f"#explore .panels > div:nth-child({k + 1}) svg.plot"
        px, py = middle_of(selector, "return [svg.chart.x.centre(2), (svg.chart.box.top + svg.chart.box.bottom) / 2];")
        browser.mouse("mouseMoved", px, py)
        shown = rows_of_tip()
        expect(len(shown) == len(page.algorithms) + 1, f"panel {k}: tip {shown}")
    browser.mouse("mouseMoved", 2, 2)
    same(browser.tip(), "", "a tip that stays")
    # ranking: all measures of a row
    px, py = middle_of("#ranking svg", "return [200, 15];")
    browser.mouse("mouseMoved", px, py)
    expect("exposed time" in browser.tip() and "elapsed time" in browser.tip(), f"ranking: tip {browser.tip()!r}")


def ends(run):
    """Columns of a run's transfers as lists, times in seconds."""
    c = {name: unpack(column) for name, column in run["c"].items()}
    c["start_s"] = [v * run["tick_s"] for v in c["start"]]
    c["end_s"] = [(a + b) * run["tick_s"] for a, b in zip(c["start"], c["dur"])]
    return c


def against_trace(run, c, words, algorithm):
    """Each transfer of the page is a pair of events of the Chrome trace, and the other way round."""
    path = os.path.join(FOLDER, "trace.json")
    collsim("run", "-a", algorithm, *words, "--trace", path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    sent = []
    for event in events:
        match = re.match(r"(\w+) .* -> (\d+)$", event["name"]) if event.get("ph") == "X" else None
        if match:
            a = event["args"]
            sent.append((match.group(1), event["pid"], int(match.group(2)), a["chunk"], a["round"], a["bytes"],
                         event["ts"] * 1e-6, (event["ts"] + event["dur"]) * 1e-6))
    own, exchange = [], run["ops"].index("exchange") if "exchange" in run["ops"] else -1
    for i in range(len(c["start"])):
        bytes_, times = run["sizes"][c["size"][i]], (c["start_s"][i], c["end_s"][i])
        own.append((run["ops"][c["op"][i]], c["from"][i], c["to"][i], c["chunk"][i], c["round"][i], bytes_, *times))
        if c["op"][i] == exchange:
            own.append((run["ops"][c["op"][i]], c["to"][i], c["from"][i], c["chunk"][i], c["round"][i], bytes_, *times))
    what = f"{algorithm} {' '.join(words)}"
    key = lambda t: (t[1], t[2], t[4], round(t[6] * 1e9), t[3])  # noqa: E731
    own.sort(key=key)
    sent.sort(key=key)
    if not same(len(own), len(sent), f"{what}: transfers beside run --trace"):
        return
    wrong = [(a, b) for a, b in zip(own, sent) if a[1:3] != b[1:3] or a[4:6] != b[4:6] or
             abs(a[6] - b[6]) > 2e-9 or abs(a[7] - b[7]) > 2e-9]
    same(wrong[:3], [], f"{what}: transfers that differ from run --trace")


def against_explain(run, c, words, algorithm):
    text = collsim("run", "-a", algorithm, *words, "--explain")
    what = f"{algorithm} {' '.join(words)}"
    count = int(re.search(r"critical path: ([\d,]+) transfers", text).group(1).replace(",", ""))
    path = unpack(run["critical"])
    same(len(path), count, f"{what}: length of the critical path")
    line = re.compile(r"^#\s+([\d.]+)\s+([\d.]+)\s+round (\d+)\s+(\d+) -> (\d+)\s+chunk (\d+)\s+(waited for .*|began.*)$", re.M)
    left_out = re.search(r"\.\.\. (\d+) more", text)
    lines = list(line.finditer(text))
    expect(len(lines) >= min(count, 10), f"{what}: {len(lines)} lines of the path")
    gap = int(left_out.group(1)) if left_out else 0
    where = left_out.start() if left_out else len(text)
    for k, m in enumerate(lines):
        i = path[k + (gap if m.start() > where else 0)]
        start, end, round_, sender, receiver, _, reason = m.groups()
        same((c["round"][i], c["from"][i], c["to"][i]), (int(round_), int(sender), int(receiver)), f"{what}: step {k}")
        expect(abs(c["start_s"][i] * 1e6 - float(start)) < 0.002 and abs(c["end_s"][i] * 1e6 - float(end)) < 0.002,
               f"{what}: times of step {k}")
        wait = run["waits"][c["wait"][i]]
        expect(wait in reason or wait.startswith("it began") and reason.startswith("began"),
               f"{what}: step {k} waited for {wait!r}; --explain: {reason!r}")
    same(sum(1 for i in path if c["end_s"][i] >= run["elapsed_s"] * (1 - 1e-8)), 1, f"{what}: the path's end")


def timeline_tips(page, columns):
    """Bars of the timeline under the pointer, some of them at random."""
    random.seed(3)
    runs = page.data["views"][0]["runs"]
    seen = 0
    for _ in range(60):
        browser.js("document.querySelector('#timeline canvas').scrollIntoView({block: 'center', behavior: 'instant'});")
        box = browser.js("const b = document.querySelector('#timeline canvas').getBoundingClientRect(); return [b.x, b.y, b.width, b.height];")
        x, y = random.uniform(110, box[2] - 5), random.uniform(80, box[3] - 5)
        hit = browser.js("return collsim.timeline.hit(arguments[0], arguments[1])", x, y)
        browser.mouse("mouseMoved", box[0] + x, box[1] + y)
        tip = plain(browser.tip())
        if hit is None:
            same(tip, "", "a tip where there is nothing")
            continue
        seen += 1
        run, c, i = page.data["runs"][runs[hit["run"]]], columns[hit["run"]], hit["i"]
        match = re.match(r"GPU (\d+) [→↔] GPU (\d+) (\w+) of chunk (\d+), round (\d+)(?: over \w+)?(.*?), from ([\d.,]+ \S+) for "
                         r"([\d.,]+ (?:µs|ms|s))", tip)
        if not expect(match, f"a tip that is not understood: {tip!r}"):
            continue
        sender, receiver, op, chunk, round_, _, start, took = match.groups()
        same((int(sender), int(receiver), op, int(chunk), int(round_)),
             (c["from"][i], c["to"][i], run["ops"][c["op"][i]], c["chunk"][i], c["round"][i]), "transfer of a tip")
        expect(abs(seconds_of(start) - c["start_s"][i]) <= 1e-4 * c["start_s"][i] + 1e-12, f"start of a tip: {start}, {c['start_s'][i]}")
        near(took, c["end_s"][i] - c["start_s"][i], "duration of a tip")
        same("on the critical path" in tip, i in unpack(run["critical"]), "critical, in a tip")
        wait = run["waits"][c["wait"][i]]
        expect(f"waited for {wait}" in tip or "began at once" in tip, f"reason of a tip: {tip!r}; data: {wait}")
        if c["why"][i]:
            before = i - c["why"][i]
            expect(f"GPU {c['from'][before]} → GPU {c['to'][before]}" in tip, f"what was waited for: {tip!r}")
    expect(seen >= 15, f"only {seen} of 60 places hit a transfer")


def hits(points, what):
    """Binary search against a look at all transfers, whole and zoomed."""
    wrong = browser.js("""
        const t = collsim.timeline, wrong = [];
        let seed = 12345, found = 0;
        const random = () => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff; return seed / 0x7fffffff; };
        const whole = t.view(), span = whole.to - whole.from;
        for (const part of [1, 0.2, 0.01]) {
            const from = whole.from + random() * (span - span * part);
            t.zoom_to(from, from + span * part);
            const v = t.view();
            for (let k = 0; k < arguments[0] / 3; k++) {
                const x = v.gutter + random() * (v.width - v.gutter), y = random() * v.height;
                const a = t.hit(x, y), b = t.hit_linear(x, y);
                if (a) found++;
                if (JSON.stringify(a) !== JSON.stringify(b)) wrong.push([part, x, y, a, b]);
            }
        }
        t.zoom_to(whole.from, whole.to);
        return {wrong: wrong.slice(0, 5), count: wrong.length, found};""", points)
    same(wrong["wrong"], [], f"{what}: {wrong['count']} places where the search finds another transfer")
    expect(wrong["found"] > points / 20, f"{what}: {wrong['found']} of {points} places hit a transfer")


def main():
    global browser
    page = Page(*SWEEP)
    browser = Browser()
    browser.open(page)
    browser.settle()
    maps_and_curves(page)
    for words, algorithms, what in RUNS:
        page = Page("-a", algorithms, *words)
        columns = []
        for k in page.data["views"][0]["runs"]:
            run = page.data["runs"][k]
            c = ends(run)
            columns.append(c)
            against_trace(run, c, words, run["algorithm"])
            against_explain(run, c, words, run["algorithm"])
        if what.endswith("one"):
            same(max(max(c["tx"] + c["rx"]) for c in columns), 0, f"{what}: lanes of a port")
        elif what.startswith("ports shared"):
            expect(max(max(c["tx"] + c["rx"]) for c in columns) > 0, f"{what}: no port has a second lane")
        browser.open(page)
        browser.settle()
        timeline_tips(page, columns)
        hits(10000, what)
    same(browser.console(), [], "the console")


harness.run(main)
