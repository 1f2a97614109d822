# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame around every page: head, navigation by question, the page's headings, what comes before and after it."""
import posixpath

import tree
from tree import element


def icon():
    return element("svg", element("path", d="M3 17 8 9l4 5 4-9 5 12", fill="none", stroke="currentColor", stroke_width="2.4",
                                  stroke_linecap="round", stroke_linejoin="round"),
                   viewBox="0 0 24 22", width="22", height="20", aria_hidden="true", focusable="false")


def link_to(page, output):
    return posixpath.relpath(output, posixpath.dirname(page.output) or ".")


def side(page, groups, outputs):
    """The navigation; the decisions, which are many, are folded away unless one of them is shown."""
    parts = []
    for question, rows in groups:
        items = [element("li", element("a", label, href=link_to(page, outputs[source]),
                                       aria_current="page" if source == page.source else None)) for source, label in rows]
        if question == "Decisions":
            parts.append(element("details", element("summary", question), element("ul", *items),
                                 open="open" if any(source == page.source for source, _ in rows) else None))
        else:
            parts += [element("h2", question), element("ul", *items)]
    return element("nav", *parts, id="nav", aria_label="Pages")


def on_this_page(page):
    """The tree of the headings below the title, two levels of it."""
    headings = [heading for heading in page.headings if heading[0] in (2, 3)]
    if len(headings) < 2:
        return None
    top, last = element("ul"), None
    for level, name, text in headings:
        item = element("li", element("a", text, href="#" + name))
        if level == 2 or last is None:
            top.append(item)
            last = item
        else:
            below = last.find("ul")
            if below is None:
                below = element("ul")
                last.append(below)
            below.append(item)
    return element("aside", element("details", element("summary", "On this page"), element("nav", top, aria_label="On this page"),
                                    open="open"), id="toc")


def neighbours(page, groups, outputs):
    order = [row for _, rows in groups for row in rows]
    place = next((number for number, (source, _) in enumerate(order) if source == page.source), None)
    if place is None:
        return None
    links = []
    for step, word in ((-1, "Before"), (1, "Next")):
        if 0 <= place + step < len(order):
            source, label = order[place + step]
            links.append(element("a", element("span", word), " ", label, href=link_to(page, outputs[source]),
                                 class_=word.lower(), rel="prev" if step < 0 else "next"))
    return element("nav", *links, class_="neighbours", aria_label="Pages before and after")


def search_box():
    field = element("input", type="search", id="search", placeholder="Search  ( / )", autocomplete="off", spellcheck="false",
                    role="combobox", aria_label="Search all pages", aria_expanded="false", aria_controls="found",
                    aria_autocomplete="list")
    return element("search", field, element("ul", id="found", role="listbox", aria_label="Found", hidden="hidden"),
                   element("p", id="count", role="status", class_="hidden"), role="search")


def whole(page, groups, outputs, version):
    """The text of a page's file."""
    up = posixpath.relpath(".", posixpath.dirname(page.output) or ".")
    up = "" if up == "." else up + "/"
    body = page.body
    head = element("head", element("meta", charset="utf-8"),
                   element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                   element("meta", name="color-scheme", content="light dark"),
                   element("title", page.title if page.title == "collsim" else page.title + " - collsim"),
                   element("link", rel="stylesheet", href=up + "site.css"),
                   element("script", "", src=up + "site.js", defer="defer"))
    header = element("header", element("a", icon(), element("strong", "collsim"), element("span", version, class_="version"),
                                       href=up + "index.html", class_="brand"),
                     search_box(),
                     element("button", "Menu", type="button", id="menu", aria_expanded="false", aria_controls="nav"))
    main = element("main", element("article", *([body.text] if body.text else []), *list(body)), neighbours(page, groups, outputs),
                   element("footer", element("p", "Made from ", element("code", page.source), ", collsim ", version,
                                             ". GPL-3.0-or-later.")), id="content", tabindex="-1")
    toc = on_this_page(page)
    frame = element("div", side(page, groups, outputs), toc, main, class_="frame" + ("" if toc is not None else " no-toc"))
    html = element("html", head, element("body", element("a", "Skip to the text", href="#content", class_="skip"), header, frame,
                                         data_up=up), lang="en")
    return "<!DOCTYPE html>\n" + tree.written(html) + "\n"
