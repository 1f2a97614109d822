#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page asks for nothing, says nothing on the console, breaks no rule of its own Content-Security-Policy,
whatever names its rows have: markup, quotes, comments, 200 characters.

usage: quiet.py COLLSIM_BINARY
"""
import csv
import os
import time

import harness
from harness import Browser, FOLDER, Keys, Page, expect, same

LONG = "x" * 190 + "-the-end"
NAMES = ["ring", "</script><img src=x onerror=document.title=1>", '"double" & \'single\' `back`', "<!--", "${name} {dim:ranks} {{",
         "naïve 算法", LONG]
WORDS = ["plain", "<b>bold</b>", "</td></tr></table>", 'a"b', "%41&#65;&amp;", LONG]
browser = None


def listen():
    """Note violations of the policy and errors from the first moment on."""
    browser.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
        window.heard = [];
        addEventListener('securitypolicyviolation', e => heard.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
        addEventListener('error', e => heard.push('error: ' + e.message));
        addEventListener('unhandledrejection', e => heard.push('rejected: ' + e.reason));
        window.alert = text => heard.push('alert: ' + text);""")


def use_all():
    """Touch what makes new content: themes, sliders, tips, tables, timeline, filter, sort."""
    browser.press("t", "t")
    for number in range(len(browser.find_all("#answer .num"))):
        browser.js("document.querySelectorAll('#answer .num')[arguments[0]].focus();", number)
        browser.press(Keys.END, Keys.HOME, Keys.ARROW_RIGHT)
    browser.js("for (const d of document.querySelectorAll('details')) d.open = true;")
    browser.js("""
        for (const svg of document.querySelectorAll('svg.plot')) {
            const b = svg.getBoundingClientRect();
            for (const f of [0.2, 0.5, 0.8]) svg.dispatchEvent(new PointerEvent('pointermove',
                {clientX: b.x + b.width * f, clientY: b.y + b.height * f, bubbles: true}));
        }""")
    browser.press("/", *"ring")
    browser.press("g", "1")
    browser.js("[...document.querySelectorAll('#rows thead button')].forEach(b => b.click());")
    if browser.js("return !document.getElementById('timeline').hidden"):
        browser.focus("#timeline canvas")
        browser.press("w", "d", "h", "h", "c", Keys.ARROW_RIGHT, Keys.ARROW_DOWN, "f")
    time.sleep(0.4)


def is_quiet(page, what):
    browser.requests()
    browser.console()
    browser.open(page)
    browser.settle()
    use_all()
    asked = [url for url in browser.requests() if not url.startswith(("data:", "blob:")) and url != "about:blank"]
    same([url.split("#")[0] for url in asked], [page.url], f"{what}: requests")
    same(browser.console(), [], f"{what}: console")
    same(browser.js("return heard"), [], f"{what}: heard")
    for needle in ('http-equiv="Content-Security-Policy"', "default-src 'none'"):
        expect(needle in page.source, f"{what}: {needle} is not in the page")
    head = page.source[page.source.index('Content-Security-Policy"'):][:900]
    script = head[head.index("script-src"):].split(";")[0]
    expect("unsafe" not in script, f"{what}: scripts of the policy: {script}")


def odd_rows():
    """Rows of others: odd names of schedules, of a column, of values, of errors."""
    path = os.path.join(FOLDER, 'odd "name" & <i>.csv')
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["algorithm", "ranks", "bytes", "options.<i>&\"", "elapsed_s", "exposed_s", "error"])
        for k, name in enumerate(NAMES):
            for ranks in (8, 1000000):
                for j, word in enumerate(WORDS):
                    if k == 2 and j == 1:
                        out.writerow([name, ranks, 1000000, word, "", "", "</script><script>alert(1)</script> " + LONG])
                    else:
                        out.writerow([name, ranks, 1000000, word, (k + 1) * 1e6 + j, (k + 1) * 1e6 + j, ""])
    return path


def main():
    global browser
    browser = Browser()
    listen()
    page = Page("-a", "ring,rhd,stragglar", "-n", "4,8", "-s", "1M:1G:x32", "--late", "3=100us,1ms")
    is_quiet(page, "a sweep")
    is_quiet(Page("-a", "ring,optcc", "-n", "16", "-g", "8", "-s", "1G", "--kill-nic", "0.1"), "before and after")
    title = "</title></script><script>alert(1)</script><!-- " + LONG
    page = Page(odd_rows(), "--title", title)
    is_quiet(page, "odd names")
    expect(browser.js("return document.title").startswith(title.split(" ")[0]), "the title is not what was asked for")
    same(len(browser.find_all("img[src=x], main b b, main script")), 0, "elements made of names")
    told = browser.text("body")
    for name in NAMES[1:-1]:
        expect(name in told, f"the name {name!r} is not on the page")
    browser.js("const f = document.querySelector('#rows input'); f.value = ''; f.dispatchEvent(new Event('input'));")
    browser.wait("return collsim.state.filter === ''", "all rows")
    same(set(browser.js("return collsim.sweep.dims.find(d => d.unit === 'word').values")), set(WORDS), "values of the odd column")
    same(len(set(browser.texts("#rows tbody th"))), len(NAMES), "names in the table")
    browser.js("document.getElementById('tip').hidden = true;")
    for width in (1280, 420):
        browser.resize(width, 900)
        time.sleep(0.4)
        harness.fits(browser, f"long names, {width} px")
    can_hear()


def can_hear():
    """What would be wrong is noticed: a picture of another server, an error, a word on the console."""
    browser.requests()
    browser.js("const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);"
               "setTimeout(() => { throw new Error('noticed'); }); console.error('noticed, too');")
    browser.wait("return heard.some(h => h.startsWith('policy: img-src'))", "the policy to refuse a picture")
    browser.wait("return heard.some(h => h.startsWith('error'))", "an error to be heard")
    expect(any("noticed, too" in line for line in browser.console()), "the console is not read")
    same(browser.requests(), ["http://127.0.0.1:9/x.png"], "requests that are noticed")


harness.run(main)
