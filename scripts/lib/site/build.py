# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders the pages of the project as a site; scripts/site says how it is called.

usage: build.py COLLSIM FOLDER [--figures FOLDER] [--quick] [--root FOLDER]
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contents  # noqa: E402
import document  # noqa: E402
import drawing  # noqa: E402
import layout  # noqa: E402
import verify  # noqa: E402
from examples import ROOT, read  # noqa: E402
from tree import element  # noqa: E402

QUICK_FIGURES = {"late-gpu"}
QUICK_CARDS = {"late-rank", "dead-nic", "whatif-half-nic"}


class Site:
    """A site that is being made in `folder`, beside its final place."""

    def __init__(self, options):
        self.root, self.binary, self.quick, self.ready = options.root, options.collsim, options.quick, options.figures
        self.folder = options.folder
        self.sources = contents.sources(self.root)
        self.outputs = {source: contents.output_name(source) for source in self.sources}
        self.attached = {}
        self.wrong = []
        version = subprocess.run([self.binary, "--version"], text=True, capture_output=True, check=True).stdout
        self.version = version.split()[1] if len(version.split()) > 1 else ""
        for name in ("figures", "gallery", "images"):
            os.makedirs(os.path.join(self.folder, name))

    def say(self, text):
        print("   " + text, flush=True)

    def attach(self, source):
        """A page for a file of the project that is no page, but that one links to."""
        self.attached[source] = "source/%s.html" % source
        return self.attached[source]

    def take(self, path):
        name = path.replace("sim/doc/", "").replace("/", "-")
        shutil.copyfile(os.path.join(self.root, path), os.path.join(self.folder, "images", name))
        return "images/" + name

    def read_pages(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            return list(pool.map(lambda source: document.read(self.root, source), self.sources))

    def draw_cards(self, page, found):
        for card in [card for _, row in found for card in row if not self.quick or card.name in QUICK_CARDS]:
            self.say("gallery %s" % card.name)
            fault = drawing.draw_card(card, self.binary, os.path.join(self.folder, "gallery"))
            self.wrong += [fault] if fault else []
        drawing.fill_gallery(page, found, document.code_block)

    def draw_figures(self, page):
        figures = drawing.figure_list(self.binary)
        names = [name for name, _ in figures if not self.quick or name in QUICK_FIGURES]
        folder = os.path.join(self.folder, "figures")
        self.wrong += drawing.draw_figures(self.binary, names, folder, self.ready, self.say)
        drawn = {name for name in names if os.path.isfile(os.path.join(folder, name + ".svg"))}
        self.wrong += drawing.embed_figures(page, figures, drawn)

    def finish_page(self, page):
        """Everything but the frame. The gallery's cards come after the links: they lead to files of the site."""
        document.dress(page)
        found, wrong = drawing.cards_of(page, self.root) if page.source == contents.GALLERY else ([], [])
        self.wrong += wrong
        for box, _ in found:
            box.clear()
        self.wrong += document.rewrite_links(page, self.root, self.outputs, self.attach)
        self.wrong += document.rewrite_images(page, self.root, self.take)
        self.draw_cards(page, found)
        if page.source == contents.FIGURES:
            self.draw_figures(page)
        if page.source.endswith(".md") and not self.quick:
            drawing.embed_drawn(page, read(os.path.join(self.root, page.source)), self.binary, self.folder)
        document.note_headings(page)

    def source_page(self, source):
        body = element("div", element("h1", source, id="file"), document.code_block(read(os.path.join(self.root, source))))
        return document.Page(source, self.attached[source], body)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)

    def make(self):
        """Make all files; returns lines of what is wrong."""
        pages = self.read_pages()
        groups = contents.navigation(self.sources, {page.source: page.title for page in pages})
        for page in pages:
            self.finish_page(page)
        index = {"pages": [], "entries": []}
        labels = {source: label for _, rows in groups for source, label in rows}
        for page in pages:
            index["entries"] += [[len(index["pages"]), *entry] for entry in document.indexed(page)]
            index["pages"].append([page.output, labels[page.source]])
        for page in pages + [self.source_page(source) for source in sorted(self.attached)]:
            self.write(page.output, layout.whole(page, groups, self.outputs, self.version))
        self.write("search-index.js", "window.collsimIndex = %s;\n" % json.dumps(index, ensure_ascii=False, separators=(",", ":")))
        for name in ("site.css", "site.js"):
            shutil.copyfile(os.path.join(HERE, name), os.path.join(self.folder, name))
        return self.wrong + verify.links(self.folder)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/site", allow_abbrev=False)
    parser.add_argument("collsim")
    parser.add_argument("folder")
    parser.add_argument("--figures")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--root", default=ROOT)
    options = parser.parse_args()
    options.collsim = os.path.abspath(options.collsim)
    return options


def main():
    """The site is made beside its place and put there when it is whole; a site that was there is kept until then."""
    options = arguments()
    place = os.path.abspath(options.folder)
    if os.path.isdir(place) and os.listdir(place) and not os.path.isfile(os.path.join(place, "search-index.js")):
        print("scripts/site: %s: is a folder with other things in it: give another one with -o" % options.folder, file=sys.stderr)
        return 2
    options.folder = tempfile.mkdtemp(prefix=".site-", dir=os.path.dirname(place))
    os.chmod(options.folder, 0o755)
    try:
        wrong = Site(options).make()
        if not wrong:
            shutil.rmtree(place, ignore_errors=True)
            os.rename(options.folder, place)
    except (ValueError, OSError, subprocess.SubprocessError) as error:
        wrong = [str(error)]
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
    for line in wrong:
        print("scripts/site: " + line, file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
