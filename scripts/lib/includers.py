# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the C files that are among FILES or include one of them, straight or through others.

usage: includers.py FILE...     (paths from the root of the project, where it runs)
"""
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
FOLDERS = ("algorithms", "models", "traces", "sim")
SEARCHED = ("sim/include", "sim", ".")


def sources():
    for top in FOLDERS:
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name not in ("tests", "doc")]
            for name in names:
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.normpath(os.path.join(folder, name))


def resolved(name, included):
    for folder in (os.path.dirname(name),) + SEARCHED:
        path = os.path.normpath(os.path.join(folder, included))
        if os.path.isfile(path):
            return path
    return None


def main():
    users, waiting, found = {}, [os.path.normpath(path) for path in sys.argv[1:]], set()
    for name in sources():
        with open(name, encoding="utf-8") as file:
            for included in INCLUDE.findall(file.read()):
                users.setdefault(resolved(name, included), []).append(name)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += users.get(name, [])
    found = [name for name in found if name.endswith(".c") and name.split("/")[0] in FOLDERS and os.path.isfile(name)
             and "/tests/" not in name and not name.startswith("sim/doc/")]
    for name in sorted(found, key=os.path.getsize, reverse=True):
        print(name)


main()
