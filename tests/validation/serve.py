#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`collsim serve` from outside: every route against the command that it stands for, what is refused
and how, clients that are slow, rude or many, limits, and the end.

usage: serve.py COLLSIM [--seconds S] [--requests N]
"""
import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

COLLSIM = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROBLEMS = []
HAS_SANITIZER = "--sanitized" in sys.argv  # it takes time, and keeps memory
SIX = ["ring", "rhd", "stragglar", "broadcast", "allpairs", "circulant"]


def option(name, default):
    return type(default)(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def check(condition, what):
    if not condition:
        PROBLEMS.append(what)
        print("WRONG:", what, flush=True)
    return condition


# ---- the server, and clients ----

class Server:
    """Runs in an empty folder of its own; in its end nothing may be there."""

    def __init__(self, *arguments, config=None):
        self.folder = tempfile.TemporaryDirectory()
        words = [COLLSIM, "serve", "--port", "0", *arguments]
        if config is not None:
            words.insert(2, config)
        self.process = subprocess.Popen(words, cwd=self.folder.name, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            raise SystemExit(f"no address was printed: {self.process.stderr.read()}")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])
        self.host = f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def connection(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, body=None, headers=None, method=None, timeout=60):
        """(status, headers, text) of one request."""
        connection = self.connection(timeout)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        sent.update(headers or {})
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, data, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def raw(self, data, timeout=20, half_close=False):
        """The bytes that come back for these."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            got = b""
            while True:
                try:
                    more = s.recv(65536)
                except ConnectionResetError:
                    break
                if not more:
                    break
                got += more
            return got

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return file.read().split()

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def wait_for_no_children(self, seconds):
        until = time.monotonic() + seconds
        while self.children() and time.monotonic() < until:
            time.sleep(0.02)
        return not self.children()

    def stop(self, number=signal.SIGTERM):
        """Seconds that it took to end."""
        begin = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        took = time.monotonic() - begin
        check(code == 0, f"the server ended with {code}")
        check(os.listdir(self.folder.name) == [], "something was written")
        self.folder.cleanup()
        return took


