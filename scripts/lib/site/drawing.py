# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the site: the papers' figures, the gallery of configurations, and what commands of a page draw."""
import json
import os
import re
import shutil
import subprocess
import tempfile

import examples
import tree
from tree import element

MOST_SECONDS = 600
MOST_LINES = 24  # of a command's output in the gallery
PICTURE = re.compile(r"[\w.-]+\.(?:svg|png)")
MADE = re.compile(r"[\w.-]+\.(?:svg|png|html)")  # what a command of a page writes and the site shows


def figure_list(binary):
    """[(name, caption)] of every figure that there is"""
    ran = subprocess.run([binary, "list", "figures"], text=True, capture_output=True, check=True)
    return [tuple(line.split(None, 1)) for line in ran.stdout.splitlines() if line]


def draw_figures(binary, names, folder, ready, say):
    """Draw figures into `folder`; those that the folder `ready` has are taken from there. Returns lines of what went wrong."""
    wrong = []
    for name in names:
        files = [name + end for end in (".svg", ".png", ".csv")]
        if ready and all(os.path.isfile(os.path.join(ready, file)) for file in files):
            for file in files:
                shutil.copyfile(os.path.join(ready, file), os.path.join(folder, file))
            continue
        say("figure %s" % name)
        with tempfile.TemporaryDirectory() as place:
            ran = subprocess.run([binary, "figure", name, "-o", place], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=MOST_SECONDS)
            missing = [file for file in files if not os.path.isfile(os.path.join(place, file))]
            if ran.returncode or missing:
                wrong.append("figure %s: %s" % (name, ran.stdout.strip() or "drew no " + missing[0]))
                continue
            for file in files:
                shutil.copyfile(os.path.join(place, file), os.path.join(folder, file))
    return wrong


def whole_name(code, full, known):
    """The figure that `code` names: itself, or, where it begins with -, with the beginning of `full`, as in `optcc-8`, `-9`"""
    if code in known:
        return code
    for place in [match.start() for match in re.finditer("-", full)] if code.startswith("-") else []:
        if full[:place] + code in known:
            return full[:place] + code
    return None


def picture(source, alt, caption, **attributes):
    """A picture that leads to itself in full size."""
    image = element("img", src=source, alt=alt, loading="lazy")
    return element("figure", element("a", image, href=source), element("figcaption", *caption), **attributes)


def embed_figures(page, figures, drawn):
    """The figures that a page's table names, behind it; `drawn` are those that there are. Returns lines of what went wrong."""
    known, left = dict(figures), dict(figures)
    for box in [node for node in page.body.iter("div") if tree.has_class(node, "table")]:
        inside = []
        for row in box.iter("tr"):
            full = ""
            for code in [node for cell in row.findall("td")[:1] for node in cell.iter("code")]:
                name = whole_name(tree.text_of(code), full, known)
                full = name or full
                if name in left:
                    inside.append((name, left.pop(name)))
                    link = element("a", element("code", *code.itertext(), class_="short"), href="#figure-" + name)
                    up = tree.parents(row)
                    tree.replace(up[code], code, link)
        if inside:
            up = tree.parents(page.body)
            grid = element("div", *[figure(name, caption, name in drawn) for name, caption in inside], class_="figures")
            up[box].insert(list(up[box]).index(box) + 1, grid)
    return ["%s: names no figure %s, which 'collsim list figures' has" % (page.source, name) for name in left]


def figure(name, caption, is_drawn):
    sentence = caption[0].upper() + caption[1:]
    if not is_drawn:
        return element("figure", element("p", "Not drawn here: ", element("code", "collsim figure " + name), class_="empty"),
                       element("figcaption", element("code", name), " ", sentence), id="figure-" + name, data_title=name)
    files = [part for end in ("PNG", "CSV")
             for part in (" ", element("a", end, href="figures/%s.%s" % (name, end.lower()), aria_label="%s of %s" % (end, name)))]
    return picture("figures/%s.svg" % name, sentence, [element("code", name), " ", sentence, *files], id="figure-" + name, data_title=name)


class Card:
    """A row of the gallery's tables: a configuration and the command that shows it."""

    def __init__(self, root, name, command):
        self.name, self.command = name, command
        with open(os.path.join(root, "configs", name + ".json"), encoding="utf-8") as file:
            self.text = file.read()
        self.description = json.loads(self.text).get("description", "")
        self.picture, self.output = None, None

    def draws(self):
        """The picture that the command makes, or None: then its output is shown"""
        found = PICTURE.findall(self.command)
        return found[-1] if found else None


