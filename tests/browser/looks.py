#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a page looks like, as facts that do not depend on fonts: sections are there and not empty, no text lies
over another one or out of its picture, nothing scrolls sideways at 1280, 420 and 320 pixels (that is 400 %
zoom), the canvas is painted; on paper it is light, with the timeline as an image, also from the dark theme.

usage: looks.py COLLSIM_BINARY
"""
import base64
import os
import re
import time
import zlib

import harness
from harness import Browser, Page, expect, fits, same

PAGES = (("sweep", ("-a", "ring,rhd,allpairs,stragglar", "-n", "8,16,32", "-s", "1M:4G:x4", "--late", "7=10us:20ms:x4")),
         ("broken NIC", ("-a", "nccl_rings,r2ccl,optcc", "-n", "16", "-g", "8", "-s", "1G", "--kill-nic", "1.0")),
         ("chance", (os.path.join(harness.SOURCES, "configs", "montecarlo-arrivals.json"), "--no-timeline")),
         ("long names", ("-a", "ring,double_binary_tree,latency_optimal", "-n", "8", "-s", "1M,1G", "--no-timeline")),
         ("one run", ("-a", "stragglar", "-n", "8", "-s", "1G", "--late", "3=4ms")))
WIDTHS = (1280, 420, 320)
WANTED = {"sweep": {"answer", "when", "explore", "timeline", "grid", "links", "bounds", "rows", "source"},
          "broken NIC": {"answer", "timeline", "links", "bounds", "rows", "source"},
          "one run": {"answer", "timeline", "grid", "links", "bounds", "rows", "source"},
          "chance": {"answer", "chance", "rows", "source"}}

# Texts of each picture that lie over one another, or are cut by the window.
OVERLAPS = """
    const out = [];
    for (const svg of document.querySelectorAll('svg.plot, svg.grid-svg')) {
        if (!svg.checkVisibility()) continue;
        const where = (svg.closest('section') || {}).id;
        const texts = [...svg.querySelectorAll('text')].filter(n => n.textContent.trim() && n.getAttribute('visibility') !== 'hidden')
            .map(n => ({text: n.textContent.slice(0, 30), b: n.getBoundingClientRect()})).filter(t => t.b.width > 0);
        texts.sort((p, q) => p.b.left - q.b.left);
        texts.forEach((p, i) => {
            for (const q of texts.slice(i + 1)) {
                if (q.b.left >= p.b.right - 2) break;
                const h = Math.min(p.b.bottom, q.b.bottom) - Math.max(p.b.top, q.b.top);
                if (h > 0.35 * Math.min(p.b.height, q.b.height)) out.push(`${where}: ${p.text} | ${q.text}`);
            }
            const box = svg.closest('.card') || svg, c = box.getBoundingClientRect();
            let scrolls = svg.parentElement;
            while (scrolls && scrolls !== box && getComputedStyle(scrolls).overflowX === 'visible') scrolls = scrolls.parentElement;
            if (scrolls === box && (p.b.right > c.right + 1 || p.b.left < c.left - 1)) out.push(`${where}: ${p.text} is cut`);
        });
    }
    return [...new Set(out)].slice(0, 12);"""

# How many colours a canvas has, and how much of it is not its ground.
PAINTED = """
    return [...document.querySelectorAll('canvas')].filter(c => c.checkVisibility()).map(c => {
        const copy = document.createElement('canvas');
        [copy.width, copy.height] = [c.width, c.height];
        const g = copy.getContext('2d', {willReadFrequently: true});
        g.drawImage(c, 0, 0);
        const d = new Uint32Array(g.getImageData(0, 0, c.width, c.height).data.buffer), count = new Map();
        for (const v of d) count.set(v, (count.get(v) || 0) + 1);
        return [c.closest('section').id, count.size, 1 - Math.max(...count.values()) / d.length];
    });"""


def at_width(browser, name, width):
    what = f"{name}, {width} px"
    browser.resize(width, 900)
    browser.js_async("setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400)")
    fits(browser, what)
    same(browser.js(OVERLAPS), [], f"{what}: texts that overlap")
    shown = browser.js("return [...document.querySelectorAll('main > section')].filter(s => !s.hidden)"
                       ".map(s => [s.id, s.getBoundingClientRect().height, s.textContent.trim().length])")
    for section, height, text in shown:
        expect(height > 60 and text > 20, f"{what}: the section {section} is empty")
    for section, colours, share in browser.js(PAINTED):
        expect(colours > 8 and share > 0.04, f"{what}: the canvas of {section} has {colours} colours, {share:.3f} painted")
    return [s[0] for s in shown]


def in_one_line(browser, name):
    """Short names of rows do not break, not even behind their mark; the same name is as high everywhere."""
    broken = browser.js("""
        return [...new Set([...document.querySelectorAll('#rows .named')].filter(n => n.textContent.length < 16)
            .filter(n => n.getBoundingClientRect().height > 1.7 * parseFloat(getComputedStyle(n).fontSize) * 1.5)
            .map(n => n.textContent))];""")
    same(broken, [], f"{name}: names of rows that break")
    cut = browser.js("return [...document.querySelectorAll('#bounds svg text.value, #ranking svg text.name, #chance svg text.name')]"
                     ".map(n => n.textContent).filter(t => t.endsWith('…'))")
    same(cut, [], f"{name}: names of bounds or schedules that are cut")


def objects_of(pdf):
    """Dictionaries of the objects of a PDF, and unpacked contents of streams."""
    out = []
    for part in pdf.split(b"endobj"):
        head, _, data = part.partition(b"stream")
        data = data.strip(b"\r\n").removesuffix(b"endstream").strip(b"\r\n")
        if data and b"/FlateDecode" in head:
            try:
                data = zlib.decompressobj().decompress(data)
            except zlib.error:
                pass
        out.append((head, data))
    return out


def on_paper(browser, page, name, has_timeline):
    browser.resize(1280, 900)
    browser.open(page, "theme=dark")
    browser.settle()
    browser.js("""
        window.paper = null;
        addEventListener('beforeprint', () => {
            const image = document.querySelector('.tl-image');
            paper = {theme: document.documentElement.dataset.theme, image: image ? image.src.length : 0};
        });""")
    pdf = base64.b64decode(browser.cdp("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
    paper = browser.js("return paper")
    same(paper["theme"], "light", f"{name}: theme on paper")
    expect(pdf.startswith(b"%PDF") and len(pdf) > 20000, f"{name}: {len(pdf)} bytes of PDF")
    objects = objects_of(pdf)
    pages = [d for d, _ in objects if re.search(rb"/Type\s*/Page\b", d)]
    boxes = {m for d in pages for m in re.findall(rb"/MediaBox\s*\[([^\]]*)\]", d)}
    expect(2 <= len(pages) <= 40, f"{name}: {len(pages)} sheets")
    for box in boxes:
        width, height = [float(v) for v in box.split()[2:]]
        expect(abs(width - 595) < 3 and abs(height - 842) < 3, f"{name}: a sheet of {width} x {height}, not A4")
    images = [tuple(int(re.search(rb"/%s (\d+)" % k, d).group(1)) for k in (b"Width", b"Height")) + (data,)
              for d, data in objects if re.search(rb"/Subtype\s*/Image", d)]
    if has_timeline:
        expect(paper["image"] > 5000, f"{name}: the timeline is no image on paper")
        large = [i for i in images if i[0] > 1000]
        if expect(large, f"{name}: no image of the timeline in the PDF; images {[i[:2] for i in images]}"):
            lights = [sum(data[::997]) / len(data[::997]) for w, h, data in large if len(data) == w * h * 3]
            expect(lights and min(lights) > 150, f"{name}: means of the timeline's image: {lights}; dark, or not read")
    time.sleep(0.3)
    same(browser.js("return document.documentElement.dataset.theme"), "dark", f"{name}: theme after printing")
    browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'});")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    controls = browser.js("return [...document.querySelectorAll('button, select, input, nav')].filter(n => n.checkVisibility())"
                          ".filter(n => !n.matches('.thumb, .key, #rows thead button')).map(n => n.className || n.textContent)")
    same(controls, [], f"{name}: controls on paper")
    browser.cdp("Emulation.setEmulatedMedia", media="")


def themes(browser, page):
    """Dark where the system is dark, also before scripts run; a choice wins."""
    for scheme, colour in (("dark", "rgb(16, 20, 24)"), ("light", "rgb(252, 251, 249)")):
        browser.media(prefers_color_scheme=scheme)
        browser.open(page)
        same(browser.js("return getComputedStyle(document.body).backgroundColor"), colour, f"ground, system {scheme}")
        browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
        browser.driver.get(page.url)
        browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
        same(browser.js("return getComputedStyle(document.body).backgroundColor"), colour, f"ground without scripts, system {scheme}")
    browser.media(prefers_color_scheme="light")
    browser.open(page)
    browser.settle()
    light = browser.picture()
    browser.press("t")
    browser.js_async("setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 100)")
    expect(browser.picture() != light, "the picture is the same in the other theme")


def main():
    browser = Browser()
    for name, words in PAGES:
        page = Page(*words)
        browser.resize(1280, 900)
        browser.open(page)
        browser.settle()
        in_one_line(browser, name)
        shown = [at_width(browser, name, width) for width in (WIDTHS if name in WANTED else WIDTHS[:1])]
        same(shown[1:], [shown[0]] * (len(shown) - 1), f"{name}: sections at other widths")
        expect(WANTED.get(name, {"answer", "bounds", "rows", "source"}) <= set(shown[0]), f"{name}: sections {shown[0]}")
        if name in ("sweep", "broken NIC"):
            on_paper(browser, page, name, True)
        if name == "sweep":
            themes(browser, page)
    same(browser.console(), [], "the console")


harness.run(main)
