#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module for Python against the program: the same rows, errors with their places, a mirror of
cs_error that is like the compiler's, nothing printed.

usage: python_module.py COLLSIM LIBRARY CC

Starts itself anew with sanitizers' libraries loaded first where the library needs them.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRELOADED = "COLLSIM_TEST_PRELOADED"
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what)


def preload(library, compiler):
    """A sanitized library is loaded only behind the sanitizers' own."""
    needed = subprocess.run(["ldd", library], text=True, capture_output=True, check=True).stdout
    names = [name for name in ("libasan.so", "libubsan.so") if name in needed]
    if names and PRELOADED not in os.environ:
        paths = [subprocess.run([compiler, "-print-file-name=" + name], text=True, capture_output=True,
                                check=True).stdout.strip() for name in names]
        # Python itself keeps memory until the end.
        environment = dict(os.environ, LD_PRELOAD=" ".join(paths), ASAN_OPTIONS="detect_leaks=0")
        environment[PRELOADED] = "1"
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def program_says(binary, *words):
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return json.loads(subprocess.run([binary, *words], text=True, capture_output=True, env=environment).stdout)


def check_rows(collsim, binary):
    late = {"algorithm": {"name": "stragglar"}, "bytes": "1G", "cluster": {"ranks": 8},
            "arrivals": {"late": [{"rank": 7, "delay": "4.48ms"}]}}
    words = ["-a", "stragglar", "-n", "8", "-s", "1G", "--late", "7=4.48ms", "--format", "json"]
    expect(collsim.run(late) == program_says(binary, "run", *words)[0], "run() is not `collsim run`")
    expect(collsim.bounds(late) == program_says(binary, "bound", *words), "bounds() is not `collsim bound`")
    path = os.path.join(ROOT, "configs", "late-rank.json")
    want = program_says(binary, "run", path, "--set", "bytes=1G", "--format", "json")
    for jobs in (0, 1, 3):
        expect(collsim.sweep(path, bytes="1G", jobs=jobs) == want, f"sweep() with {jobs} jobs is not `collsim run`")
    rows = collsim.sweep(None, {"algorithm.name": ["ring", "merged_rhd"], "cluster__ranks": (5, 6)}, **{"bytes": 4096})
    expect([(r["algorithm"], r["ranks"], "error" in r) for r in rows] ==
           [("ring", 5, False), ("ring", 6, False), ("merged_rhd", 5, True), ("merged_rhd", 6, False)], f"sweep: {rows}")
    expect(collsim.run(cluster__ranks=4)["ranks"] == 4 and collsim.run(None)["ranks"] == 8, "defaults")
    expect(collsim.run(collsim.run(late)["scenario"])["elapsed_s"] == collsim.run(late)["elapsed_s"], "a row's scenario is not a configuration")
    expect(collsim.build() == collsim.run(late)["build"], "build()")
    try:
        import pandas
        frame = collsim.sweep(late, {"cluster.ranks": [8, 16]}, frame=True)
        expect(isinstance(frame, pandas.DataFrame) and list(frame["ranks"]) == [8, 16], "frame")
    except ImportError:
        print("skipped: there is no pandas")


def check_errors(collsim):
    wrong = os.path.join(ROOT, "tests", "errors", "delay-negative", "input.json")
    with open(os.path.join(os.path.dirname(wrong), "error"), encoding="utf-8") as file:
        words = file.read().strip()
    for what, call, file, line, key in (
            ("file", lambda: collsim.run(wrong), wrong, 1, "arrivals.late[0].delay"),
            ("no file", lambda: collsim.run("/nowhere.json"), "/nowhere.json", None, ""),
            ("dict", lambda: collsim.run({"cluster": {"ranks": 1}}), None, None, "cluster.ranks"),
            ("set", lambda: collsim.run(cluster__ranks=1), None, None, "cluster.ranks"),
            ("name", lambda: collsim.run(algorithm="strag"), None, None, "algorithm"),
            ("several", lambda: collsim.run(sweep={"bytes": [1, 2]}), None, None, "sweep"),
            ("bounds", lambda: collsim.bounds(sweep={"bytes": [1, 2]}), None, None, "sweep"),
            ("axis", lambda: collsim.sweep(None, {"bytes": []}), None, None, "bytes"),
            ("all", lambda: collsim.sweep(None, {"cluster.ranks": [5, 7]}, algorithm="merged_rhd"), None, None, "cluster.ranks")):
        try:
            call()
            expect(False, f"{what}: no error")
        except collsim.CollsimError as error:
            expect((error.file, error.line, error.key) == (file, line, key),
                   f"{what}: {error.file}, {error.line}, {error.key}: {error}")
            expect(error.message and error.status, f"{what}: no words")
            if what == "file":
                expect(str(error).endswith(words.split(": ", 1)[1]), f"{what}: {error}, not {words}")
    for bad in ({"bytes": float("nan")}, {"bytes": object()}):
        try:
            collsim.run(bad)
            expect(False, f"{bad}: no error")
        except (TypeError, ValueError):
            pass


def check_threads(collsim):
    """Several threads, each with a configuration of its own."""
    want, got = [collsim.run(cluster__ranks=n)["elapsed_s"] for n in range(2, 10)], [None] * 8

    def one(i):
        got[i] = collsim.run(cluster__ranks=i + 2)["elapsed_s"]

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(got == want, "threads")


def check_mirror(collsim, compiler, folder):
    """Are the members of cs_error where Python takes them to be?"""
    names = {"status": "status", "source": "file", "source_line": "line", "input": "input", "line": "input_line",
             "column": "input_column", "where": "where", "message": "message"}
    source, program = os.path.join(folder, "mirror.c"), os.path.join(folder, "mirror")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include \"cs/error.h\"\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
                   + "".join(f'    printf("%zu ", offsetof(cs_error, {name}));\n' for name in names.values())
                   + '    printf("%zu", sizeof(cs_error));\n    return 0;\n}\n')
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    subprocess.run([compiler, "-I", os.path.join(ROOT, "sim", "include"), source, "-o", program], check=True, env=environment)
    there = list(map(int, subprocess.run([program], text=True, capture_output=True, check=True, env=environment).stdout.split()))
    here = [getattr(collsim._Error, name).offset for name in names] + [collsim.ctypes.sizeof(collsim._Error)]
    expect(here == there, f"cs_error is laid out as {there}, and Python takes {here}")


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    binary, library, compiler = sys.argv[1:]
    preload(library, compiler)
    os.environ["COLLSIM_LIBRARY"] = library
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(ROOT, "sim", "python"))
    said = io.StringIO()
    import collsim
    with contextlib.redirect_stdout(said), tempfile.TemporaryDirectory() as folder:
        check_rows(collsim, os.path.abspath(binary))
        check_errors(collsim)
        check_threads(collsim)
        check_mirror(collsim, compiler, folder)
    print(said.getvalue() + f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
