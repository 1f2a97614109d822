#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of scripts/site in a browser: every page in light and dark (contrast of 4.5:1) and 400 px wide (nothing to scroll
sideways), search by keyboard, the menu, what is copied, nothing from a network, and all of it readable without scripts.

usage: site_pages.py COLLSIM_BINARY [FOLDER]
"""
import os
import shutil
import subprocess
import sys

import harness
from harness import Keys, expect, same

BUILD = os.path.join(harness.SOURCES, "scripts", "lib", "site", "build.py")
SITE = os.path.join(harness.FOLDER, "site")

# Texts on the page whose contrast to the nearest ground behind them is below 4.5:1
PALE = """
const light = c => c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const numbers = text => text.match(/[\\d.]+/g).map(Number);
const ground = node => {
  for (; node; node = node.parentElement) {
    const c = numbers(getComputedStyle(node).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
  }
  return [255, 255, 255];
};
const pale = [];
for (const node of document.querySelectorAll('body *')) {
  if (![...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())) continue;
  const style = getComputedStyle(node);
  if (!node.getClientRects().length || style.visibility === 'hidden' || style.opacity === '0') continue;
  const a = light(numbers(style.color).slice(0, 3)), b = light(ground(node));
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) pale.push(node.tagName + '.' + node.className + ' ' + contrast.toFixed(2));
}
return [...new Set(pale)];
"""
WIDE = """
return document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main *')]
  .filter(node => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('pre, .table'))
  .slice(0, 3).map(node => node.tagName + ' ' + node.textContent.slice(0, 40));
"""


def pages():
    return sorted(os.path.relpath(os.path.join(place, name), SITE) for place, _, names in os.walk(SITE)
                  for name in names if name.endswith(".html"))


def address(name):
    return "file://" + os.path.join(SITE, name)


def looks(browser):
    """Every page, wide and narrow, light and dark"""
    for name in pages():
        for width, scheme in ((1280, "light"), (400, "dark")):
            browser.resize(width, 900)
            browser.media(prefers_color_scheme=scheme)
            browser.open(address(name), wait=False)
            same(browser.js(PALE), [], f"{name}, {scheme}: pale texts")
            same(browser.js(WIDE), [], f"{name}, {width} px: too wide")
            same(browser.js("document.querySelector('nav [aria-current]') ? 1 : 0"),
                 0 if name.startswith("source") else 1, f"{name}: its place in the navigation")


def found(browser, words):
    """Type into the search, return the heads of what is found."""
    browser.press(Keys.ESCAPE)
    browser.js("document.activeElement.blur();")
    browser.press("/")
    same(browser.js("return document.activeElement.id"), "search", "'/' leads to the search")
    browser.press(words)
    same(browser.js("return document.getElementById('search').value"), words, "what is typed replaces what was there")
    browser.wait("return document.getElementById('count').textContent !== '' && !document.getElementById('found').hidden", "the search's answer")
    return browser.texts("#found .heading")


def search(browser):
    browser.resize(1280, 900)
    browser.open(address("adr/0009-faults.html"), wait=False)
    heads = found(browser, "kill-nic")
    expect(heads and heads[0].startswith("--kill-nic"), f"the option comes first: {heads[:3]}")
    same(browser.js("return document.getElementById('search').getAttribute('aria-activedescendant')"), "found-0", "the first is chosen")
    browser.press(Keys.ARROW_DOWN)
    same(browser.js("return document.querySelectorAll('#found [aria-selected=true]').length"), 1, "one is chosen")
    browser.press(Keys.ARROW_UP, Keys.ENTER)
    browser.wait("return location.pathname.endsWith('manual.html')", "the manual")
    expect(browser.js("return Boolean(document.getElementById(decodeURIComponent(location.hash.slice(1))))"), "the place is there")
    same(found(browser, "no such word anywhere zzz"), [], "nothing is found")
    same(found(browser, "<img/src=x>"), [], "what is typed is no markup")
    same(browser.js("return document.querySelectorAll('#found img').length"), 0, "no picture was made")
    heads = found(browser, "straggl critical")
    expect(len(heads) > 1, "beginnings of words are found, in any order")
    expect(browser.js("return [...document.querySelectorAll('#found mark')].some(node => node.textContent.toLowerCase() === 'critical')"), "words are marked")
    browser.press(Keys.ESCAPE)
    same(browser.js("return document.getElementById('found').hidden"), True, "Escape closes the list")


def keyboard(browser):
    browser.open(address("index.html"), wait=False)
    browser.press(Keys.TAB)
    same(browser.js("return document.activeElement.className"), "skip", "the first stop skips to the text")
    browser.press(Keys.ENTER)
    browser.wait("return document.activeElement.id === 'content'", "the text")
    browser.resize(400, 900)
    browser.open(address("index.html"), wait=False)
    same(browser.js("return getComputedStyle(document.getElementById('nav')).display"), "none", "a small screen hides the navigation")
    browser.find("#menu").click()
    same(browser.js("return [getComputedStyle(document.getElementById('nav')).display, document.getElementById('menu').getAttribute('aria-expanded')]"),
         ["block", "true"], "the menu opens it")


def copies(browser):
    """Commands are copied without their prompts and without what they print."""
    browser.resize(1280, 900)
    browser.open(address("tutorial-schedule-designer.html"), wait=False)
    text = browser.js("""
        let text = null;
        Object.defineProperty(navigator, 'clipboard', {value: {writeText: words => { text = words; return Promise.resolve(); }}});
        [...document.querySelectorAll('.code')].find(box => box.textContent.includes('rhd.xml: a correct')).querySelector('.copy').click();
        return text;""")
    lines = (text or "").split("\n")
    expect(len(lines) == 3 and all(line.startswith("collsim ") for line in lines), f"what is copied: {text!r}")


def without_scripts(browser):
    browser.resize(400, 900)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(address("stragglar.html"), wait=False)
    layout = browser.cdp("DOM.getDocument")
    for selector in ("#nav a[aria-current]", "#toc a", "article h2"):
        node = browser.cdp("DOM.querySelector", nodeId=layout["root"]["nodeId"], selector=selector)["nodeId"]
        box = browser.cdp("DOM.getBoxModel", nodeId=node)["model"]
        expect(box["width"] > 0 and box["height"] > 0, f"without scripts {selector} can be seen")
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)


def main():
    made = subprocess.run([sys.executable, BUILD, harness.COLLSIM, SITE, "--quick"], capture_output=True, text=True)
    if not expect(made.returncode == 0, f"the site is made: {made.stderr}"):
        return
    browser = harness.Browser()
    looks(browser)
    search(browser)
    keyboard(browser)
    copies(browser)
    without_scripts(browser)
    same([line for line in browser.console() if not line.startswith("DEBUG")], [], "the console")
    same([url for url in browser.requests() if not url.startswith(("file://", "about:", "data:", "chrome://"))], [], "requests")


for program in ("pandoc", "mandoc", "gnuplot"):
    if not shutil.which(program):
        harness.skip("there is no %s (scripts/site installs it)" % program)
harness.run(main)
