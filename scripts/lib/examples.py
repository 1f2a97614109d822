# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples and pictures of README.md and of the pages, and a folder to run them in."""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def pages():
    """(name, text) of README.md and of every page of sim/doc"""
    for path in [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "sim/doc/*.md"))):
        with open(path, encoding="utf-8") as page:
            yield os.path.relpath(path, ROOT), page.read()


def documents():
    """(name, text) of everything that is written for readers: the pages, CONTRIBUTING.md, .., decisions"""
    names = glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "sim/doc/**/*.md"), recursive=True)
    for path in sorted(names):
        with open(path, encoding="utf-8") as page:
            yield os.path.relpath(path, ROOT), page.read()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(text):
    """What a link may name in a page: its headings, as GitHub turns them into names"""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def broken_links(name, text, root=ROOT):
    """One line for each link of a page that leads nowhere, and for each path or function of a file that is not there"""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        path = os.path.normpath(os.path.join(root, os.path.dirname(name), target)) if target else os.path.join(root, name)
        if re.match(r"https?:", target):
            continue
        if not os.path.exists(path):
            yield "%s: the link to %s leads nowhere" % (name, target)
        elif anchor and path.endswith(".md"):
            with open(path, encoding="utf-8") as page:
                if anchor not in anchors(page.read()):
                    yield "%s: %s has no heading #%s" % (name, target or name, anchor)
    # The change log names what was there at its time.
    for path in [] if name.endswith("CHANGELOG.md") else re.findall(
            r"`((?:sim|algorithms|models|tests|scripts|configs|traces)/[\w./*-]*)", text):
        if not re.search(r"NAME|FOLDER|mine", path) and not glob.glob(os.path.join(root, path)):
            yield "%s: there is no %s" % (name, path)
    # `FILE.c` `function`
    for path, function in [] if name.endswith("CHANGELOG.md") else re.findall(r"`([\w./-]+\.[ch])` `(\w+)`", text):
        file = os.path.join(root, path)
        if os.path.exists(file) and not re.search(r"\b%s\(" % function, read(file)):
            yield "%s: there is no %s() in %s" % (name, function, path)


def examples(text):
    """(command, lines that it prints) of every `$ ...` line in a code block"""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S):
        command, output = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, output
                command, output = line[2:], []
            elif command:
                output.append(line.rstrip())
        if command:
            yield command, output


def pictures(text, page):
    """The SVG pictures of a page, as paths in the project"""
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", text):
        yield os.path.normpath(os.path.join(os.path.dirname(page), path))


def make_place(folder, binary):
    """A folder to run examples in; returns the environment for them."""
    for name in ("configs", "traces"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    for name in ("build/collsim", ".bin/collsim"):
        path = os.path.join(folder, name)
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as program:
            program.write('#!/bin/sh\nexec "%s" "$@"\n' % binary)
        os.chmod(path, 0o755)
    return dict(os.environ, PATH=os.path.join(folder, ".bin") + ":" + os.environ["PATH"])
