#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a build know which program it is? A small project with the build's own CMake files is built
from a checkout, after a commit, after edits, from an archive and from bare sources.

usage: build_identity.py CMAKE [GENERATOR]
Needs git; says "skipped" without it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = dict(os.environ, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                   GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_GLOBAL="/dev/null", LC_ALL="C")
COPIED = [".gitattributes", "scripts/cmake/CsBuild.cmake", "scripts/cmake/build_identity.cmake",
          "scripts/cmake/archive_commit.txt", "sim/include/cs/build.h", "sim/include/cs/error.h"]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small VERSION 7.8.9 LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cmake)
include(CsBuild)
add_executable(small sim/main.c)
target_link_libraries(small PRIVATE cs_build)
"""
MAIN = """#include "cs/build.h"
#include <stdio.h>
int main(void) { return puts(cs_build()) < 0; }
"""
problems = []
cmake, generator = "", []


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, text=True, capture_output=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build(folder):
    """What the program calls itself, after a build in the same folder as before."""
    out = os.path.join(folder, "build-small")
    if not os.path.isdir(out):
        run(cmake, "-S", folder, "-B", out, *generator, folder=folder)
    run(cmake, "--build", out, folder=folder)
    return run(os.path.join(out, "small"), folder=folder)


def commit(folder, words):
    run("git", "add", "-A", folder=folder)
    run("git", "commit", "-q", "-m", words, folder=folder)
    return run("git", "rev-parse", "--short=12", "HEAD", folder=folder)


def make_project(folder):
    for name in COPIED:
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))
    write(os.path.join(folder, "CMakeLists.txt"), PROJECT)
    write(os.path.join(folder, "sim/main.c"), MAIN)
    write(os.path.join(folder, "sim/doc/page.md"), "A page.\n")
    write(os.path.join(folder, ".gitignore"), "/build*/\n")


def check_checkout(folder):
    run("git", "init", "-q", folder=folder)
    first = commit(folder, "first")
    expect(build(folder) == first, "a clean checkout is its commit")
    program = os.path.join(folder, "build-small", "small")
    before = os.stat(program).st_mtime_ns
    build(folder)
    expect(os.stat(program).st_mtime_ns == before, "a build with nothing to do links nothing")

    write(os.path.join(folder, "sim/doc/page.md"), "Another page.\n")
    expect(build(folder) == first, "an edit of the documentation changes nothing")
    second = commit(folder, "second")
    expect(build(folder) == second, "a commit after the configuration is seen")

    write(os.path.join(folder, "sim/main.c"), MAIN + "/* 1 */\n")
    one = build(folder)
    write(os.path.join(folder, "sim/main.c"), MAIN + "/* 2 */\n")
    two = build(folder)
    for name in (one, two):
        expect(re.fullmatch(second + r"-dirty\.[0-9a-f]{8}", name), f"an edit is dirty: {name}")
    expect(one != two, "two edits are two programs")
    write(os.path.join(folder, "sim/main.c"), MAIN)
    expect(build(folder) == second, "an edit that was taken back is none")
    write(os.path.join(folder, "models/new.c"), "int i;\n")
    expect(build(folder).startswith(second + "-dirty."), "a new source counts")
    os.unlink(os.path.join(folder, "models/new.c"))
    run("git", "tag", "v7.8.9", folder=folder)
    expect(build(folder) == "v7.8.9", "a tag is a name")
    return second


def check_copies(folder, last):
    """An archive knows its commit, bare sources know themselves, also inside of another checkout."""
    copies = os.path.join(folder, "build-copies")
    archive, bare = os.path.join(copies, "archive"), os.path.join(copies, "bare")
    os.makedirs(archive)
    write(os.path.join(copies, "a.tar"), "")
    run("git", "archive", "-o", os.path.join(copies, "a.tar"), last, folder=folder)
    run("tar", "-xf", os.path.join(copies, "a.tar"), "-C", archive, folder=folder)
    name = build(archive)
    expect(re.fullmatch(r"v7\.8\.9-archive\.[0-9a-f]{8}", name), f"an archive: {name}")
    write(os.path.join(archive, "sim/main.c"), MAIN + "/* patched */\n")
    patched = build(archive)
    expect(patched != name and patched.startswith("v7.8.9-archive."), f"a patch: {patched}")
    make_project(bare)
    name = build(bare)
    expect(re.fullmatch(r"7\.8\.9-source\.[0-9a-f]{8}", name), f"bare sources: {name}")


def main():
    global cmake, generator
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    cmake, generator = sys.argv[1], ["-G", sys.argv[2]] if len(sys.argv) == 3 else []
    if shutil.which("git") is None:
        print("skipped: there is no git")
        return 0
    folder = os.path.realpath(tempfile.mkdtemp(prefix="cs_build_"))
    try:
        make_project(folder)
        check_copies(folder, check_checkout(folder))
    finally:
        shutil.rmtree(folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