def command(*words, config=None):
    """What a command prints; a configuration is put into a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        if config is not None:
            file.write(json.dumps(config))
            file.flush()
            words = (words[0], file.name, *words[1:])
        done = subprocess.run([COLLSIM, *words], capture_output=True, text=True, timeout=300)
    return done.stdout


def error_of(text):
    return json.loads(text)["error"]


# ---- what is answered ----

CONFIGS = [
    {},
    {"cluster": {"ranks": 16}, "bytes": "1G", "arrivals": {"late": [{"rank": 7, "delay": "4ms"}]},
     "sweep": {"algorithm.name": SIX}},
    {"cluster": {"ranks": 16, "gpus_per_server": 8}, "algorithm": "nccl",
     "faults": [{"server": 0, "nic": 3, "slowdown": None, "failover": "pool"}], "sweep": {"bytes": ["1M", "64M"]}},
    {"cluster": {"topology": "dgx-h100", "ranks": 16}, "bytes": "16M", "sweep": {"algorithm": ["all"]}},
    {"name": "n", "description": "d", "model": {"name": "loggp", "options": {"overhead_s": "100ns"}},
     "algorithm": {"name": "parallel_rings", "options": {"segments": 4}}, "cluster": {"ranks": 12}},
    {"collective": "broadcast", "root": 3, "algorithm": "binomial", "verify": False, "seed": 9,
     "cluster": {"ranks": 6, "nic": {"alpha": 2e-6, "bandwidth": "200Gb/s"}}},
    {"sweep": {"bytes": [4096, "1M"], "cluster.ranks": [4, 7], "algorithm.name": ["ring", "rhd"]}},
    {"cluster": {"ranks": 8}, "arrivals": {"late": [{"rank": 1, "delay": "1ms"}, {"rank": 2, "delay": 0.002}]},
     "faults": [{"rank": 3, "slowdown": 2, "from": "1ms", "until": "2ms"}, {"rank": 4, "slowdown": 3}],
     "sweep": {"faults[1].slowdown": [1, 2, 3], "algorithm.name": ["ring", "optcc"]}},
]


def without_scenario(text):
    rows = json.loads(text)
    for row in rows:
        row.pop("scenario")
    return rows


def check_answers(server):
    for config in CONFIGS:
        name = json.dumps(config)[:90]
        rows = command("run", "--format", "json", config=config)
        status, headers, text = server.ask("/api/v1/run", config)
        check(status == 200 and text.endswith(', "rows": ' + rows + "}\n"), f"run: rows of {name}")
        check(headers["Content-Type"] == "application/json", "run: type")
        said = json.loads(text)
        check(said["schema"] == 1, "run: schema")
        check(server.ask("/api/v1/run", said["config"])[2].split('"rows"')[1] == text.split('"rows"')[1],
              f"run: the configuration that is said is another one: {name}")
        status, headers, lines = server.ask("/api/v1/sweep", config)
        check(status == 200 and [json.loads(line) for line in lines.splitlines()] == json.loads(rows),
              f"sweep: rows of {name}")
        check(headers["Content-Type"] == "application/x-ndjson", "sweep: type")
        status, _, text = server.ask("/api/v1/export?as=config", config)
        check(status == 200 and command("run", "--format", "json", config=json.loads(text)) == rows,
              f"export: the configuration {name} became {text}")
        status, _, line = server.ask("/api/v1/export?as=command", config)
        words = shlex.split(line)
        again = command(*words[1:], "--format", "json")
        check(status == 200 and words[:2] == ["collsim", "run"] and again != "" and
              without_scenario(again) == without_scenario(rows), f"export: {name} became {line}")
        if "sweep" not in config:
            bounds = command("bound", "--format", "json", config=config)
            status, _, text = server.ask("/api/v1/bound", config)
            check(status == 200 and text.endswith(', "rows": ' + bounds + "}\n"), f"bound: {name}")
    line = server.ask("/api/v1/export?as=command", CONFIGS[1])[2]
    check(line == "collsim run -a " + ",".join(SIX) + " -n 16 -s 1G --late 7=4ms\n", f"export: {line}")


def check_list(server):
    status, headers, text = server.ask("/api/v1/list")
    said = json.loads(text)
    for kind in ("algorithms", "models", "topologies"):
        names = [row["name"] for row in json.loads(command("list", kind, "--format", "json"))]
        check([row["name"] for row in said[kind]] == names, f"list: {kind}")
    check(status == 200 and said["limits"]["scenarios"] == 64, "list: limits")
    check(said["config"] == {"sweep": {"algorithm.name": ["all"]}}, "list: the configuration")
    check(said["build"] == json.loads(command("run", "--format", "json"))[0]["build"], "list: build")
    segments = next(o for a in said["algorithms"] if a["name"] == "optcc" for o in a["options"] if o["name"] == "segments")
    check(segments["default"] == "auto" and segments["auto"] and segments["min"] >= 1, "list: an option")
    wanted = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
              "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"}
    for answer in (headers, server.ask("/nothing")[1], server.ask("/api/v1/run", "{")[1], server.ask("/")[1]):
        for name, value in wanted.items():
            check(answer[name] == value, f"header {name}")
        policy = answer["Content-Security-Policy"]
        check("default-src 'none'" in policy and "unsafe-inline" not in policy and "unsafe-eval" not in policy,
              f"policy {policy}")
    check(server.ask("/api/v1/list", method="HEAD")[2] == "", "HEAD has a body")


# ---- what is refused ----

def check_refusals(server):
    run = "/api/v1/run"
    host = {"Host": server.host}
    many = {"sweep": {"bytes": list(range(1, 66))}}
    too_many = {"sweep": {"bytes": list(range(1, 1002)), "cluster.ranks": list(range(2, 102))}}
    for status, code, path, body, headers in [
            (403, "forbidden", "/", None, {"Host": "evil.example"}),
            (403, "forbidden", "/", None, {"Host": f"evil.example:{server.port}"}),
            (403, "forbidden", "/api/v1/list", None, {"Host": "127.0.0.1"}),
            (403, "forbidden", "/api/v1/list", None, {"Host": f"127.0.0.1:{server.port + 1}"}),
            (403, "forbidden", run, {}, {"Origin": "http://evil.example"}),
            (403, "forbidden", run, {}, {"Origin": "null"}),
            (403, "forbidden", run, {}, {"Origin": f"https://{server.host}"}),
            (403, "forbidden", run, {}, {"Origin": f"http://localhost:{server.port}"}),
            (404, "no_such_path", "/nothing", None, {}),
            (404, "no_such_path", "/api/v2/run", {}, {}),
            (404, "no_such_path", "/../etc/passwd", None, {}),
            (405, "wrong_method", run, None, {}),
            (405, "wrong_method", "/", {}, {}),
            (400, "bad_value", run + "?page=2", {}, {}),
            (400, "bad_value", "/api/v1/export", {}, {}),
            (415, "no_json", run, "{}", {"Content-Type": "text/plain"}),
            (415, "no_json", run, "{}", {"Content-Type": "application/x-www-form-urlencoded"}),
            (400, "malformed", run, "", {}),
            (400, "malformed", run, "{", {}),
            (400, "malformed", run, "[]", {}),
            (400, "malformed", run, b"{\"name\": \"\xff\"}", {}),
            (400, "malformed", run, "[" * 100000, {}),
            (400, "malformed", run, "{\"a\":" * 100000, {}),
            (400, "bad_value", run, {"cluster": {"rank": 8}}, {}),
            (400, "bad_value", run, {"cluster": {"ranks": -1}}, {}),
            (400, "no_such_name", run, {"algorithm": "rung"}, {}),
            (422, "refused", run, many, {}),
            (422, "refused", "/api/v1/bound", many, {}),
            (422, "refused", "/api/v1/sweep", too_many, {}),
            (400, "bad_value", run, {"training": {"workload": "gpt2"}}, {}),
            (400, "bad_value", run, {"job": {}}, {}),
    ]:
        got, _, text = server.ask(path, body, headers)
        name = f"{path} {str(body)[:60]} {headers}"
        if check(got == status, f"{name}: {got} in the place of {status}: {text[:200]}"):
            check(error_of(text)["code"] == code, f"{name}: {text[:200]}")
    error = error_of(server.ask(run, {"arrivals": {"late": [{"rank": 1, "delay": "4mm"}]}})[2])
    check(error["path"] == "arrivals.late[0].delay" and error["line"] == 1 and error["message"] != "",
          f"the place of an error: {error}")
    check(server.ask("/api/v1/list", headers={"Host": f"LOCALHOST:{server.port}"})[0] == 200, "Host localhost")
    check(server.ask(run, {}, {"Origin": f"http://{server.host}"})[0] == 200, "its own Origin")
    for twice in (f"Host: {server.host}\r\nHost: {server.host}\r\n", f"Host: {server.host}\r\nHost: evil\r\n"):
        got = server.raw(f"GET /api/v1/list HTTP/1.1\r\n{twice}Connection: close\r\n\r\n".encode())
        check(got.startswith(b"HTTP/1.1 400"), f"two hosts: {got[:60]}")
    got = server.raw(b"GET / HTTP/1.0\r\n\r\n")
    check(b" 400 " in got[:20] or b" 403 " in got[:20], f"no host: {got[:60]}")
    for junk in (b"\x00" * 1000, b"GET\r\n\r\n", b"POST /api/v1/run HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                 b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"\r\n" * 5000):
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            try:
                s.sendall(junk)
            except OSError:
                pass
    check(server.ask("/api/v1/list", headers=host)[0] == 200, "junk has ended it")


def check_files(server):
    """No key reads a file, whatever it is called, and nobody learns whether there is one."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write('{"servers": 1}')
        file.flush()
        for name in (file.name, "/etc/passwd", "/nothing/there", "../x", "/dev/zero"):
            for config in [
                    {"cluster": {"topology": name}}, {"cluster": {"topology": {"name": name}}},
                    {"cluster": {"topology": {"kind": "file", "path": name}}}, {"calibration": name},
                    {"arrivals": {"trace": {"path": name}}},
                    {"algorithm": {"name": "adapcc", "options": {"strategy": name}}},
                    {"sweep": {"cluster.topology": [name, "dgx-h100"]}}, {"sweep": {"cluster.topology.path": [name]}},
                    {"sweep": {"algorithm": [{"name": "adapcc", "options": {"strategy": name}}]}},
                    {"cluster": {"ranks": 8}, "sweep": {"arrivals": [{"trace": {"path": name}}, {}]}}]:
                status, _, text = server.ask("/api/v1/run", config)
                said = [error_of(text)["message"]] if status != 200 else \
                    [row["error"] for row in json.loads(text)["rows"] if "error" in row]
                check(said and all("would be a file" in s for s in said), f"{config}: {status} {text[:300]}")


