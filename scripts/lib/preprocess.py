#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print a source as the compiler sees it, by the command of a build.

usage: preprocess.py BUILD_FOLDER FILE.c
"""
import json
import os
import shlex
import subprocess
import sys


def main():
    folder, name = sys.argv[1], os.path.abspath(sys.argv[2])
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entry = next(e for e in json.load(file) if e["file"] == name)
    words = shlex.split(entry["command"])
    at = words.index("-o")
    del words[at:at + 2]
    words.remove("-c")
    return subprocess.run([*words, "-E", "-P"], cwd=entry["directory"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
