#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers as the page's scripts write them are those that the program writes: times, sizes, ratios and
shares, at the borders of units and digits, too. The program's texts come from pages: names of values
of an axis of late ranks (one time each), and sentences and rankings.

usage: formats.py COLLSIM_BINARY
"""
import collections
import json
import os
import random

import harness
from harness import Browser, FOLDER, Page, SOURCES, expect, plain, same

FORMAT_JS = os.path.join(SOURCES, "sim", "report", "page", "format.js")


def delays():
    """Times in whole picoseconds: borders of units and of three digits, and some at random."""
    random.seed(5)
    out = [1e-9, 5e-9, 99.4e-9, 99.5e-9, 99.96e-9, 1e-6, 9.994e-6, 9.995e-6, 9.996e-6, 12.34e-6, 12.35e-6, 99.94e-6,
           99.95e-6, 99.96e-6, 999.4e-6, 999.5e-6, 999.6e-6, 1e-3, 1.005e-3, 1.015e-3, 1.125e-3, 9.995e-3, 10.05e-3,
           0.1, 0.9994, 0.9995, 0.9996, 1.0, 1.005, 9.995, 10.25, 99.95, 100.5, 101.5, 999.5, 1000, 1234.5, 3599]
    out += [round(10 ** random.uniform(-8, 3), 12) for _ in range(160)]
    return sorted(set(out))


def functions(browser):
    """format.js alone, on an empty page: the page's own scripts hand out none of it."""
    with open(FORMAT_JS, encoding="utf-8") as file:
        source = file.read().replace("export ", "")
    browser.driver.get("about:blank")
    browser.js("window.formats = new Function(arguments[0] + '; return {fmt_value, fmt_percent, fmt_seconds, fmt_bytes,"
               " value_to_hash, value_from_hash};')();", source)


def config(delays_s):
    """A sweep whose axis has no numbers, because two ranks take turns; so its values are named."""
    late = [[{"rank": 1 + k % 2, "delay": f"{delay:.15g}s"}] for k, delay in enumerate(delays_s)]
    return {"algorithm": {"name": "ring"}, "cluster": {"ranks": 4}, "bytes": "64K", "verify": False,
            "sweep": {"arrivals.late": late}}


def main():
    browser = Browser()
    functions(browser)
    values = delays()
    path = os.path.join(FOLDER, "late.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config(values), file)
    page = Page(path, "--no-timeline")
    words = next(d["values"] for d in page.dims if d["name"] == "arrivals.late")
    same(len(words), len(values), "one name for each delay")
    texts = browser.js("return arguments[0].map(formats.fmt_seconds)", values)
    wanted = sorted(plain(f"GPU {1 + k % 2} late by {t}") for k, t in enumerate(texts))
    found = sorted(plain(w.split(" (")[0]) for w in words)
    own, other = collections.Counter(found), collections.Counter(wanted)
    same(sorted((other - own).elements()), sorted((own - other).elements()), "times")
    sizes(browser)
    round_trip(browser)


def sizes(browser):
    """Sizes of the program's sentence."""
    sizes_b = [4, 100, 1020, 1024, 1028, 2000, 10232, 102348, 1023 * 1024, 1048064, 1048572, 2 ** 20,
               3 * 2 ** 20 // 2, 10 * 2 ** 20, 1023 * 2 ** 20, 2 ** 30, 1481763716, 12345678912, 2 ** 40]
    page = Page("-a", "ring", "-n", "4", "-s", ",".join(map(str, sizes_b)), "--no-timeline", "--no-verify")
    names = page.dims[0]["values"]
    same(names, sorted(sizes_b), "sizes")
    texts = browser.js("return arguments[0].map(formats.fmt_bytes)", names)
    for size, text in zip(names, texts):
        own = Page("-a", "ring", "-n", "4", "-s", f"{size},{size * 2}", "--show", f"bytes={size}", "--no-timeline",
                   "--no-verify")
        sentence = plain(own.text("verdict"))
        expect(f" of {plain(text)} " in sentence, f"{size} B is {plain(text)!r} for scripts; the program: {sentence!r}")


def round_trip(browser):
    """What the address says of a value is that value."""
    random.seed(7)
    times = [round(10 ** random.uniform(-8, 3), 13) for _ in range(200)] + [0]
    wrong = browser.js("return arguments[0].filter(v => Math.abs(formats.value_from_hash('s', formats.value_to_hash('s', v))"
                       " - v) > 1e-11 * v)", times)
    same(wrong, [], "times that the address changes")
    for text, value in (("20us", 2e-5), ("0.3ms", 3e-4), ("160us", 16e-5), ("7ns", 7e-9), ("1.1ms", 1.1e-3), ("2.5s", 2.5)):
        same(browser.js("return formats.value_from_hash('s', arguments[0])", text), value, text)
    whole = [1, 1000, 1024, 1536, 2 ** 20, 2 ** 30 + 1, 3 * 2 ** 29, 2 ** 40]
    wrong = browser.js("return arguments[0].filter(v => formats.value_from_hash('bytes', formats.value_to_hash('bytes', v))"
                       " !== v)", whole)
    same(wrong, [], "sizes that the address changes")
    for text in ("", "abc", "1 2", "1x", "--1", "1e", "NaN", "Infinity", "1;alert(1)"):
        is_none = browser.js("return Number.isNaN(formats.value_from_hash('s', arguments[0]))", text)
        expect(is_none, f"{text!r} is a time")


harness.run(main)
