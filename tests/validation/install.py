#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed works where it is installed: the program finds its parts, every header compiles
by itself as C and as C++, the examples are built through pkg-config and through find_package, with the
shared and with the static library, and say what the program says; so does the module for Python. The
target uninstall leaves nothing behind.

usage: install.py BUILD_FOLDER CMAKE CC CXX|none "CFLAGS"
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "sim", "doc", "examples")
LATE = ["-n", "8", "-s", "1G", "--late", "7=4.48ms"]
if len(sys.argv) != 6:
    sys.exit(__doc__.strip())
build, cmake, cc, cxx, flags = os.path.abspath(sys.argv[1]), *sys.argv[2:5], sys.argv[5].split()
problems = []
for name in ("COLLSIM_FIGURES", "COLLSIM_MODULES"):
    os.environ.pop(name, None)  # what is installed is found without


def expect(condition, what):
    if not condition:
        problems.append(what)
        print("FAILED: " + what, flush=True)


def run(*command, **more):
    """Its standard output; a failure is noted, and then the answer is empty."""
    done = subprocess.run(command, text=True, capture_output=True, **more)
    expect(done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    return done.stdout if done.returncode == 0 else ""


def files_below(folder):
    return [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]


def find(prefix, *ending):
    """The one installed file with this ending."""
    found = [name for name in files_below(prefix) if name.endswith(os.path.join("/", *ending))]
    expect(len(found) == 1, f"installed as {os.path.join(*ending)}: {found}")
    return found[0] if found else ""


def check_program(prefix, want):
    program = os.path.join(prefix, "bin", "collsim")
    expect(run(program, "run", *LATE, "--format", "json") == want, "the installed program says something else")
    config = find(prefix, "share", "collsim", "configs", "montecarlo-trace.json")  # names a trace
    run(program, "montecarlo", config, "-i", "20")
    expect("stragglar-2a" in run(program, "list", "figures"), "the installed program finds no figures")
    for figure in ("stragglar-2a", "parallel-rings-cif"):  # a trace, a schedule, and references
        line = run(program, "figure", figure, "-o", os.path.join(prefix, "out"))
        expect(" 0 failed" in line, f"the installed program draws no {figure}: {line}")
    shutil.rmtree(os.path.join(prefix, "out"), ignore_errors=True)
    for model in ("simgrid", "ns3"):
        if os.path.exists(os.path.join(build, f"collsim-{model}")):
            run(program, "run", "-m", model, "-n", "4", "-s", "1M")
    if os.path.exists(os.path.join(build, "collsim-mpi.so")):
        expect("not here" not in run(program, "list", "features"), "the installed program does not find collsim-mpi.so")
    for ending in (("man", "man1", "collsim.1"), ("bash-completion", "completions", "collsim"), ("_collsim",),
                   ("collsim.fish",), ("doc", "collsim", "copyright"), ("doc", "collsim", "library.md"),
                   ("dist-packages", "collsim.py")):
        find(prefix, *ending)


def check_headers(prefix, folder):
    include = os.path.join(prefix, "include", "collsim")
    headers = sorted(os.path.relpath(name, include) for name in files_below(include))
    expect("cs/collsim.h" in headers and all(name.startswith("cs/") for name in headers), f"headers: {headers}")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-I", include]
    for name in headers:
        for compiler, standard, ending in ((cc, "-std=c17", "c"), (cxx, "-std=c++17", "cc")):
            if compiler != "none":
                source = os.path.join(folder, "header." + ending)
                with open(source, "w", encoding="utf-8") as file:
                    file.write(f'#include "{name}"\n#include "{name}"\n')
                run(compiler, standard, *warnings, source)


def say_same(program, library_folder, want, what):
    """Both examples against the JSON of the program."""
    environment = dict(os.environ, LD_LIBRARY_PATH=library_folder)
    text = run(program("late_ring"), env=environment)
    row = json.loads(want)[0]
    expect(text == f"elapsed {row['elapsed_s']:.6f} s, bound {row['bound_s']:.6f} s ({row['bound']}), verified\n",
           f"{what}: late_ring says {text!r}")
    config = os.path.join(ROOT, "configs", "half-nic.json")
    text = run(program("run_config"), config, "bytes", "3M", env=environment)
    expect(text == run(os.path.join(build, "collsim"), "run", config, "--set", "bytes=3M", "--format", "json"),
           f"{what}: run_config says {text[:200]!r}")
    refused = subprocess.run([program("run_config"), config, "bytes", "-1"], env=environment, text=True, capture_output=True)
    expect(refused.returncode == 1 and refused.stderr.startswith("bytes: "), f"{what}: {refused.stderr!r}")


def links_to_library(program, library_folder):
    listed = run("ldd", program, env=dict(os.environ, LD_LIBRARY_PATH=library_folder))
    return os.path.join(library_folder, "libcollsim.so.") in listed


def check_pkg_config(prefix, library_folder, folder, want):
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(library_folder, "pkgconfig"))
    for kind, option in (("shared", []), ("static", ["--static"])):
        words = run("pkg-config", "--cflags", "--libs", *option, "collsim", env=environment).split()
        if kind == "static":
            words = ["-l:libcollsim.a" if word == "-lcollsim" else word for word in words]
        for name in ("late_ring", "run_config"):
            run(cc, "-std=c17", "-Wall", "-Wextra", *flags, os.path.join(EXAMPLES, name + ".c"), *words, "-o",
                os.path.join(folder, f"{name}-{kind}"))

        def program(name, kind=kind):
            return os.path.join(folder, f"{name}-{kind}")

        say_same(program, library_folder, want, f"pkg-config, {kind}")
        expect(links_to_library(program("late_ring"), library_folder) == (kind == "shared"), f"pkg-config: not {kind}")


