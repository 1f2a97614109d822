#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of the report page for its manual: each view in a scenario where it has something to show. The
files are PNGs with a palette, below 100 kB each.

usage: shots.py COLLSIM_BINARY FOLDER
"""
import base64
import io
import os
import sys

import harness
from harness import Browser, Page, expect

try:
    from PIL import Image
except ImportError:
    harness.skip("Pillow is not there (Debian: python3-pil)")

LATE = ("-a", "ring,rhd,allpairs,broadcast,stragglar", "-n", "8,16,32,64", "-s", "64K:4G:x2", "--late", "7=10us:20ms:x1.3",
        "--show", "ranks=16,bytes=1G,arrivals.late[0].delay_s=4ms", "--title", "a late GPU")
NIC = ("-a", "nccl_rings,r2ccl,optcc", "-n", "64", "--topology", "dgx-h100", "-s", "1G", "--kill-nic", "3.5", "--title", "a dead NIC")
LINKS = ("-a", "ring,stragglar", "-n", "16", "-s", "1G", "--late", "7=4ms", "--title", "links")
TRACE = ("--trace", os.path.join(harness.SOURCES, "traces", "generated-stragglar4.log"), "--title", "a trace")

CHANCE = (os.path.join(harness.SOURCES, "configs", "montecarlo-arrivals.json"), "--title", "random arrivals")

# name, page, theme, sections (one picture from the first to the last), width
SHOTS = (("answer", LATE, "light", ("answer", "when"), 1280),
         ("answer-dark", LATE, "dark", ("answer", "when"), 1280),
         ("explore", LATE, "light", ("explore",), 1280),
         ("timeline-late", LATE, "light", ("timeline",), 1280),
         ("timeline-dead-nic", NIC, "dark", ("timeline",), 1280),
         ("grid", LINKS, "light", ("grid",), 1280),
         ("links", LINKS, "dark", ("links",), 1280),
         ("late", TRACE, "light", ("late",), 1280),
         ("bounds", NIC, "light", ("bounds",), 1280),
         ("chance", CHANCE, "light", ("chance",), 1280))


def clip(browser, sections, width):
    """The rectangle of sections on the page."""
    boxes = browser.js("""return arguments[0].map(id => document.getElementById(id)).filter(n => n && !n.hidden).map(n => {
        const b = n.getBoundingClientRect();
        return [b.top + scrollY, b.bottom + scrollY];
    });""", list(sections))
    if not boxes:
        return None
    top = min(b[0] for b in boxes) + (24 if sections[0] != "answer" else 10)
    return {"x": 0, "y": top, "width": width, "height": max(b[1] for b in boxes) + 16 - top, "scale": 1}


def small(png):
    """With a palette: text and flat colours lose nothing that one sees."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in (256, 128, 64, 32):
        out = io.BytesIO()
        image.quantize(colours, method=Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() < 100000:
            break
    return out.getvalue()


def main():
    folder = sys.argv[2]
    browser, pages = Browser(), {}
    for name, words, theme, sections, width in SHOTS:
        page = pages.get(words) or pages.setdefault(words, Page(*words))
        browser.resize(width, 900)
        browser.open(page, "theme=" + theme)
        browser.settle()
        browser.js("document.querySelector('.bar').style.display = 'none'; document.documentElement.style.scrollBehavior = 'auto';")
        browser.js_async("setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 500)")
        area = clip(browser, sections, width)
        if not expect(area is not None, f"{name}: the page has no {sections}"):
            continue
        data = base64.b64decode(browser.cdp("Page.captureScreenshot", format="png", clip=area, captureBeyondViewport=True)["data"])
        data = small(data)
        with open(os.path.join(folder, name + ".png"), "wb") as file:
            file.write(data)
        print(f"{name}.png {len(data) // 1000} kB, {area['width']} x {area['height']:.0f}")
        expect(len(data) < 100000, f"{name}: {len(data)} bytes")


harness.run(main)
