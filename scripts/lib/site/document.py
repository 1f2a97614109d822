# SPDX-License-Identifier: GPL-3.0-or-later
"""A page: read by pandoc or mandoc, its links, code, tables and headings made those of the site, and what search finds."""
import os
import posixpath
import re
import subprocess

import contents
import tree
from tree import element

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
MOST_UNBROKEN = 26  # characters
BLOCKS = set(HEADINGS) | {"p", "li", "td", "th", "dt", "dd", "pre", "figcaption", "tr", "div", "table", "br", "summary"}


class Page:
    """source: path in the project; output: file in the site; body: tree; title; headings: [(level, id, text)]"""

    def __init__(self, source, output, body):
        self.source, self.output, self.body = source, output, body
        self.title = self.plain_title()
        self.headings = []

    def plain_title(self):
        heading = next(self.body.iter("h1"), None)
        if heading is None:
            raise ValueError("%s: has no heading" % self.source)
        return re.sub(r"\s+", " ", tree.text_of(heading)).strip()


def run(command, source):
    ran = subprocess.run(command, text=True, encoding="utf-8", capture_output=True)
    if ran.returncode:
        raise ValueError("%s: %s: %s" % (source, command[0], ran.stderr.strip()))
    return ran.stdout


def read(root, source):
    """The page as pandoc, or of the manual mandoc, has it."""
    path = os.path.join(root, source)
    try:
        if source == contents.MAN:
            return Page(source, contents.output_name(source), manual(path, source))
        html = run(["pandoc", "--from=gfm", "--to=html5", "--no-highlight", "--wrap=none", "--columns=10000",
                    "--email-obfuscation=none", path], source)
        return Page(source, contents.output_name(source), tree.parse(html))
    except ValueError as error:
        raise ValueError(error if str(error).startswith(source) else "%s: %s" % (source, error)) from error


def manual(path, source):
    body = tree.parse(run(["mandoc", "-T", "html", "-O", "fragment", path], source))
    lower = {"h1": "h2", "h2": "h3"}
    for node in list(body.iter()):
        if has_no_place(node):
            tree.replace(tree.parents(body)[node], node)
            continue
        node.tag = lower.get(node.tag, node.tag)
        if node.tag == "span" and tree.has_class(node, "Pa") and node.text and re.match(r"sim/doc/\w+\.md$", node.text):
            node.tag = "a"
            node.set("href", os.path.basename(node.text))
        if node.tag == "a" and tree.has_class(node, "permalink") and node.text and len(node) == 0:
            node.tag = "span"
            node.attrib.pop("href", None)
    title = element("h1", "collsim(1): every command, option and key", id="collsim1")
    body.insert(0, title)
    return body


def has_no_place(node):
    return node.tag == "table" and (tree.has_class(node, "head") or tree.has_class(node, "foot"))


def relative(page, output):
    """A file of the site, as a link in this page."""
    return posixpath.relpath(output, posixpath.dirname(page.output) or ".")


def rewrite_links(page, root, outputs, attach):
    """Links between pages lead to the site's files; attach(path) takes in another file of the project and names its page.

    Yields a line for each link that leads nowhere; what a page has is asked for when all of them are made."""
    for node in page.body.iter("a"):
        target = node.get("href")
        if target is None or target.startswith("#"):
            continue
        if re.match(r"https?:|mailto:", target):
            node.set("rel", "noopener")
            continue
        path, _, anchor = target.partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        output = outputs.get(source) or (attach(source) if os.path.isfile(os.path.join(root, source)) else None)
        if output is None or source.startswith(".."):
            yield "%s: the link to %s leads nowhere" % (page.source, target)
            continue
        node.set("href", relative(page, output) + ("#" + anchor if anchor else ""))


def rewrite_images(page, root, take):
    """take(path) copies a picture of the project into the site and names it there."""
    for node in page.body.iter("img"):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), node.get("src")))
        if not os.path.isfile(os.path.join(root, path)):
            yield "%s: there is no picture %s" % (page.source, path)
            continue
        node.set("src", relative(page, take(path)))
        node.set("loading", "lazy")


