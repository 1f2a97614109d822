#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schedules of scripts/paper_schedule: correct, timed, and the same as ever.

usage: paper_schedule.py COLLSIM_BINARY [--every]

The matching behind them is compared with all matchings of small random graphs. Schedules are judged and replayed by
collsim: the rounds published by the StragglAR paper, the lower bound for powers of two. Their files were
once written by a program of its own with the matching of LEMON; every number of ranks must have the digest of then.
--every: also 192 ranks, which take minutes.
"""
import hashlib
import functools
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "paper_schedule")
sys.path.insert(0, os.path.join(ROOT, "scripts", "lib"))
import matching  # noqa: E402

PUBLISHED = {6: 7, 12: 15, 24: 27, 48: 57, 96: 108, 192: 208}
ALPHA_S, BANDWIDTH_BPS = 3e-6, 450e9
# Of files for a buffer of 4096 bytes, in ascending order of ranks: the first 8 digits of SHA-256.
DIGESTS = {
    "matching, published": (["matching"], [*range(2, 65, 2), 96, 192], """
        0aaab71f c7a2cc3c 8e70dc02 5033c10c cd9e5ced 90a6ac91 7c5fc50b 4da4ac55 00b54eab 9db6ff48
        2318ae79 fb4b8b15 417ba519 75b0bff0 f1d8ceca cf7d6c51 d23b3644 27f39758 731f59c2 b8f583f9
        253900a8 af9e3641 d73303dd 22b230bf d1c27e93 13ca7217 b0da4bdd f5ba18ac e1374e1e ab35be03
        647f03e7 2742d0b4 3a29b5f0 b754a3f1"""),
    "matching, newest": (["matching", "--ties", "newest"], [*range(2, 65, 2), 192], """
        0aaab71f c7a2cc3c 1225719c da24d0ed 087083a7 4789ee6b 66709424 9e22802c a80610c1 a36148e7
        8bbd8d01 2d6452fe c758ed39 01e1a5d1 0637370d 35420d29 abaebc89 ca0308c3 851a04b7 23814d17
        1010e4a0 7c86978d f1b0253e 34dc7089 c63317a7 2f6ac93f ee794e87 5f6b9bea 3fa5f389 120bddae
        04c991d8 4fae57d4 096aafbd"""),
    "algorithm1": (["algorithm1"], [2, 4, 8, 16, 32, 64, 128, 256], """
        0aaab71f cec01442 63714c93 f50ebdf7 33f2702c 6547b5ac ac677388 8fa23a77"""),
}
checks = 0


def expect(what, is_so):
    global checks
    checks += 1
    if not is_so:
        sys.exit("paper_schedule: %s" % what)


def heaviest(weights):
    """The weight of the heaviest perfect matching, by trying all."""
    @functools.lru_cache(None)
    def best(free):
        if free == 0:
            return 0
        u = (free & -free).bit_length() - 1
        return max(weights[u][v] + best(free & ~(1 << u) & ~(1 << v)) for v in range(u + 1, len(weights)) if free >> v & 1)
    return best((1 << len(weights)) - 1)


def check_matchings():
    rng = random.Random(72)
    for case in range(1500):
        n, most = 2 * rng.randrange(1, 7), rng.choice((2, 4, 10, 100000, 1 << 60))
        weights = [[0] * n for _ in range(n)]
        for u in range(n):
            for v in range(u):
                weights[u][v] = weights[v][u] = rng.randrange(most) if rng.random() < .8 else 0
        mate = matching.heaviest(weights)
        expect("case %d is no matching" % case, all(mate[v] != v and mate[mate[v]] == v for v in range(n)))
        expect("case %d has a heavier matching" % case, sum(weights[v][mate[v]] for v in range(n)) == 2 * heaviest(weights))


def make(words, path):
    subprocess.run([SCRIPT, *map(str, words), "-o", path], check=True)
    with open(path, "rb") as file:
        return file.read()


def check_digests(folder, every):
    for name, (words, ranks, digests) in DIGESTS.items():
        expect("%s: a digest for every number of ranks" % name, len(ranks) == len(digests.split()))
        for n, digest in zip(ranks, digests.split()):
            if n < 192 or every:
                text = make([*words, "-n", n, "-s", 4096], os.path.join(folder, "s.json"))
                expect("%s, %d ranks: another schedule than it was" % (name, n), hashlib.sha256(text).hexdigest()[:8] == digest)


def replayed(binary, path, n, late):
    """Result of a replay with a late rank that hides the ring before the rounds."""
    nbytes = 4096 * (n - 1)
    ran = subprocess.run([binary, "run", "--schedule", path, "-s", str(nbytes), "--late", "%d=1s" % late, "--alpha",
                          "3us", "--bandwidth", "450GB/s", "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)[0]


def check_replays(binary, folder, every):
    path = os.path.join(folder, "s.json")
    cases = [("matching", n, rounds) for n, rounds in PUBLISHED.items() if n < 192 or every]
    cases += [("algorithm1", 1 << k, (1 << k) - 2 + k) for k in range(1, 8)]
    for generator, n, rounds in cases:
        late = (n * 5) // 7
        make([generator, "-n", n, "-s", 4096 * (n - 1), "--late", late], path)
        subprocess.run([binary, "verify", path], check=True, capture_output=True)
        result = replayed(binary, path, n, late)
        want_s = rounds * (ALPHA_S + 4096 / BANDWIDTH_BPS)
        expect("%s, %d ranks is verified" % (generator, n), result["verified"] is True)
        expect("%s, %d ranks: %d rounds" % (generator, n, result["rounds"]), result["rounds"] == n - 2 + rounds)
        expect("%s, %d ranks: %.9g s instead of %.9g s" % (generator, n, result["exposed_s"], want_s),
               abs(result["exposed_s"] - want_s) <= 1e-9 * want_s)
        expect("%s, %d ranks: not faster than the bound" % (generator, n), result["bound_s"] <= (1 + 1e-9) * result["elapsed_s"])
        expect("%s, %d ranks: bound" % (generator, n), rounds >= n - 2 + (n - 1).bit_length())


def check_refusals():
    for words, text in ((["algorithm1", "-n", "12"], "power of two, got 12"), (["matching", "-n", "7"], "even number of at most 512 ranks, got 7"),
                        (["matching", "-n", "514"], "got 514"), (["matching", "-n", "8", "--late", "8"], "accepted are 0 .. 7"),
                        (["matching", "-n", "8", "-s", "0"], "at least one byte"), (["rotation", "-n", "8"], "algorithm1")):
        ran = subprocess.run([SCRIPT, *words], capture_output=True, text=True)
        expect("%s is refused" % words, ran.returncode == 2 and text in ran.stderr and ran.stdout == "")


def main():
    every = "--every" in sys.argv[2:]
    check_matchings()
    check_refusals()
    with tempfile.TemporaryDirectory() as folder:
        check_replays(sys.argv[1], folder, every)
        check_digests(folder, every)
    print("paper_schedule: %d checks passed%s" % (checks, "" if every else " (without 192 ranks)"))


if __name__ == "__main__":
    main()
