#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who cannot see colours, a pointer or the screen: contrast of all text in both themes, names and roles
of all controls as the browser's accessibility tree has them, sizes of targets, a way through the page by
Tab with a visible focus.

usage: access.py COLLSIM_BINARY
"""
import harness
from harness import Browser, Keys, Page, expect, same

SWEEP = ("-a", "ring,rhd,allpairs,stragglar", "-n", "4,8,16", "-s", "4K:4G:x64", "--late", "3=10us:10.24ms:x4")
NAMED = {"button", "link", "slider", "combobox", "searchbox", "textbox", "application", "img", "image", "region", "dialog",
         "checkbox", "radio", "spinbutton"}

# Contrast of each text with what lies behind it: backgrounds of its ancestors, one over the other. Text with a halo
# in the colour of the card lies on that; names of regions have an outline of their own.
CONTRAST = """
    const rgba = text => {
        const m = /rgba?\\(([^)]+)\\)/.exec(text);
        if (!m) return [0, 0, 0, 0];
        const v = m[1].split(/[ ,\\/]+/).map(Number);
        return [v[0], v[1], v[2], v.length > 3 ? v[3] : 1];
    };
    const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
    const light = c => {
        const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = node => {
        const layers = [];
        for (let n = node; n; n = n.parentElement) layers.push(rgba(getComputedStyle(n).backgroundColor));
        return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
    };
    const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let count = 0;
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const node = text.parentElement;
        if (!text.data.trim() || ['SCRIPT', 'STYLE', 'OPTION', 'NOSCRIPT', 'CANVAS'].includes(node.tagName)) continue;
        if (!node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
        if (node.closest('.unseen, .skip, .region, [aria-hidden=true]')) continue;
        const style = getComputedStyle(node), is_svg = node instanceof SVGElement;
        let c = rgba(is_svg ? style.fill : style.color);
        let alpha = c[3] * (is_svg ? Number(style.fillOpacity) : 1);
        for (let n = node; n; n = n.parentElement) alpha *= Number(getComputedStyle(n).opacity);
        let back = ground(node);
        if (is_svg && !node.closest('.halo')) {
            const b = node.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
            for (const rect of node.ownerSVGElement.querySelectorAll('rect')) {   // painted before the text, below its middle
                const r = rect.getBoundingClientRect(), s = getComputedStyle(rect);
                if (!(rect.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) || rect.closest('clipPath') ||
                    x < r.left || x > r.right || y < r.top || y > r.bottom) continue;
                const f = rgba(s.fill);
                back = over([f[0], f[1], f[2], f[3] * Number(s.fillOpacity) * Number(s.opacity)], back);
            }
        }
        c = over([c[0], c[1], c[2], alpha], back);
        const [p, q] = [light(c), light(back)].sort((a, b) => b - a), ratio = (p + 0.05) / (q + 0.05);
        const size = parseFloat(style.fontSize), is_large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        count++;
        if (ratio < (is_large ? 3 : 4.5) - 0.005) {
            out.push(`${ratio.toFixed(2)} ${node.tagName}.${node.getAttribute('class') || ''} in ${(node.closest('[id]') || {}).id}: ` +
                text.data.trim().slice(0, 40));
        }
    }
    return {out: [...new Set(out)].slice(0, 20), count};"""

# Marks and lines of algorithms, the critical path, late and slow: 3:1 with the card.
MARKS = """
    const probe = document.createElement('span');
    document.body.append(probe);
    const rgb = value => { probe.style.color = value; return getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number); };
    const light = c => {
        const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const card = light(rgb('var(--card)')), out = [];
    for (const [name, look] of Object.entries(collsim.D.looks)) {
        const colour = look[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];
        const l = light(rgb(colour)), ratio = (Math.max(l, card) + 0.05) / (Math.min(l, card) + 0.05);
        if (ratio < 3) out.push(`${name} ${colour}: ${ratio.toFixed(2)}`);
    }
    probe.remove();
    return out;"""


def contrast(browser, theme):
    browser.js("collsim.change({theme: arguments[0]});", theme)
    same(browser.js("return document.documentElement.dataset.theme"), theme, "theme")
    found = browser.js(CONTRAST)
    expect(found["count"] > 150, f"{theme}: only {found['count']} texts were looked at")
    same(found["out"], [], f"{theme}: texts with too little contrast")
    same(browser.js(MARKS), [], f"{theme}: colours of schedules with too little contrast")


def names(browser):
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    seen = {}
    for node in nodes:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in NAMED:
            continue
        name = node.get("name", {}).get("value", "").strip()
        seen.setdefault(role, []).append(name)
        html = ""
        if not name:
            described = browser.cdp("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"]
            html = f"{described['nodeName']} {described.get('attributes')}"
        expect(name, f"a {role} without a name: {html}")
    for role in ("button", "link", "slider", "combobox", "searchbox", "application", "region"):
        expect(seen.get(role), f"no {role} on the page; roles: {sorted(seen)}")
    expect(seen.get("img") or seen.get("image"), f"no picture has a name; roles: {sorted(seen)}")
    same(len(browser.find_all("h1")), 1, "first headings")
    same(browser.js("return document.documentElement.lang"), "en", "language")
    levels = browser.js("return [...document.querySelectorAll('main h1, main h2, main h3')].filter(h => h.checkVisibility())"
                        ".map(h => Number(h.tagName[1]))")
    expect(all(b - a <= 1 for a, b in zip(levels, levels[1:]) if b > a) or levels[:2] == [1, 3], f"levels of headings: {levels}")
    twice = browser.js("const ids = [...document.querySelectorAll('[id]')].map(n => n.id);"
                       "return ids.filter((n, k) => ids.indexOf(n) !== k);")
    same(twice, [], "ids that occur twice")


def targets(browser):
    """At least 24 pixels high and wide."""
    small = browser.js("""
        return [...document.querySelectorAll('button, select, input, summary, .num')].filter(n => n.checkVisibility()).map(n => {
            const b = n.getBoundingClientRect();
            return [n.tagName + '.' + n.className + ' ' + n.textContent.slice(0, 20), b.width, b.height];
        }).filter(([, w, h]) => w < 23.9 || h < 23.9);""")
    same(small, [], "targets below 24 pixels")


def by_tab(browser):
    """Tab comes to every control that is there, and shows where it is."""
    controls = browser.js("""
        return [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
            .filter(n => n.checkVisibility() && n.tabIndex >= 0 && !n.disabled).length""")
    browser.js("document.activeElement.blur(); scrollTo(0, 0); window.reached = new Set();")
    unseen, covered = [], []
    for _ in range(controls + 15):
        browser.press(Keys.TAB)
        at = browser.js("""
            const n = document.activeElement, s = getComputedStyle(n), b = n.getBoundingClientRect();
            if (n === document.body) return null;
            reached.add(n);
            const bar = document.querySelector('.bar').getBoundingClientRect();
            return {what: n.tagName + '.' + (n.getAttribute('class') || '') + ' ' + n.textContent.slice(0, 20),
                outline: s.outlineStyle !== 'none' ? parseFloat(s.outlineWidth) : 0,
                hidden: b.bottom <= (n.closest('.bar') ? 0 : bar.bottom) || b.top >= innerHeight, skip: n.className === 'skip'};""")
        if at is None:
            break
        if at["outline"] < 2:
            unseen.append(at["what"])
        if at["hidden"] and not at["skip"]:
            covered.append(at["what"])
    reached = browser.js("return reached.size")
    same(unseen, [], "controls whose focus cannot be seen")
    same(covered, [], "controls with the focus outside the window, or behind the bar")
    expect(reached >= controls * 0.97, f"Tab comes to {reached} of {controls} controls")


def main():
    browser = Browser()
    page = Page(*SWEEP)
    browser.open(page)
    browser.settle()
    names(browser)
    targets(browser)
    browser.js("for (const d of document.querySelectorAll('details')) d.open = true;")
    browser.js_async("setTimeout(done, 300)")
    for theme in ("light", "dark"):
        contrast(browser, theme)
    browser.js("for (const d of document.querySelectorAll('details')) d.open = false;")
    browser.media(prefers_reduced_motion="reduce")   # so that nothing scrolls meanwhile
    by_tab(browser)
    spoken(browser)
    other = Page("-a", "ring,optcc", "-n", "16", "-g", "8", "-s", "1G", "--kill-nic", "0.1")
    browser.open(other)
    browser.settle()
    names_of_others(browser)
    for theme in ("light", "dark"):
        found = browser.js("collsim.change({theme: arguments[0]});" + CONTRAST, theme)
        same(found["out"], [], f"broken NIC, {theme}: texts with too little contrast")
    same(browser.console(), [], "the console")


def names_of_others(browser):
    pictures = browser.js("return [...document.querySelectorAll('svg.plot, canvas')].filter(n => n.checkVisibility())"
                          ".filter(n => !n.getAttribute('aria-label')).map(n => n.closest('section').id)")
    same(pictures, [], "pictures without a name, in sections")


def spoken(browser):
    """A moved number is spoken: as value of the slider, and the new sentence politely."""
    browser.focus('#answer .num[data-dim="0"]')
    browser.press(Keys.END, Keys.HOME)
    sentence = browser.text("#verdict")
    browser.wait("return document.getElementById('spoken').textContent === document.getElementById('verdict').textContent",
                 f"the sentence to be spoken: {sentence}")
    same(browser.js("return document.getElementById('spoken').getAttribute('aria-live')"), "polite", "how it is spoken")


harness.run(main)
