# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim: how long a collective takes when a GPU is late or a NIC is broken.

    import collsim
    late = {"bytes": "1G", "cluster": {"ranks": 8}, "arrivals": {"late": [{"rank": 7, "delay": "4.48ms"}]}}
    row = collsim.run(late, algorithm="stragglar")
    print(row["elapsed_s"], row["bound_s"], row["verified"])
    collsim.run(late, cluster__ranks=16)                            # "__" is a dot
    collsim.run(late, **{"faults[]": {"rank": 0, "slowdown": 2}})
    rows = collsim.sweep("configs/late-rank.json", bytes="1G")
    rows = collsim.sweep(late, {"algorithm.name": ["ring", "stragglar"], "cluster.ranks": [8, 16, 32]}, jobs=4)
    table = collsim.sweep(late, {"bytes": ["1M", "1G"]}, frame=True)  # a pandas.DataFrame
    collsim.bounds(late)

A configuration is a dict, the path of a JSON file, or None (all defaults); its keys are in the manual
page collsim(1). Rows are what `collsim run --format json` and `collsim bound --format json` print. What
cannot be is a CollsimError. Nothing is printed.

The module is one file over libcollsim, which it looks for in the environment's COLLSIM_LIBRARY, in the
libraries beside this file's folder, and where the system has its libraries. Calls release Python's lock.
"""
import ctypes
import json
import os
import sysconfig

__all__ = ["CollsimError", "run", "sweep", "bounds", "build"]

_NAME = "libcollsim.so.0"


class CollsimError(Exception):
    """Why something cannot be: `status` ("no such name"), `key` ("cluster.ranks"), `message`, and
    `file`, `line` and `column`, where it stands in a file."""

    def __init__(self, status, file, line, column, key, message):
        self.status, self.file, self.line, self.column = status, file, line, column
        self.key, self.message = key, message
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + (f"{key}: " if key else "") + (message or status))


class _Error(ctypes.Structure):
    """cs_error of cs/error.h."""
    _fields_ = [("status", ctypes.c_int), ("source", ctypes.c_char_p), ("source_line", ctypes.c_int),
                ("input", ctypes.c_char * 200), ("line", ctypes.c_int), ("column", ctypes.c_int),
                ("where", ctypes.c_char * 96), ("message", ctypes.c_char * 320)]


def _load():
    """The library, with the functions that are used."""
    chosen = os.environ.get("COLLSIM_LIBRARY")
    places = [chosen] if chosen else []
    folder = os.path.dirname(os.path.abspath(__file__))
    while not chosen and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        for lib in ("lib", "lib64", os.path.join("lib", sysconfig.get_config_var("MULTIARCH") or "")):
            path = os.path.join(folder, lib, _NAME)
            if os.path.exists(path):
                places.append(path)
    library = ctypes.CDLL(next(iter(places), _NAME))
    pointer, text, error = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Error)
    to_pointer = ctypes.POINTER(pointer)
    for name, result, arguments in (
            ("cs_config_new", ctypes.c_int, (to_pointer, error)),
            ("cs_config_load", ctypes.c_int, (text, to_pointer, error)),
            ("cs_config_parse", ctypes.c_int, (text, ctypes.c_size_t, text, to_pointer, error)),
            ("cs_config_set", ctypes.c_int, (pointer, text, text, text, error)),
            ("cs_config_sweep_set", ctypes.c_int, (pointer, text, text, text, error)),
            ("cs_config_count", ctypes.c_size_t, (pointer,)),
            ("cs_config_run", ctypes.c_int, (pointer, ctypes.c_uint, to_pointer, error)),
            ("cs_config_bounds", ctypes.c_int, (pointer, to_pointer, error)),
            ("cs_config_free", None, (pointer,)), ("cs_string_free", None, (pointer,)),
            ("cs_status_text", text, (ctypes.c_int,)), ("cs_build", text, ())):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


class _Config:
    """A cs_config, freed at the end of a with statement."""

    def __init__(self, config, sets):
        self.pointer = ctypes.c_void_p()
        self.is_file = isinstance(config, (str, os.PathLike))
        try:
            if config is None:
                self.call(_library.cs_config_new, ctypes.byref(self.pointer))
            elif self.is_file:
                self.call(_library.cs_config_load, os.fsencode(config), ctypes.byref(self.pointer))
            else:
                text = _json(config)
                self.call(_library.cs_config_parse, text, len(text), b"config", ctypes.byref(self.pointer))
            for key, value in sets.items():
                self.set(_library.cs_config_set, key.replace("__", "."), value)
        except Exception:
            self.free()
            raise

    def call(self, function, *arguments):
        error = _Error()
        status = function(*arguments, ctypes.byref(error))
        if status != 0:
            raise self.error(status, error)

    def error(self, status, error):
        """Places in the text of a dict are nobody's."""
        has_place = error.input and (self.is_file or error.input != b"config")
        return CollsimError(_library.cs_status_text(status).decode(),
                            os.fsdecode(error.input) if has_place else None,
                            error.line if has_place and error.line else None,
                            error.column if has_place and error.line else None,
                            error.where.decode("utf-8", "replace"),
                            error.message.decode("utf-8", "replace"))

    def set(self, function, key, value):
        self.call(function, self.pointer, key.encode(), _json(value), key.encode())

    def answer(self, function, *arguments):
        text = ctypes.c_void_p()
        self.call(function, self.pointer, *arguments, ctypes.byref(text))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            _library.cs_string_free(text)

    def free(self):
        _library.cs_config_free(self.pointer)
        self.pointer = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()


def _json(value):
    return json.dumps(value, allow_nan=False).encode()


def run(config=None, /, **sets):
    """Run the one scenario of a configuration, with keys set to values: its result as a dict."""
    with _Config(config, sets) as c:
        count = _library.cs_config_count(c.pointer)
        if count != 1:
            raise CollsimError("invalid argument or configuration", None, None, None, "sweep",
                               f"run() takes one scenario, not {count}: sweep() takes them all")
        return c.answer(_library.cs_config_run, 1)[0]


def sweep(config=None, axes=None, /, *, jobs=0, frame=False, **sets):
    """Run the product of a configuration's sweep and of `axes` ({key: [values]}) with so many threads
    (0: one for each processor): a list of dicts, the first axis outermost; or (`frame`) a DataFrame. A
    scenario that cannot be run is a row with the reason as "error", unless none can be."""
    with _Config(config, sets) as c:
        for key, values in (axes or {}).items():
            c.set(_library.cs_config_sweep_set, key.replace("__", "."), list(values))
        rows = c.answer(_library.cs_config_run, jobs or len(os.sched_getaffinity(0)))
    if frame:
        import pandas
        return pandas.DataFrame(rows)
    return rows


def bounds(config=None, /, **sets):
    """Every lower bound of the one scenario, as dicts with name, bound_s, is_best and more."""
    with _Config(config, sets) as c:
        return c.answer(_library.cs_config_bounds)


def build():
    """The identity of the library, as in the rows of results."""
    return _library.cs_build().decode()
