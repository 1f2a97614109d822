#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long it takes until a page answers, until a timeline is open, and a frame while it is zoomed and
panned: for two small runs, for ports that many share, and for about 100,000 transfers. What was measured
is written to browser-frames.json; the limits are generous, because others use the machine.

usage: frames.py COLLSIM_BINARY [FOLDER]
"""
import json
import os
import sys

import harness
from harness import Browser, Page, expect

PAGES = (("two small runs", ("-a", "ring,stragglar", "-n", "16", "-s", "1G", "--late", "7=4ms")),
         ("ports that many share", ("-a", "ring,allpairs", "-m", "flow", "-n", "48", "-s", "256M", "--late", "7=1ms")),
         ("100,000 transfers", ("-a", "stragglar", "-n", "224", "-s", "4G", "--late", "100=20ms")))
FRAMES = 90
MOST_MEDIAN_MS = 50     # of drawing, and of a frame; 8 and 17 on a machine of its own
MOST_OPEN_MS = 5000
TRIES = 3


def at(values, part):
    values = sorted(values)
    return round(values[min(len(values) - 1, int(part * len(values)))], 2)


def measure(browser, page):
    browser.open(page)
    browser.settle()
    times = browser.js("return {first_paint_ms: (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime,"
                       " answer_ms: collsim.times.answer, interactive_ms: collsim.times.interactive, all_ms: collsim.times.all,"
                       " timeline_open_ms: collsim.timeline.opened}")
    browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'});")
    bench = browser.js_async("collsim.timeline.bench(arguments[0]).then(done)", FRAMES)
    out = {k: v if v is None else round(v, 1) for k, v in times.items()}
    for kind in ("draw", "frame"):
        out[f"{kind}_median_ms"], out[f"{kind}_p95_ms"] = at(bench[kind][1:], 0.5), at(bench[kind][1:], 0.95)
    return out


def step_ms(browser):
    """A step of a number: sentence, tiles, ranking, map, until the next frame."""
    return browser.js_async("""
        const {sweep, change} = collsim, times = [];
        (async () => {
            for (let k = 0; k < 30; k++) {
                await new Promise(requestAnimationFrame);
                const began = performance.now();
                change({setting: (k * 7) % sweep.n}, {goes_on: true});
                times.push(performance.now() - began);
            }
            done(times);
        })();""")


def main():
    browser = Browser()
    found = {}
    for name, words in PAGES:
        page = Page(*words)
        best = None
        for _ in range(TRIES):
            m = measure(browser, page)
            if best is None or m["frame_median_ms"] < best["frame_median_ms"]:
                best = m
            if best["frame_median_ms"] < MOST_MEDIAN_MS and best["timeline_open_ms"] < MOST_OPEN_MS:
                break
        best["transfers"] = [r["c"]["start"]["n"] for r in page.data["runs"]]
        best["page_kB"] = round(os.path.getsize(page.path) / 1e3)
        found[name] = best
        for kind in ("draw", "frame"):
            expect(best[f"{kind}_median_ms"] < MOST_MEDIAN_MS, f"{name}: median {kind} takes {best[f'{kind}_median_ms']} ms")
        expect(best["timeline_open_ms"] < MOST_OPEN_MS, f"{name}: the timeline opens in {best['timeline_open_ms']} ms")
        expect(best["draw_median_ms"] > 0.01, f"{name}: nothing is drawn")
    expect(found["100,000 transfers"]["transfers"][0] > 90000, f"transfers: {found['100,000 transfers']['transfers']}")
    page = Page("-a", "ring,rhd,allpairs,stragglar", "-n", "4,8,16", "-s", "4K:4G:x16", "--late", "3=10us:10.24ms:x2", "--no-timeline")
    browser.open(page)
    browser.settle()
    steps = step_ms(browser)
    found["a step of a number"] = {"median_ms": at(steps, 0.5), "p95_ms": at(steps, 0.95)}
    expect(at(steps, 0.5) < MOST_MEDIAN_MS, f"a step of a number takes {at(steps, 0.5)} ms")
    text = json.dumps(found, indent=1)
    print(text)
    if len(sys.argv) > 2:
        with open(os.path.join(sys.argv[2], "browser-frames.json"), "w", encoding="utf-8") as file:
            file.write(text + "\n")


harness.run(main)