def is_command(line):
    return line.startswith("$ ")


def code_block(text):
    """A block of code; commands stand out from what they print."""
    code = element("code")
    lines = text.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        end = "\n" if number + 1 < len(lines) else ""
        if is_command(line):
            tree.append(code, element("span", element("span", "$ ", class_="prompt"), line[2:], class_="command"))
            tree.append(code, end)
        else:
            tree.append(code, line + end)
    shell = "session" if any(map(is_command, lines)) else None
    return element("div", element("pre", code, class_=shell), class_="code")


def dress(page):
    """Code blocks, tables that may scroll, and code that breaks at blanks alone."""
    up = tree.parents(page.body)
    for node in list(page.body.iter("pre")):
        if not tree.has_class(up[node], "code"):
            tree.replace(up[node], node, code_block(tree.text_of(node)))
    for node in list(page.body.iter("code")):
        if up.get(node) is not None and up[node].tag != "pre":
            keep_together(node)
    for node in list(page.body.iter("table")):
        for columns in node.findall("colgroup"):
            tree.replace(node, columns)
        if not tree.has_class(node, "Nm"):
            tail, node.tail = node.tail, None
            box = element("div", class_="table")
            box.tail = tail
            place = list(up[node]).index(node)
            up[node].remove(node)
            box.append(node)
            up[node].insert(place, box)


def keep_together(code):
    """Code in a line of text stays on a line if it is short; otherwise its words do, so that no option is broken at its hyphens."""
    words = tree.text_of(code).split(" ")
    if len(" ".join(words)) <= MOST_UNBROKEN:
        code.set("class", (code.get("class", "") + " short").strip())
    elif len(code) == 0:
        code.text = None
        for number, word in enumerate(words):
            tree.append(code, " " if number else None)
            tree.append(code, element("span", word, class_="short") if len(word) <= MOST_UNBROKEN else word)


def note_headings(page):
    """The headings of a page that is otherwise done, each with a link to itself."""
    for node in page.body.iter():
        if node.tag in HEADINGS and node.get("id"):
            page.headings.append((int(node.tag[1]), node.get("id"), re.sub(r"\s+", " ", tree.text_of(node)).strip()))
            if node.tag != "h1":
                tree.append(node, element("a", "#", class_="anchor", href="#" + node.get("id"), aria_label="Link to this section"))


def indexed(page):
    """[(id of the place, its heading, text)]: what search finds in a page, one entry for a heading or a term of the manual"""
    entries = [[page.headings[0][1] if page.headings else "", page.title, []]]

    def visit(node):
        if node.tag == "h1" or node.tag == "a" and tree.has_class(node, "anchor") or tree.has_class(node, "not-searched"):
            return
        starts = node.get("id") and (node.tag in HEADINGS or node.tag == "dt" or node.tag == "figure")
        if node.tag == "dt" and not node.get("id"):
            inside = next((child.get("id") for child in node.iter() if child.get("id")), None)
            starts = inside
        if starts:
            name = node.get("id") or starts
            heading = node.get("data-title") or tree.text_of(node)
            entries.append([name, re.sub(r"\s*#?$", "", re.sub(r"\s+", " ", heading)).strip(), []])
            if node.tag != "figure":
                return
        words = entries[-1][2]
        if node.tag == "pre" and tree.has_class(node, "session"):
            words += [tree.text_of(line)[2:] + " " for line in node.iter("span") if tree.has_class(line, "command")]
            return
        words.append(node.text or "")
        for child in node:
            visit(child)
            entries[-1][2].append((" " if child.tag in BLOCKS else "") + (child.tail or ""))

    visit(page.body)
    return [(name, heading, re.sub(r"\s+", " ", "".join(words)).strip()) for name, heading, words in entries]