def cards_of(page, root):
    """[(box of a table, [Card])] of the gallery, and a line for each configuration that is missing or named twice"""
    found, wrong, seen = [], [], []
    for box in [node for node in page.body.iter("div") if tree.has_class(node, "table")]:
        cards = []
        for row in box.iter("tr"):
            cells = row.findall("td")
            link = next(cells[0].iter("a"), None) if cells else None
            command = next(cells[1].iter("code"), None) if len(cells) > 1 else None
            match = re.search(r"configs/([\w.-]+)\.json", link.get("href")) if link is not None else None
            if match and command is not None:
                cards.append(Card(root, match.group(1), tree.text_of(command)))
        if cards:
            found.append((box, cards))
            seen += [card.name for card in cards]
    there = {name[:-5] for name in os.listdir(os.path.join(root, "configs")) if name.endswith(".json")}
    there -= {"collsim.schema"}
    wrong += ["%s: has no configs/%s.json" % (page.source, name) for name in sorted(there - set(seen))]
    wrong += ["%s: has configs/%s.json twice" % (page.source, name) for name in sorted(set(seen)) if seen.count(name) > 1]
    return found, wrong


def draw_card(card, binary, folder):
    """Run a card's command and keep its picture in `folder`, or its output. Returns None or what went wrong."""
    with tempfile.TemporaryDirectory() as place:
        environment = dict(examples.make_place(place, binary), LC_ALL="C.UTF-8")
        ran = subprocess.run(["bash", "-c", card.command], cwd=place, env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=MOST_SECONDS)
        if ran.returncode:
            return "configs/%s.json: %s: exit %d: %s" % (card.name, card.command, ran.returncode, ran.stdout.strip()[-300:])
        if not card.draws():
            lines = ran.stdout.rstrip("\n").split("\n")
            card.output = "\n".join(lines[:MOST_LINES] + ["..."] * (len(lines) > MOST_LINES))
            return None
        path = os.path.join(place, card.draws())
        if not os.path.isfile(path):
            return "configs/%s.json: %s: makes no %s" % (card.name, card.command, card.draws())
        card.picture = card.name + os.path.splitext(path)[1]
        shutil.copyfile(path, os.path.join(folder, card.picture))
    return None


def card_section(card, code_block):
    if card.picture:
        shown = picture("gallery/" + card.picture, card.description or card.name, [])
        shown.remove(shown[-1])
    elif card.output is not None:
        shown = code_block(card.output)
    else:
        shown = element("p", "Not drawn here.", class_="empty")
    return element("section", element("h3", card.name, id=card.name), element("p", card.description), shown,
                   code_block("$ " + card.command),
                   element("details", element("summary", "configs/%s.json" % card.name), code_block(card.text), class_="not-searched"),
                   class_="card")


def fill_gallery(page, found, code_block):
    for box, cards in found:
        up = tree.parents(page.body)
        tree.replace(up[box], box, element("div", *[card_section(card, code_block) for card in cards], class_="cards"))


def embed_drawn(page, text, binary, folder):
    """Below the block of code that draws a picture or writes a report, what it made: a page's commands are run, in one place
    and in order. Pictures go into the site's images/, reports into reports/."""
    commands = [command for command, _ in examples.examples(text)]
    wanted = [number for number, command in enumerate(commands) if MADE.search(command)]
    if not wanted:
        return
    blocks = {tree.text_of(line)[2:]: line for line in page.body.iter("span") if tree.has_class(line, "command")}
    last = {}  # picture below a block: the next one of the block comes behind it
    stem = os.path.splitext(os.path.basename(page.output))[0]
    with tempfile.TemporaryDirectory() as place:
        environment = examples.make_place(place, binary)
        for command in commands[:wanted[-1] + 1]:
            before = set(os.listdir(place))
            subprocess.run(["bash", "-c", command], cwd=place, env=environment, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=MOST_SECONDS)
            for name in [name for name in MADE.findall(command) if name in set(os.listdir(place)) - before]:
                kept = "%s-%s" % (stem, name)
                kept = ("reports/" if name.endswith(".html") else "images/") + kept
                os.makedirs(os.path.dirname(os.path.join(folder, kept)), exist_ok=True)
                shutil.copyfile(os.path.join(place, name), os.path.join(folder, kept))
                up = tree.parents(page.body)
                box = blocks[command]
                while not tree.has_class(box, "code"):
                    box = up[box]
                shown = (element("p", element("a", "Open " + name, href=kept), class_="made") if name.endswith(".html") else
                         picture(kept, "What the command draws: " + command, [element("code", name)], class_="drawn"))
                up[box].insert(list(up[box]).index(last.get(box, box)) + 1, shown)
                last[box] = shown
