#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer as text and as scripts make it: for each setting that `--show` can name, the sentence, its
reason, the tiles and the ranking of the file are what the page shows when it is moved there, and the
numbers are those of `run`. Without scripts all of it is there.

usage: answer.py COLLSIM_BINARY
"""
import json
import os
import random
import re

import harness
from harness import Browser, FOLDER, Page, collsim, expect, fragment_of, plain, same

SWEEP = ("-a", "ring,rhd,allpairs,stragglar", "-n", "4,8,12", "-s", "4K:4G:x64", "--late", "3=0s,10us,150us,1.5ms,20ms")
SETTINGS = 20


def shown(browser):
    """What the page shows of the answer."""
    browser.js("document.querySelector('#ranking details').open = true;")
    browser.wait("return document.querySelectorAll('#ranking tbody tr').length > 0", "the table of the ranking")
    return {
        "sentence": plain(browser.text("#verdict")), "because": plain(browser.text("#because")),
        "tiles": [plain(t) for t in browser.texts("#tiles .tile")],
        "ranking": [[plain(c) for c in row] for row in browser.js(
            "return [...document.querySelectorAll('#ranking tbody tr')].map(r => [...r.cells].map(c => c.textContent))")],
    }


def written(page):
    """What the program wrote."""
    rows = [[plain(c) for c in r] for r in page.parsed.rows]
    return {"sentence": plain(page.text("verdict")), "because": plain(page.text("because")),
            "tiles": [plain(t) for t in page.parsed.tiles], "heads": rows[0], "ranking": rows[1:]}


def compare(found, wanted, where):
    for part in ("sentence", "because", "tiles"):
        same(found[part], wanted[part], f"{where}: {part}")
    # schedule, exposed time, against the baseline, [bound], above it, elapsed over its bound
    for row, other in zip(found["ranking"], wanted["ranking"]):
        name, time, _, _, above, gap = row[:6]
        same([name, time, above, gap], [other[0], other[1], other[3], other[4]], f"{where}: ranking")
    same(len(found["ranking"]), len(wanted["ranking"]), f"{where}: length of the ranking")


def numbers(page, browser, rows):
    """All numbers of all settings are those of the rows."""
    wrong = 0
    for row in rows:
        inputs = {"ranks": row["ranks"], "bytes": row["bytes"],
                  "arrivals.late[0].delay_s": round(row["elapsed_s"] - row["exposed_s"], 12)}
        setting = next(s for s in range(page.n) if all(abs(v - inputs[k]) <= 1e-9 * abs(v)
                                                       for k, v in page.values(s).items()))
        cell = setting * len(page.algorithms) + page.algorithms.index(row["algorithm"])
        for name in ("exposed_s", "elapsed_s", "bound_s", "gap", "critical_delay_s", "transfers"):
            value = browser.js("const v = collsim.sweep.measure[arguments[0]].values[arguments[1]];"
                               "return Number.isNaN(v) ? null : v;", name, cell)
            wrong += value != row[name]
    same(wrong, 0, "numbers in the page that are not those of the rows")


def main():
    rows_file = os.path.join(FOLDER, "rows.json")
    with open(rows_file, "w", encoding="utf-8") as file:
        file.write(collsim("run", *SWEEP, "--format", "json"))
    page = Page(rows_file, "--no-timeline")
    random.seed(16)
    settings = sorted(random.sample(range(page.n), SETTINGS))
    browser = Browser()
    browser.open(page)
    compare(shown(browser), written(page), "as it opens")
    with open(rows_file, encoding="utf-8") as file:
        rows = json.load(file)
    numbers(page, browser, random.sample(rows, 12))
    kinds = set()
    for setting in settings:
        values = page.values(setting)
        where = ",".join(f"{k}={v}" for k, v in values.items())
        own = Page(rows_file, "--no-timeline", "--show", where)
        browser.js("location.hash = arguments[0];", fragment_of(values))
        browser.wait(f"return collsim.state.setting === {setting}", f"the setting {where}")
        found, wanted = shown(browser), written(own)
        compare(found, wanted, where)
        same(plain(browser.js("return collsim.sentence(collsim.state.setting)")), found["sentence"], where + ": hook")
        kinds.add(re.sub(r"[\d.,]+", "#", wanted["sentence"]))
    expect(len(kinds) >= 3, f"the settings ask for several kinds of sentences, not {kinds}")
    without_scripts(browser, page)


def without_scripts(browser, page):
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    browser.driver.get("about:blank")
    browser.driver.get(page.url)
    text = plain(browser.find("body").text)
    tiles = [part for tile in browser.find_all("#tiles .tile") for part in plain(tile.text).split(" ", 2)]
    same(" ".join(tiles).replace(" ", ""), "".join(plain(t) for t in page.parsed.tiles).replace(" ", ""),
         "without scripts: tiles")
    for part in (page.text("verdict"), page.text("because"), "runs no scripts", "Where this comes from",
                 "collsim report"):
        expect(plain(part) in text, f"without scripts: {part!r} is not there")
    for row in page.parsed.rows[1:len(page.algorithms) + 1]:
        expect(plain(" ".join(row)) in text, f"without scripts: the ranking's row {row} is not there")
    for name in ("when", "explore", "timeline", "rows"):
        expect(not browser.find("#" + name).is_displayed(), f"without scripts: the empty section {name} is shown")
    expect(not browser.find("#tools").is_displayed(), "without scripts: controls are shown that do nothing")
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)


harness.run(main)
