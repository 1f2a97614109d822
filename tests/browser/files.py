#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page saves: CSV that has the page's numbers and nothing else, SVG that stands alone (well formed,
fonts and colours in it, no variables, no classes). With reduced motion nothing plays and nothing glides.

usage: files.py COLLSIM_BINARY
"""
import csv
import os
import re
import time
import xml.etree.ElementTree as ElementTree

import harness
from harness import Browser, Page, expect, same

SWEEP = ("-a", "ring,rhd,allpairs,stragglar", "-n", "4,8", "-s", "4K:4G:x64", "--late", "3=10us:10.24ms:x4",
         "--title", 'late, "quoted" & more')
SVG = "{http://www.w3.org/2000/svg}"
browser = None


def saved(press):
    """What a press saves: its name and its text. A busy browser may need a second press."""
    before = set(os.listdir(browser.downloads))
    for _ in range(3):
        browser.js(press)
        end = time.monotonic() + 15
        while time.monotonic() < end:
            new = [n for n in set(os.listdir(browser.downloads)) - before
                   if not n.endswith((".crdownload", ".tmp")) and not n.startswith(".")]
            if new:
                path = os.path.join(browser.downloads, new[0])
                with open(path, encoding="utf-8", newline="") as file:
                    text = file.read()
                os.remove(path)
                return new[0], text
            time.sleep(0.05)
    raise RuntimeError(f"nothing was saved by {press}")


def button(section, text, place=0):
    return (f"[...document.querySelectorAll('#{section} button')].filter(b => b.textContent.trim() === '{text}')[{place}].click();")


def count_of(section, text):
    return browser.js("return [...document.querySelectorAll(`#${arguments[0]} button`)].filter(b => b.textContent.trim() === arguments[1]).length",
                      section, text)


def rows_of(text, what):
    expect(text.endswith("\r\n"), f"{what}: lines do not end as RFC 4180 has it")
    rows = list(csv.reader(text.splitlines()))
    widths = {len(r) for r in rows}
    same(len(widths), 1, f"{what}: widths of rows")
    return rows[0], rows[1:]


def all_rows(page):
    """The whole sweep, number for number."""
    name, text = saved(button("rows", "CSV of all") if count_of("rows", "CSV of all") else button("explore", "CSV of all"))
    expect(re.fullmatch(r"[\w.-]+\.csv", name), f"name of the file: {name}")
    heads, rows = rows_of(text, "CSV of all")
    dims = [d["name"] for d in page.dims]
    expect(heads[:len(dims) + 1] == dims + ["algorithm"], f"columns: {heads}")
    same(len(rows), sum(1 for s in page.state if s), "rows of the CSV")
    place = {name: k for k, name in enumerate(heads)}
    by_inputs = {(tuple(page.values(s).values()), a): s for s in range(page.n) for a in page.algorithms}
    wrong = []
    for row in rows:
        inputs = tuple(float(row[place[d]]) for d in dims)
        setting = by_inputs[inputs, row[place["algorithm"]]]
        for measure in page.measures:
            value, text = page.value(measure, setting, row[place["algorithm"]]), row[place[measure]]
            is_same = text == "" if value != value else (float("inf") if text == "Infinity" else float(text)) == value
            if not is_same:
                wrong.append((row, measure, value))
    same(wrong[:2], [], "numbers of the CSV that are not those of the page")


def shown_rows(page):
    browser.js("collsim.change({x: 'bytes', panel: 'ranks', y: 'elapsed_s', off: 'rhd'});")
    time.sleep(0.3)
    _, text = saved(button("explore", "CSV"))
    heads, rows = rows_of(text, "CSV of the panels")
    place = {name: k for k, name in enumerate(heads)}
    expect("elapsed_s" in place and "algorithm" in place, f"columns: {heads}")
    names = {r[place["algorithm"]] for r in rows}
    same(names, set(page.algorithms) - {"rhd"}, "schedules that are switched on")
    same(len(rows), 2 * 4 * 3, "rows: panels x sizes x schedules")
    delay = page.values(page.sweep["start"])["arrivals.late[0].delay_s"]
    for row in rows:
        inputs = {"ranks": float(row[place["ranks"]]), "bytes": float(row[place["bytes"]]), "arrivals.late[0].delay_s": delay}
        setting = next(s for s in range(page.n) if page.values(s) == inputs)
        same(float(row[place["elapsed_s"]]), page.value("elapsed_s", setting, row[place["algorithm"]]), f"CSV: {inputs}")


def pictures():
    """Every SVG button of the page."""
    total = 0
    for section in browser.js("return [...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id)"):
        for k in range(count_of(section, "SVG")):
            name, text = saved(button(section, "SVG", k))
            total += 1
            what = f"SVG {k} of {section}"
            expect(name.endswith(".svg"), f"{what}: name {name}")
            try:
                root = ElementTree.fromstring(text)
            except ElementTree.ParseError as error:
                expect(False, f"{what}: not well formed: {error}")
                continue
            same(root.tag, SVG + "svg", f"{what}: root")
            expect("var(" not in text and "class=" not in text and "NaN" not in text and "undefined" not in text,
                   f"{what}: variables, classes or no numbers in it")
            expect(float(root.get("width")) > 100 and float(root.get("height")) > 50, f"{what}: size")
            texts = [t for t in root.iter(SVG + "text") if "".join(t.itertext()).strip()]
            expect(len(texts) > 3, f"{what}: {len(texts)} texts")
            for t in texts:
                if not expect(t.get("font-family") and t.get("font-size") and t.get("fill", "").startswith("rgb"),
                              f"{what}: a text without font or colour: {ElementTree.tostring(t)[:200]}"):
                    break
            links = re.findall(r'url\(["\']?#([^)"\']+)', text)
            ids = {n.get("id") for n in root.iter() if n.get("id")}
            expect(set(links) <= ids, f"{what}: refers to {set(links) - ids}, which it does not have")
            expect("http" not in text.replace("http://www.w3.org/", ""), f"{what}: refers to something outside")
    expect(total >= 1, "no SVG button on the page")
    return total


def tables():
    """CSV buttons below the plots: as many rows as the table that can be shown."""
    for section in ("answer", "when", "bounds"):
        for k in range(count_of(section, "CSV")):
            _, text = saved(button(section, "CSV", k))
            heads, rows = rows_of(text, f"CSV {k} of {section}")
            expect(len(rows) > 0 and all(heads), f"CSV {k} of {section}: {heads}, {len(rows)} rows")


def still(page):
    browser.media(prefers_reduced_motion="reduce")
    browser.open(page)
    browser.settle()
    same(browser.js("return getComputedStyle(document.documentElement).scrollBehavior"), "auto", "reduced motion: scrolling")
    same(browser.js("return document.querySelector('#timeline [data-tl=play]')"), None, "reduced motion: a button that plays")
    browser.focus("#timeline canvas")
    browser.press(" ")
    first = browser.js("return document.querySelector('#timeline canvas').toDataURL()")
    time.sleep(0.4)
    same(browser.js("return document.querySelector('#timeline canvas').toDataURL()") == first, True, "reduced motion: nothing moves")
    browser.media(prefers_reduced_motion="no-preference")
    browser.open(page)
    browser.settle()
    expect(browser.js("return document.querySelector('#timeline [data-tl=play]') !== null"), "nothing plays with motion, either")
    browser.focus("#timeline canvas")
    browser.press(" ")
    first = browser.js("return document.querySelector('#timeline canvas').toDataURL()")
    time.sleep(0.4)
    expect(browser.js("return document.querySelector('#timeline canvas').toDataURL()") != first, "Space plays nothing")


def main():
    global browser
    page = Page(*SWEEP)
    browser = Browser()
    browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=browser.downloads)
    browser.open(page)
    browser.settle()
    all_rows(page)
    tables()
    shown_rows(page)
    pictures()
    browser.press("t")
    pictures()
    still(page)
    same(browser.console(), [], "the console")


harness.run(main)
