# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold for a site, read from its files alone."""
import html.parser
import json
import os
import posixpath
import re
import xml.etree.ElementTree as ET
from urllib.parse import unquote

from tree import VOID

OUTSIDE = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.I)
LOADED = (("script", "src"), ("link", "href"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("object", "data"),
          ("embed", "src"), ("video", "src"), ("audio", "src"), ("image", "href"), ("use", "href"))


class Reader(html.parser.HTMLParser):
    """Links, ids and what is loaded by a page, as an HTML parser sees them"""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.nav_links, self.loaded, self.problems, self.open, self.n_titles = [], [], [], [], [], [], 0
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append("<%s> is not closed" % self.open[-1])

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        have = dict(attributes)
        if "id" in have:
            self.ids.append(have["id"])
        if tag == "a" and "href" in have:
            self.links.append(have["href"])
            if "nav" in self.open:
                self.nav_links.append(have["href"])
        self.loaded += [have[name] for owner, name in LOADED if tag == owner and name in have]
        if tag == "img" and not have.get("alt"):
            self.problems.append("a picture without alt: %s" % have.get("src"))
        self.n_titles += tag == "h1"

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append("</%s> closes another element" % tag)


def pages(folder):
    """{name: text} of every page; reports, which the program writes, are none"""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "reports")
        for name in sorted(files):
            if name.endswith(".html"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def target_of(name, link):
    path, _, anchor = link.partition("#")
    path = unquote(path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name, unquote(anchor)


def links(folder, readers=None):
    """A line for every link that leads nowhere, and for every picture, script or style that is not there"""
    readers = readers or {name: Reader(text) for name, text in pages(folder).items()}
    wrong = []
    for name, reader in readers.items():
        ids = set(reader.ids)
        for link in reader.links + reader.loaded:
            if OUTSIDE.match(link):
                continue
            path, anchor = target_of(name, link)
            if not os.path.isfile(os.path.join(folder, path)):
                wrong.append("%s: the link to %s leads nowhere" % (name, link))
            elif anchor and path in readers and anchor not in (ids if path == name else set(readers[path].ids)):
                wrong.append("%s: %s has no place #%s" % (name, path, anchor))
    return wrong


def form(readers, texts):
    for name, reader in readers.items():
        for problem in reader.problems:
            yield "%s: %s" % (name, problem)
        try:
            ET.fromstring(re.sub(r"^<!DOCTYPE html>\n", "", texts[name]))
        except ET.ParseError as error:
            yield "%s: not well formed: %s" % (name, error)
        if not texts[name].startswith("<!DOCTYPE html>\n<html lang="):
            yield "%s: has no doctype and language" % name
        if reader.n_titles != 1:
            yield "%s: has %d headings of the first level" % (name, reader.n_titles)
        for double in sorted({place for place in reader.ids if reader.ids.count(place) > 1}):
            yield "%s: has #%s twice" % (name, double)


def outside(folder, readers):
    """Requests that a browser would send without a click"""
    for name, reader in readers.items():
        for link in reader.loaded:
            if OUTSIDE.match(link):
                yield "%s: loads %s" % (name, link)
    for name in ("site.css", "site.js"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for found in re.findall(r"@import|url\([^)]*|https?://[^\s\"')]*|\bfetch\(|XMLHttpRequest", file.read()):
                yield "%s: loads %s" % (name, found)


def reachable(readers):
    """Every page must be in the navigation of the first page, or, where it shows a file, behind a link."""
    navigated = {target_of("index.html", link)[0] for link in readers["index.html"].nav_links}
    found, todo = {"index.html"}, ["index.html"]
    while todo:
        name = todo.pop()
        for link in readers[name].links:
            path = target_of(name, link)[0]
            if not OUTSIDE.match(link) and path in readers and path not in found:
                found.add(path)
                todo.append(path)
    for name in readers:
        if name not in (found if name.startswith("source/") else navigated):
            yield "%s: no navigation leads to it" % name


def index(folder, readers):
    with open(os.path.join(folder, "search-index.js"), encoding="utf-8") as file:
        text = file.read()
    if not (text.startswith("window.collsimIndex = ") and text.endswith(";\n")):
        yield "search-index.js: is no index"
        return
    data = json.loads(text[len("window.collsimIndex = "):-2])
    listed = [name for name, _ in data["pages"]]
    for name in readers:
        if name not in listed and not name.startswith("source/"):
            yield "search-index.js: lacks %s" % name
    filled = {entry[0] for entry in data["entries"] if entry[3]}
    for number, name in enumerate(listed):
        if number not in filled:
            yield "search-index.js: has no text of %s" % name
    for number, anchor, heading, _ in data["entries"]:
        if not heading or listed[number] not in readers or anchor and anchor not in readers[listed[number]].ids:
            yield "search-index.js: %s has no place #%s" % (listed[number], anchor)


def machine(folder, forbidden):
    """Files that name a folder of the machine that made them"""
    for place, _, files in os.walk(folder):
        for name in sorted(files):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                text = file.read()
            for word in forbidden:
                if word.encode() in text:
                    yield "%s: names %s" % (os.path.relpath(path, folder), word)


def everything(folder, forbidden):
    """Lines of all that is wrong with a site; `forbidden` are paths of this machine that it may not name."""
    texts = pages(folder)
    if "index.html" not in texts:
        return ["there is no index.html"]
    readers = {name: Reader(text) for name, text in texts.items()}
    return (links(folder, readers) + list(form(readers, texts)) + list(outside(folder, readers)) + list(reachable(readers))
            + list(index(folder, readers)) + list(machine(folder, forbidden)))
