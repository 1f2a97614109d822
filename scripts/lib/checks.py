# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts check_* share: which files there are, and how an outcome is told.

A check is a function from a root folder to a list of problems ("FILE:LINE: what is wrong").
Its self-test builds small trees that are wrong in one way each; every one must be refused, and
the good tree must pass, so that a check that never fails is noticed.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C_SUFFIXES = (".c", ".h", ".def")
MOST_SHOWN = 50


def _known_to_git(root):
    """Files of the project as git sees them, or None where there is no git."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                capture_output=True, check=True)
        top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"],
                             capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    if os.path.realpath(top) != os.path.realpath(root):
        return None
    return [name.decode("utf-8", "surrogateescape") for name in listed.stdout.split(b"\0") if name]


def _walk(root):
    names = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [s for s in subfolders
                         if s not in (".git", "out") and not s.startswith("build")]
        names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return names


def files(root, suffixes=None):
    """Relative paths of the project's files that still exist, sorted."""
    names = _known_to_git(root)
    if names is None:
        names = _walk(root)
    return sorted({n for n in names if (suffixes is None or n.endswith(suffixes))
                   and os.path.isfile(os.path.join(root, n))})


def text(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace", newline="") as f:
        return f.read()


def finish(name, checked, problems):
    """Tell the outcome; returns the exit status."""
    for problem in problems[:MOST_SHOWN]:
        print(problem)
    if len(problems) > MOST_SHOWN:
        print(f"... and {len(problems) - MOST_SHOWN} more")
    if problems:
        print(f"{name}: {len(problems)} problem{'s' if len(problems) > 1 else ''} in {checked}")
        return 1
    print(f"{name}: {checked}: nothing wrong")
    return 0


def self_test(name, check, good, bad):
    """Run `check` on the tree `good` ({path: text}), which must pass, and on every tree of `bad`
    ({case: ({path: text}, what the report must say)}) laid over it, which must not."""
    def report(tree):
        folder = tempfile.mkdtemp()
        try:
            for path, content in tree.items():
                full = os.path.join(folder, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(content)
            return check(folder)
        finally:
            shutil.rmtree(folder)

    wrong = [f"the good sample is refused: {problem}" for problem in report(good)]
    for case, (changes, expected) in bad.items():
        found = report({**good, **changes})
        if not any(expected in problem for problem in found):
            wrong.append(f"{case}: not noticed (reported: {found})")
    return finish(f"{name} --self-test", f"{len(bad)} bad samples", wrong)


def main(name, check, checked, good, bad):
    """The usual command line: the project, or --self-test."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test(name, check, good, bad)
    if sys.argv[1:]:
        print(f"usage: scripts/{name} [--self-test]", file=sys.stderr)
        return 2
    return finish(name, checked(ROOT), check(ROOT))
