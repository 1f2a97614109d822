#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every key and every control of the page does what the manual says; what it changes is in the address,
and is there again when the page is opened by that address.

usage: keys.py COLLSIM_BINARY
"""
import json
import time

import harness
from harness import Browser, By, Keys, Page, expect, plain, same

SWEEP = ("-a", "ring,rhd,allpairs,stragglar", "-n", "4,8,16", "-s", "4K:4G:x64", "--late", "3=10us:10.24ms:x2",
         "--show", "ranks=8,bytes=16M,arrivals.late[0].delay_s=160us")
browser = None


def place(d):
    return browser.js("return collsim.sweep.place[arguments[0]][collsim.state.setting]", d)


def state():
    return browser.js("return JSON.stringify(collsim.state)")


def comes_back(page, what):
    """The state is in the address, and a page opened by it shows the same."""
    fragment, before = browser.hash(), state()
    expect(fragment != "", f"{what}: nothing in the address")
    browser.open(page, fragment)
    same(json.loads(state()), json.loads(before), f"{what}: the state that #{fragment} brings back")
    expect(browser.js("return document.getElementById('status').hidden"), f"{what}: #{fragment} is not understood: "
           + browser.text("#status"))


def numbers(page):
    dims = browser.js("return collsim.sweep.dims.map(d => d.values.length)")
    same(len(browser.find_all("#answer .num")), len(dims), "a number for each axis")
    for d, n in enumerate(dims):
        far = max(2, round(n / 8))
        browser.focus(f'#answer .num[data-dim="{d}"]')
        for key, want in ((Keys.HOME, 0), (Keys.ARROW_LEFT, 0), (Keys.ARROW_RIGHT, 1), (Keys.ARROW_UP, 2), (Keys.ARROW_DOWN, 1),
                          (Keys.ARROW_LEFT, 0), (Keys.PAGE_UP, min(n - 1, far)), (Keys.PAGE_DOWN, min(n - 1, far) - far),
                          (Keys.END, n - 1), (Keys.ARROW_RIGHT, n - 1)):
            browser.press(key)
            same(place(d), max(0, want), f"axis {d}, key {key!r}: place")
        number = browser.find(f'#answer .num[data-dim="{d}"]')
        expect(browser.js("return document.activeElement === arguments[0]", number), f"axis {d}: the focus went away")
        same(number.get_attribute("aria-valuenow"), str(n - 1), f"axis {d}: aria-valuenow")
        same(plain(number.get_attribute("aria-valuetext")), plain(number.text), f"axis {d}: aria-valuetext")
        same(number.get_attribute("role"), "slider", f"axis {d}: role")
        comes_back(page, f"axis {d}")
    d = dims.index(max(dims))
    browser.focus(f'#answer .num[data-dim="{d}"]')
    browser.press(Keys.HOME)
    box = browser.js("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                     "return [b.x + b.width / 2, b.y + b.height / 2];", f'#answer .num[data-dim="{d}"]')
    sentence = browser.text("#verdict")
    browser.drag(box[0], box[1], box[0] + 200, box[1])
    expect(place(d) > 1, f"dragging a number: place {place(d)}")
    expect(browser.text("#verdict") != sentence, "dragging a number leaves the sentence as it was")
    before = place(d)
    browser.mouse("mouseMoved", box[0] + 260, box[1])
    same(place(d), before, "a pointer that is up moves the number")


def page_keys(page):
    browser.open(page)
    browser.settle()
    theme = browser.js("return document.documentElement.dataset.theme")
    browser.press("t")
    other = browser.js("return document.documentElement.dataset.theme")
    same(sorted([theme, other]), ["dark", "light"], "themes of T")
    comes_back(page, "theme")
    same(browser.js("return document.documentElement.dataset.theme"), other, "theme after opening")
    browser.find("#theme").click()
    same(browser.js("return document.documentElement.dataset.theme"), theme, "theme after its button")

    for way in ("?", "#help"):
        if way == "?":
            browser.press("?")
        else:
            browser.find(way).click()
        expect(browser.js("return document.getElementById('keys').open"), f"{way} shows no keys")
        listed = plain(browser.text("#keys"))
        for key in ("T", "G then 1-9", "/", "L", "W S", "A D", "C / H / F", "Space / Esc"):
            expect(key in listed, f"the key {key} is not listed: {listed}")
        if way == "?":
            browser.press(Keys.ESCAPE)
        else:
            browser.find("#keys button").click()
        expect(not browser.js("return document.getElementById('keys').open"), f"the keys of {way} do not close")

    ids = browser.js("return [...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id)")
    expect(len(ids) >= 6, f"sections: {ids}")
    for k, name in enumerate(ids[:9]):
        browser.press("g", str(k + 1))
        same(browser.js("const s = document.activeElement.closest('section'); return s && s.id;"), name, f"G {k + 1}")
        top = browser.js("return document.activeElement.getBoundingClientRect().top")
        time.sleep(0.05)
        browser.wait("const t = document.activeElement.getBoundingClientRect().top; return t >= 0 && t < innerHeight",
                     f"section {name} to be seen (was at {top})")
    for link in browser.js("return [...document.querySelectorAll('#nav a')].map(a => a.hash)"):
        browser.js("document.querySelector(arguments[0]).click();", f'#nav a[href="{link}"]')
        same(browser.js("return document.activeElement.closest('section').id"), link[1:], f"the link {link}")

    browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.js("document.activeElement.blur(); scrollTo(0, 0);")
    for way in ("l", "#share"):
        browser.press("l") if way == "l" else browser.find(way).click()
        browser.wait("return !document.getElementById('status').hidden", "the word that a link is copied")
        told = browser.text("#status")
        address = browser.js("return location.href")
        if "copied" in told:
            same(browser.js_async("navigator.clipboard.readText().then(done, e => done(String(e)))"), address, way + " copies")
        else:
            same(told, address, way + " shows")
        browser.js("document.getElementById('status').hidden = true;")


def table_of_rows(page):
    browser.open(page)
    browser.settle()
    all_rows = browser.js("return collsim.sweep.state.filter(s => s > 0).length")
    browser.press("/")
    same(browser.js("return document.activeElement.className"), "filter", "focus of /")
    browser.press(*"ring")
    browser.wait("return collsim.state.filter === 'ring'", "the filter")
    count = browser.js("return collsim.sweep.n")
    same(plain(browser.text("#rows .count")), f"{count:,} rows", "rows of ring")
    names = set(browser.texts("#rows tbody th"))
    same(names, {"ring"}, "names of the rows that are left")
    comes_back(page, "filter")
    for words, part in (("bytes=256K ranks=8", 1 / 4 / 3), ("delay<=20us ring", 2 / 11 / 4), ("ranks!=8 stragglar", 2 / 3 / 4)):
        browser.js("const f = document.querySelector('#rows input'); f.value = arguments[0];"
                   "f.dispatchEvent(new Event('input'));", words)
        browser.wait(f"return collsim.state.filter === {json.dumps(words)}", words)
        same(plain(browser.text("#rows .count")), f"{round(all_rows * part):,} rows", f"rows of {words!r}")
    browser.js("const f = document.querySelector('#rows input'); f.value = 'nonsense'; f.dispatchEvent(new Event('input'));")
    browser.wait("return document.querySelector('#rows tbody').textContent.includes('No rows match')", "the word that none match")
    browser.js("[...document.querySelectorAll('#rows tbody button')].find(b => b.textContent === 'Clear filter').click();")
    same(plain(browser.text("#rows .count")), f"{all_rows:,} rows", "rows without a filter")

    heads = browser.js("return [...document.querySelectorAll('#rows thead button')].map(b => b.dataset.key)")
    for key in ("exposed_s", "ranks"):
        for sort, sign in ((key, 1), ("-" + key, -1), ("", 0)):
            browser.js("document.querySelector(`#rows thead button[data-key=\"${arguments[0]}\"]`).click();", key)
            same(browser.js("return collsim.state.sort"), sort, f"a press on {key}")
            values = browser.js("""
                const {sweep, state} = collsim, d = sweep.dim_of.get(arguments[0]);
                const of = c => d === undefined ? sweep.measure[arguments[0]].values[c] :
                    sweep.dims[d].values[sweep.place[d][Math.floor(c / sweep.A)]];
                return [...document.querySelectorAll('#rows tbody tr')].map(r => of(Number(r.dataset.cell)));""", key)
            if sign:
                same(values, sorted(values, reverse=sign < 0), f"rows sorted by {sort}")
            aria = browser.js("return document.querySelector(`#rows thead button[data-key=\"${arguments[0]}\"]`)"
                              ".closest('th').getAttribute('aria-sort')", key)
            same(aria, {1: "ascending", -1: "descending", 0: "none"}[sign], f"aria-sort of {sort or key}")
        browser.js("document.querySelector(`#rows thead button[data-key=\"${arguments[0]}\"]`).click();", key)
        comes_back(page, f"sort by {key}")
        browser.settle()
    expect("algorithm" in heads and "state" in heads, f"columns: {heads}")

    browser.js("document.querySelector('#rows tbody tr').focus();")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    row = browser.js("const r = document.activeElement; return [[...r.parentNode.children].indexOf(r), Number(r.dataset.cell)];")
    same(row[0], 1, "row after two down and one up")
    browser.press(Keys.ENTER)
    same(browser.js("return collsim.state.setting"), row[1] // 4, "the setting of the row")
    before = browser.js("return document.querySelectorAll('#rows tbody tr').length")
    browser.js("const s = document.querySelector('.rowscroll'); s.scrollTop = s.scrollHeight;")
    browser.wait(f"return document.querySelectorAll('#rows tbody tr').length > {before}", "more rows while scrolling")


def map_and_curves(page):
    browser.open(page)
    browser.settle()
    browser.focus("#when .map svg")
    axes = browser.js("const m = document.querySelector('#when .map svg').map; return [m.x, m.y];")
    x, y = axes
    start = place(x), place(y)
    for key, d, by in ((Keys.ARROW_RIGHT, x, 1), (Keys.ARROW_UP, y, 1), (Keys.ARROW_LEFT, x, -1), (Keys.ARROW_DOWN, y, -1)):
        want = place(d) + by
        browser.press(key)
        same(place(d), want, f"map, key {key!r}")
    same((place(x), place(y)), start, "map, there and back")
    browser.press(Keys.HOME)
    same(place(x), 0, "map, Home")
    browser.press(Keys.END)
    same(place(x), browser.js("return collsim.sweep.dims[arguments[0]].values.length - 1", x), "map, End")
    comes_back(page, "map")
    browser.settle()
    box = browser.js("const s = document.querySelector('#when .map svg'), {ax, ay} = s.map, b = s.getBoundingClientRect(),"
                     " k = b.width / s.viewBox.baseVal.width; s.scrollIntoView({block: 'center', behavior: 'instant'});"
                     " const c = s.getBoundingClientRect(); return {x: c.x, y: c.y, k, cx: ax.centre(2), cy: ay.centre(1)};")
    px, py = box["x"] + box["cx"] * box["k"], box["y"] + box["cy"] * box["k"]
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        browser.mouse(kind, px, py, **({} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}))
    same((place(x), place(y)), (2, 1), "map, a press")
    for d, n in enumerate(browser.js("return collsim.sweep.dims.map(d => d.values.length)")):
        if d not in (x, y):
            for k in range(n):
                browser.js("document.querySelectorAll('#when .thumb')[arguments[0]].click();", k)
                same(place(d), k, f"small map {k}")
    map_opens_timeline()
    browser.focus("#when .cut svg")
    browser.press(Keys.HOME, Keys.ARROW_RIGHT)
    same(place(x), 1, "curve, Home and right")
    browser.press(Keys.END)
    same(place(x), browser.js("return collsim.sweep.dims[arguments[0]].values.length - 1", x), "curve, End")
    choices("when", page)
    history(x)


def map_opens_timeline():
    browser.js("document.querySelector('#when .map svg').focus(); scrollTo({top: 0, behavior: 'instant'});")
    browser.js("collsim.change({setting: collsim.sweep.start === 0 ? 1 : 0});")
    browser.press(Keys.ENTER)
    same(browser.text("#status"), "The page has no timeline of this scenario.", "Enter on the map of another scenario")
    browser.js("collsim.change({setting: collsim.sweep.start});")
    browser.press(Keys.ENTER)
    browser.wait("const b = document.getElementById('timeline').getBoundingClientRect(); return b.top >= -5 && b.top < innerHeight",
                 "the timeline, by Enter on the map")


def history(x):
    """Back is where one was."""
    time.sleep(1.2)
    before = place(x)
    browser.focus("#when .cut svg")
    browser.press(Keys.HOME)
    browser.hash()
    browser.driver.back()
    browser.wait(f"return collsim.sweep.place[{x}][collsim.state.setting] === {before}", "the setting before, by Back")


def choices(section, page):
    """Each choice of each select, each switch of the legend."""
    labels = browser.js("return [...document.querySelectorAll(`#${arguments[0]} .controls select`)].map(s =>"
                        " [...s.options].map(o => o.value))", section)
    for k, values in enumerate(labels):
        for value in values[::-1]:
            before = state()
            was = browser.js("return [...document.querySelectorAll(`#${arguments[0]} .controls select`)][arguments[1]].value",
                             section, k)
            browser.js("const s = [...document.querySelectorAll(`#${arguments[0]} .controls select`)][arguments[1]];"
                       "s.value = arguments[2]; s.dispatchEvent(new Event('change'));", section, k, value)
            if value != was:
                expect(state() != before, f"{section}: choice {k}, {value} changes nothing")
        if len(values) > 1:
            browser.js("const s = [...document.querySelectorAll(`#${arguments[0]} .controls select`)][arguments[1]];"
                       "s.value = arguments[2]; s.dispatchEvent(new Event('change'));", section, k, values[-1])
    if labels:
        comes_back(page, f"choices of {section}")
        browser.settle()


def explorer(page):
    browser.open(page)
    browser.settle()
    choices("explore", page)
    names = browser.texts("#explore .legend button")
    same(len(names), 4, "names in the legend")
    browser.open(page)
    browser.settle()
    lines = "return document.querySelectorAll('#explore .panels svg.plot g[clip-path] > path[fill=none]').length"
    before = browser.js(lines)
    browser.js("document.querySelectorAll('#explore .legend button')[0].click();")
    same(browser.js("return collsim.state.off"), "ring", "what is switched off")
    panels = browser.js("return document.querySelectorAll('#explore .panels svg.plot').length")
    same(browser.js(lines), before - panels, "a curve less in each panel")
    comes_back(page, "a curve switched off")
    browser.settle()
    browser.js("document.querySelectorAll('#explore .legend button')[0].click();")
    same(browser.js(lines), before, "all curves again")
    tables = len(browser.find_all("main details.more"))
    for k in range(tables):
        count = browser.js_async("const d = document.querySelectorAll('main details.more')[arguments[0]]; d.open = true;"
                                 "setTimeout(() => done(d.querySelectorAll('tbody tr').length), 60)", k)
        expect(count > 0, f"table {k} is empty")
    expect(tables >= 5, f"{tables} plots can be shown as tables")


def timeline(page):
    browser.open(page)
    browser.settle()
    browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'});")
    browser.focus("#timeline canvas")

    def window():
        v = browser.js("return collsim.timeline.view()")
        return v["from"], v["to"]

    def width():
        return window()[1] - window()[0]

    whole = window()
    browser.press("w")
    expect(abs(width() / (whole[1] - whole[0]) - 0.75) < 0.03, f"W: {window()} of {whole}")
    at = window()
    browser.press("d")
    expect(window()[0] > at[0] and abs(width() - (at[1] - at[0])) < 1e-9, "D pans to later")
    browser.press("a")
    expect(abs(window()[0] - at[0]) < 1e-9, "A pans back")
    time.sleep(0.4)
    comes_back(page, "zoom")
    browser.settle()
    now = window()
    expect(abs(now[0] - at[0]) < 2e-9 and abs(now[1] - at[1]) < 2e-9, f"the part that is shown: {now}, not {at}")
    browser.focus("#timeline canvas")
    browser.press("s")
    expect(width() > (at[1] - at[0]) * 1.2, "S zooms out")
    browser.press("w", "w", "w", "f")
    expect(abs(width() - (whole[1] - whole[0])) < 1e-9, "F shows all")

    pressed = "return document.querySelector('#timeline [data-tl=\"%s\"]').getAttribute('aria-pressed')"
    for key, name, value in (("c", "crit", "false"), ("h", "use", "true")):
        browser.press(key)
        same(browser.js(pressed % name), value, f"the button after {key}")
    browser.wait("return !/[#&]t=/.test(location.hash)", "the address of the whole run")
    comes_back(page, "critical path and use")
    browser.settle()
    browser.focus("#timeline canvas")
    browser.press("c", "h")
    same(browser.js("return [collsim.state.crit, collsim.state.mode]"), [True, "op"], "C and H again")
    for mode in ("op", "chunk", "round", "use"):
        browser.js("document.querySelector('#timeline [data-tl=\"' + arguments[0] + '\"]').click();", mode)
        same(browser.js("return collsim.state.mode"), mode, "mode")
        expect(browser.text("#timeline .tl-legend") != "", f"mode {mode} has no legend")
    walk(page)

    browser.focus("#timeline canvas")
    browser.press(" ")
    same(browser.js(pressed % "play"), "true", "the button while it plays")
    browser.press(Keys.ESCAPE)
    same(browser.js(pressed % "play"), "false", "the button after Escape")
    same(browser.js("return collsim.state.sel"), None, "the selection after Escape")


def walk(page):
    """Arrows walk the transfers: along a port, back to what was waited for, on to what waited."""
    browser.focus("#timeline canvas")
    browser.press(Keys.ESCAPE, Keys.ARROW_RIGHT)
    first = browser.js("return collsim.state.sel")
    expect(first is not None, "an arrow selects nothing")
    runs = page.data["views"][0]["runs"]
    run = page.data["runs"][runs[first["run"]]]
    path = harness.unpack(run["critical"])
    same(first["i"], path[0], "the first is where the critical path begins")
    why = harness.unpack(run["c"]["why"])
    at = first["i"]
    for _ in range(5):
        browser.press(Keys.ARROW_DOWN)
        on = browser.js("return collsim.state.sel")["i"]
        same(on - why[on], at, "what waited for the one before")
        expect(on in path, "the walk leaves the critical path")
        at = on
    for _ in range(5):
        browser.press(Keys.ARROW_UP)
        same(browser.js("return collsim.state.sel")["i"], at - why[at], "what it waited for")
        at -= why[at]
    sender, fabric = harness.unpack(run["c"]["from"]), harness.unpack(run["c"]["fabric"])
    browser.press(Keys.ARROW_RIGHT)
    right = browser.js("return collsim.state.sel")["i"]
    later = [i for i in range(at + 1, len(sender)) if sender[i] == sender[at] and fabric[i] == fabric[at]]
    if 2 not in harness.unpack(run["c"]["op"]):
        same(right, later[0] if later else at, "the next of the port")
    browser.press(Keys.ARROW_LEFT)
    same(browser.js("return collsim.state.sel")["i"], at, "and back")
    expect("GPU" in browser.text("#timeline .spoken-line"), "the selection is not spoken")
    comes_back(page, "selection")
    browser.settle()
    expect("GPU" in browser.text("#timeline .spoken-line"), "the selection is not spoken after opening")


def wrong_address(page):
    """What is not understood in an address is said; nothing of it becomes part of the page."""
    browser.open(page, "ranks=9&theme=pink&x=%3Cimg%20src=x%20onerror=alert(1)%3E&view=-1&nonsense=1")
    told = browser.text("#status")
    for part in ("“pink” is no value of “theme”", "was not computed", "“-1” is no value of “view”"):
        expect(part in told, f"not said of a wrong address: {part!r}; but {told!r}")
    same(len(browser.find_all("main img[src=x], #status img")), 0, "elements that the address brought in")


def main():
    global browser
    page = Page(*SWEEP)
    browser = Browser()
    browser.open(page)
    numbers(page)
    page_keys(page)
    table_of_rows(page)
    map_and_curves(page)
    explorer(page)
    timeline(page)
    wrong_address(page)
    same([line for line in browser.console() if "favicon" not in line], [], "the console")


harness.run(main)
