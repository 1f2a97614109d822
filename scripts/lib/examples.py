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
