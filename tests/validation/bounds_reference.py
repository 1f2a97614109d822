#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes bounds_reference.h: values of the volume and messages bounds in exact rationals.

usage: bounds_reference.py > bounds_reference.h
Written apart from the library: it solves the inequality for T by walking the break points of
its left side, and looks for the worst t on a fine grid beside the break points. A scenario is a
buffer that takes 1 s on a healthy port; arrivals, slowdowns and alpha are short binary fractions.
"""
from fractions import Fraction as F
import random

CASES = 36


def solve(starts, rates, need):
    """Least T with sum_i rate_i (T - start_i)+ = need."""
    ports = sorted(zip(starts, rates))
    rate = done = F(0)
    for i, (start, r) in enumerate(ports):
        rate += r
        following = ports[i + 1][0] if i + 1 < len(ports) else None
        at = start + (need - done) / rate
        if following is None or at <= following:
            return at
        done += rate * (following - start)


def moved(t, a, l, without):
    return sum(min(F(1), max(F(0), 2 * (t - a[i]) / l[i])) for i in range(len(a)) if i != without)


def volume_at(t, a, l, without):
    n = len(a)
    sent = sum(max(F(0), t - a[i]) / l[i] for i in range(n))
    need = 2 * (n - 1) - min(moved(t, a, l, without), sent)
    return solve([max(x, t) for x in a], [1 / x for x in l], need)


def volume(a, l, alpha):
    n, last = len(a), max(a)
    first = min(range(n), key=lambda i: (a[i], l[i]))
    full = min(range(n), key=lambda i: a[i] + l[i] / 2)
    best = max(last + alpha, solve([x + alpha for x in a], [1 / x for x in l], F(2 * (n - 1))))
    points = set(a) | {a[i] + l[i] / 2 for i in range(n)}
    grid = {last * k / 97 for k in range(98)}
    at = lambda t: max(volume_at(t, a, l, first), volume_at(t, a, l, full))
    best = max([best] + [at(t) for t in points if t <= last])
    assert all(at(t) <= best for t in grid if t <= last), (a, l)
    return best


def messages(a, alpha):
    n, last = len(a), max(a)
    return last + F(min(n + a.count(last) - 1, 2 * n - 2), n) * (alpha + 1)


def case(rnd):
    n = rnd.randint(2, 12)
    scale = rnd.choice((0, 16, 64, 200))
    a = [F(rnd.randint(0, scale), 64) for _ in range(n)]
    if rnd.random() < .4:  # some together
        late = max(a)
        a = [late if rnd.random() < .4 else x for x in a]
    a = [x - min(a) for x in a]
    l = [F(rnd.choice((8, 8, 8, 9, 12, 16, 28)), 8) if scale != 16 else F(1) for _ in range(n)]
    return a, l, F(rnd.choice((0, 0, 1, 8)), 64)


def number(x):
    return repr(float(x))


def main():
    rnd = random.Random(20250601)
    print("/* SPDX-License-Identifier: GPL-3.0-or-later */")
    print("/* Written by bounds_reference.py. A buffer takes 1 s on a healthy port; times in s. */")
    print("/* clang-format off */")
    print("static const struct reference {\n    unsigned n;\n    double   arrival_s[12], slow[12], "
          "alpha_s, volume_s, messages_s;\n} references[] = {")
    for _ in range(CASES):
        a, l, alpha = case(rnd)
        print("    {%d,\n     {%s},\n     {%s},\n     %s, %s, %s}," % (
            len(a), ", ".join(map(number, a)), ", ".join(map(number, l)), number(alpha),
            number(volume(a, l, alpha)), number(messages(a, alpha))))
    print("};\n/* clang-format on */")


main()
