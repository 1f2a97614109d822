# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML as a tree: reading what pandoc and mandoc write, and writing pages that HTML and XML parsers both read."""
import html
import xml.etree.ElementTree as ET

VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


def parse(text):
    """The tree of a piece of HTML, below one <div>. What is not well formed is a ValueError."""
    try:
        return ET.fromstring("<div>%s</div>" % text.replace("&nbsp;", "\u00a0"))
    except ET.ParseError as error:
        line = text.splitlines()[max(0, min(error.position[0], len(text.splitlines())) - 1)]
        raise ValueError("not well-formed HTML: %s: %s" % (error, line[:120])) from error


def element(tag, *content, **attributes):
    """<tag ..>content</tag>; `content` are texts, elements and None. An attribute's trailing _ is dropped, other _ are -."""
    made = ET.Element(tag, {name.rstrip("_").replace("_", "-"): str(value)
                            for name, value in attributes.items() if value is not None})
    for part in content:
        append(made, part)
    return made


def append(parent, part):
    if part is None:
        return
    if not isinstance(part, str):
        parent.append(part)
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + part
    else:
        parent.text = (parent.text or "") + part


def text_of(node):
    return "".join(node.itertext())


def has_class(node, name):
    return name in node.get("class", "").split()


def parents(root):
    return {child: node for node in root.iter() for child in node}


def replace(parent, old, *new):
    """Put `new` where `old` stands; the text behind it stays."""
    place = list(parent).index(old)
    tail, old.tail = old.tail, None
    parent.remove(old)
    for step, node in enumerate(new):
        parent.insert(place + step, node)
    if new:
        new[-1].tail = (new[-1].tail or "") + (tail or "")


def write(node, out):
    attributes = "".join(' %s="%s"' % (name, html.escape(value)) for name, value in node.attrib.items())
    if node.tag in VOID:
        out.append("<%s%s />" % (node.tag, attributes))
    else:
        out.append("<%s%s>" % (node.tag, attributes))
        out.append(html.escape(node.text or "", quote=False))
        for child in node:
            write(child, out)
            out.append(html.escape(child.tail or "", quote=False))
        out.append("</%s>" % node.tag)


def written(node):
    out = []
    write(node, out)
    return "".join(out)


def inner(node):
    """What stands in a node."""
    out = [html.escape(node.text or "", quote=False)]
    for child in node:
        write(child, out)
        out.append(html.escape(child.tail or "", quote=False))
    return "".join(out)