def check_find_package(prefix, library_folder, folder, want):
    for kind in ("shared", "static"):
        source, binary = os.path.join(folder, "project-" + kind), os.path.join(folder, "build-" + kind)
        os.mkdir(source)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(f"cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C)\n"
                       f"find_package(collsim REQUIRED COMPONENTS {kind})\n"
                       f"foreach(name late_ring run_config)\n"
                       f"  add_executable(${{name}} {EXAMPLES}/${{name}}.c)\n"
                       f"  target_link_libraries(${{name}} PRIVATE collsim::collsim)\nendforeach()\n")
        run(cmake, "-S", source, "-B", binary, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={cc}",
            "-DCMAKE_C_FLAGS=" + " ".join(flags))
        run(cmake, "--build", binary)

        def program(name, binary=binary):
            return os.path.join(binary, name)

        say_same(program, library_folder, want, f"find_package, {kind}")
        expect(links_to_library(program("late_ring"), library_folder) == (kind == "shared"), f"find_package: not {kind}")
    wrong = os.path.join(folder, "wrong")
    os.mkdir(wrong)
    with open(os.path.join(wrong, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C)\n"
                   "find_package(collsim REQUIRED COMPONENTS fluid)\n")
    refused = subprocess.run([cmake, "-S", wrong, "-B", wrong + "-build", f"-DCMAKE_PREFIX_PATH={prefix}"], text=True,
                             capture_output=True)
    expect(refused.returncode != 0 and "no component fluid" in refused.stderr, f"find_package: {refused.stderr}")


def main():
    folder = tempfile.mkdtemp(prefix="cs_install_")
    try:
        prefix = os.path.join(folder, "prefix")
        run(cmake, "--install", build, "--prefix", prefix)
        want = run(os.path.join(build, "collsim"), "run", *LATE, "--format", "json")
        library_folder = os.path.dirname(find(prefix, "libcollsim.a"))
        check_program(prefix, want)
        check_headers(prefix, folder)
        check_pkg_config(prefix, library_folder, folder, want)
        check_find_package(prefix, library_folder, folder, want)
        run(cmake, "--build", build, "--target", "uninstall")
        expect(files_below(prefix) == [], f"uninstall leaves {files_below(prefix)[:5]}")
        expect(not os.path.exists(os.path.join(prefix, "share", "collsim")), "uninstall leaves folders")
    finally:
        shutil.rmtree(folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