def check_base_files():
    """Those of the configuration that is served may be named, those only, from wherever it lies."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "deep"))
        config = {"cluster": {"topology": {"kind": "file", "path": "server.xml"}}, "bytes": "1M"}
        with open(os.path.join(SOURCE, "configs", "server.xml")) as source:
            text = source.read()
        for name in ("server.xml", "other.xml"):
            with open(os.path.join(folder, "deep", name), "w") as file:
                file.write(text)
        path = os.path.join(folder, "deep", "base.json")
        with open(path, "w") as file:
            json.dump(config, file)
        rows = command("run", path, "--format", "json")
        with Server(config=path) as server:
            base = json.loads(server.ask("/api/v1/list")[2])["config"]
            check(base == config, f"the configuration that is served: {base}")
            os.remove(os.path.join(folder, "deep", "server.xml"))  # it was read
            answer = server.ask("/api/v1/run", base)[2]
            check(answer.endswith(', "rows": ' + rows + "}\n"), f"its file: {answer[:300]}")
            line = server.ask("/api/v1/export?as=command", base)[2]
            check(os.path.join(folder, "deep", "server.xml") in line, f"its file on a command line: {line}")
            base["cluster"]["topology"]["path"] = "other.xml"
            check(server.ask("/api/v1/run", base)[0] == 422, "the file beside it")


# ---- clients that are slow, rude or many ----

def post(server, body, length=None, path="/api/v1/run"):
    return (f"POST {path} HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\nConnection: close\r\n\r\n{body}").encode()


def check_bodies(server):
    most = 1 << 20
    space = " " * (most - 2)
    check(server.ask("/api/v1/run", "{" + space + "}")[0] == 200, "a body of 1 MiB")
    for length in (most + 1, 10 * most):
        status, _, text = server.ask("/api/v1/run", "{" + " " * (length - 2) + "}")
        check(status == 413 and error_of(text)["code"] == "too_large", f"a body of {length} bytes: {status}")
    got = server.raw(post(server, "{}", length=10 ** 12))
    check(got.startswith(b"HTTP/1.1 413"), f"a body of 1 TB: {got[:60]}")
    chunks = b"".join(b"10000\r\n" + b" " * 65536 + b"\r\n" for _ in range(20))
    head = (f"POST /api/v1/run HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n").encode()
    got = server.raw(head + chunks + b"0\r\n\r\n")
    check(got.startswith(b"HTTP/1.1 413"), f"a body in chunks: {got[:60]}")


def check_slow(server):
    """Forty clients that never come to an end keep nobody from anything, and are told so."""
    half = [b"GET /api/v1/li", f"GET /api/v1/list HTTP/1.1\r\nHost: {server.host}\r\n".encode(),
            post(server, '{"cluster', length=100), b""]
    begin = time.monotonic()
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    for i, s in enumerate(slow):
        s.sendall(half[i % 4])
    times = []
    for _ in range(20):
        at = time.monotonic()
        check(server.ask("/api/v1/run", {"cluster": {"ranks": 16}})[0] == 200, "a run beside slow clients")
        times.append(time.monotonic() - at)
    check(max(times) < 5, f"a run beside slow clients took {max(times):.2f} s")
    while time.monotonic() - begin < 8:  # a byte from time to time helps nobody
        time.sleep(1)
        for i, s in enumerate(slow):
            if i % 4 == 2:
                try:
                    s.sendall(b"x")
                except OSError:
                    pass
    answers = []
    for s in slow:
        s.settimeout(10)
        got = b""
        try:
            while more := s.recv(4096):
                got += more
        except OSError:
            got += b"(no end)"
        answers.append(got)
        s.close()
    took = time.monotonic() - begin
    check(all(a.startswith(b"HTTP/1.1 408") and b"too_slow" in a for a in answers), f"slow clients got {set(answers)}")
    check(9 < took < 16, f"slow clients were let go after {took:.1f} s")


LONG = {"cluster": {"ranks": 4096}, "algorithm": "allpairs", "sweep": {"bytes": [n << 30 for n in range(1, 41)]}}


def check_gone(server):
    """Who goes takes the process along."""
    sweep = {"cluster": {"ranks": 64}, "sweep": {"bytes": list(range(1024, 1024 + 50000))}}
    for path, config in (("/api/v1/run", LONG), ("/api/v1/sweep", sweep)):
        connection = server.connection()
        connection.request("POST", path, json.dumps(config), {"Content-Type": "application/json"})
        if path.endswith("sweep"):
            answer = connection.getresponse()
            lines = [json.loads(answer.readline()) for _ in range(5)]
            check([line["bytes"] for line in lines] == list(range(1024, 1029)), "a sweep's first lines")
        time.sleep(0.2)
        check(len(server.children()) == 1, f"{path}: {len(server.children())} processes")
        connection.sock and connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        if path.endswith("sweep"):
            answer.close()
        check(server.wait_for_no_children(3), f"{path}: a process goes on without its client")
    got = server.raw(post(server, json.dumps(LONG)), half_close=True)
    check(got == b"" or b" 503 " in got[:20], f"half closed: {got[:80]}")
    check(server.wait_for_no_children(3), "half closed: the process goes on")
    with socket.create_connection(("127.0.0.1", server.port)) as idle:  # takes nothing of its answer
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.sendall(post(server, json.dumps(sweep), path="/api/v1/sweep"))
        time.sleep(1)
        before = server.memory_kb()
        check(server.ask("/api/v1/list")[0] == 200, "a client that takes nothing")
        time.sleep(1)
        check(HAS_SANITIZER or server.memory_kb() - before < 8192, "the answer of a client that takes nothing is piled up")
    check(server.wait_for_no_children(3), "a client that took nothing: the process goes on")


def check_load(server, seconds):
    """Sixteen clients at once: no error, and the memory stays."""
    server.ask("/api/v1/run", CONFIGS[1])
    wanted = server.ask("/api/v1/run", CONFIGS[1])[2]
    until = time.monotonic() + seconds
    counts, bad = [0] * 16, []

    def client(k):
        connection = server.connection()
        while time.monotonic() < until and len(bad) < 5:
            connection.request("POST", "/api/v1/run", json.dumps(CONFIGS[1]), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status != 200 or text != wanted:
                bad.append(f"{answer.status}: {text[:200]}")
            counts[k] += 1
        connection.close()

    threads = [threading.Thread(target=client, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    time.sleep(min(2, seconds / 2))
    early = server.memory_kb()
    for thread in threads:
        thread.join()
    late = server.memory_kb()
    check(not bad, f"under load: {bad[:1]}")
    check(min(counts) > 0, f"under load somebody got nothing: {counts}")
    check(HAS_SANITIZER or late - early < 2048, f"memory grew from {early} to {late} kB")
    print(f"load: 16 clients, {seconds:g} s: {sum(counts)} answers, memory {early} -> {late} kB")


def check_times(server, n):
    """Six algorithms on 256 GPUs, one request after the other."""
    config = dict(CONFIGS[1], cluster={"ranks": 256})
    times = []
    connection = server.connection()
    for _ in range(n):
        begin = time.monotonic()
        connection.request("POST", "/api/v1/run", json.dumps(config), {"Content-Type": "application/json"})
        check(connection.getresponse().read() != b"", "a run")
        times.append(time.monotonic() - begin)
    times.sort()
    p50, p95 = times[n // 2] * 1e3, times[min(n - 1, n * 95 // 100)] * 1e3
    print(f"times: {n} runs of 6 algorithms on 256 GPUs: median {p50:.1f} ms, p95 {p95:.1f} ms, most {times[-1] * 1e3:.1f} ms")
    check(HAS_SANITIZER or p95 < 1000, f"p95 is {p95:.0f} ms")


# ---- limits, and the end ----

def check_limits():
    with Server("--most-time", "0.3s", "--most-bytes", "64M") as server:
        status, _, text = server.ask("/api/v1/run", LONG)
        check(status == 422 and error_of(text)["code"] == "limit" and "--most-time" in text, f"time: {status} {text}")
        limits = json.loads(server.ask("/api/v1/list")[2])["limits"]
        check(limits["time_s"] == 0.3 and limits["memory_bytes"] == 64 << 20, f"limits: {limits}")
        check(server.wait_for_no_children(3), "a process outlives its limit")
        large = {"cluster": {"ranks": 1024}, "algorithm": "allpairs", "model": "flow"}
        status, _, text = server.ask("/api/v1/run", large)
        check(status == 422 and error_of(text)["code"] == "limit" and "--most-" in text, f"limits: {status} {text[:200]}")
    if not HAS_SANITIZER:
        with Server("--most-bytes", "64M") as server:
            status, _, text = server.ask("/api/v1/run", large)
            check(status == 422 and "--most-bytes" in text, f"memory: {status} {text[:200]}")
            check(server.ask("/api/v1/run", {})[0] == 200, "a run behind one that was too large")


def check_ends():
    for load, number in ((0, signal.SIGTERM), (0, signal.SIGINT), (12, signal.SIGTERM)):
        with Server() as server:
            got = []

            def client():
                try:
                    got.append(server.ask("/api/v1/run", LONG)[0])
                except (OSError, http.client.HTTPException) as problem:
                    got.append(problem)

            threads = [threading.Thread(target=client) for _ in range(load)]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            processes = server.children()
            took = server.stop(number)
            for thread in threads:
                thread.join()
            check(took < 3.5, f"signal {number} with {load} clients: it took {took:.1f} s")
            check(all(code in (200, 503) for code in got), f"clients at the end: {got}")
            check(not any(os.path.exists(f"/proc/{pid}") for pid in processes), "a process is left")
    with Server() as server:
        threading.Thread(target=lambda: server.raw(post(server, json.dumps(LONG)))).start()
        time.sleep(0.5)
        processes = server.children()
        check(len(processes) == 1, "a run under way")
        server.process.kill()
        server.process.wait()
        time.sleep(0.5)
        check(not any(alive(pid) for pid in processes), "a process outlives a server that was killed")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_start():
    with Server() as server:
        for words, code, said in [
                (["--port", str(server.port)], 3, "another program listens"),
                (["--port", "65536"], 2, "--port"), (["--port", "x"], 2, "--port"),
                (["--listen", "no such address"], 2, "--listen"), (["--listen", "192.0.2.1", "--port", "0"], 3, "--listen"),
                (["/nothing.json"], 3, "/nothing.json"), (["-a", "rung"], 2, "rung"),
                (["--most-time", "0"], 2, "--most-time")]:
            done = subprocess.run([COLLSIM, "serve", *words], capture_output=True, text=True, timeout=20)
            check(done.returncode == code and said in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "",
                  f"serve {words}: {done.returncode} {done.stderr}")
    with Server("--listen", "0.0.0.0") as server:
        check(server.ask("/api/v1/list")[0] == 200, "--listen 0.0.0.0: its own address")
        check(server.ask("/api/v1/list", headers={"Host": f"evil:{server.port}"})[0] == 403, "--listen 0.0.0.0: a name")
        server.stop()
        check("warning: --listen 0.0.0.0" in server.process.stderr.read(), "--listen: no warning")


def main():
    done = subprocess.run([COLLSIM, "serve", "--port", "x"], capture_output=True, text=True)
    probe = subprocess.Popen([COLLSIM, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if probe.stdout.readline() == "":
        said = probe.stderr.read()
        print(said, end="")
        return 77 if probe.wait() == 3 and "libmicrohttpd-dev" in said else 1
    probe.terminate()
    check(probe.wait() == 0 and done.returncode == 2, "serve without a configuration")
    with Server() as server:
        for step in (check_answers, check_list, check_refusals, check_files, check_bodies, check_slow, check_gone):
            begin = time.monotonic()
            step(server)
            print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
        check_load(server, option("--seconds", 5.0))
        check_times(server, option("--requests", 50))
    for step in (check_base_files, check_limits, check_ends, check_start):
        begin = time.monotonic()
        step()
        print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{len(PROBLEMS)} problems")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
