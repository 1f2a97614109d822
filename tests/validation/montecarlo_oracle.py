#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""collsim montecarlo against a Monte Carlo of its own: arrivals from Python's generators, times from the
formulas of the algorithms' papers. Two independent estimates must agree within their errors. The same
for iterations of training. Then what a shell sees of the command: formats, a database that is continued, refusals.

usage: montecarlo_oracle.py COLLSIM
"""
import csv
import io
import json
import math
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile

N, ALPHA, RATE, BYTES = 8, 3e-6, 300e9, 56 << 20
ITERATIONS = 20000
TAU = ALPHA + BYTES / (N - 1) / RATE
T_RS = (N - 2) * TAU


def ring(arrivals):
    return 2 * (N - 1) * (ALPHA + BYTES / N / RATE)


def stragglar(arrivals, presumed, agreement=0.0):
    others = max(a for g, a in enumerate(arrivals) if g != presumed)
    begin = max(others + agreement + T_RS, arrivals[presumed])
    return begin + (N - 2 + 3) * TAU - max(arrivals)


def last_of(arrivals):
    return max(range(N), key=lambda g: (arrivals[g], g))


# Name, the configuration's key, and a sampler in Python.
DELAYS = [
    ({"name": "exponential", "mean": "300us"}, lambda r: r.expovariate(1 / 300e-6)),
    ({"name": "lognormal", "median": "200us", "sigma": 0.8},
     lambda r: r.lognormvariate(math.log(200e-6), 0.8)),
    ({"name": "gamma", "scale": "100us", "shape": 2}, lambda r: r.gammavariate(2, 100e-6)),
    ({"name": "weibull", "scale": "200us", "shape": 0.9},
     lambda r: r.weibullvariate(200e-6, 0.9)),
    ({"name": "pareto", "scale": "100us", "shape": 4}, lambda r: 100e-6 * r.paretovariate(4)),
    ({"name": "uniform", "min": 0, "max": "500us"}, lambda r: r.uniform(0, 500e-6)),
]


def own_estimates(sample, persistence, generator):
    """{(algorithm, prediction): exposed times} with arrivals of Python's own."""
    times = {key: [] for key in (("ring", None), ("stragglar", "static"), ("stragglar", "dynamic"),
                                 ("stragglar", "previous"))}
    previous = 3
    for _ in range(ITERATIONS):
        arrivals = [sample(generator) for _ in range(N)]
        late = 3
        if generator.random() >= persistence:
            late = generator.choice([g for g in range(N) if g != 3])
        arrivals[late] += generator.expovariate(1 / 400e-6)
        first = min(arrivals)
        arrivals = [a - first for a in arrivals]
        times["ring", None].append(ring(arrivals))
        times["stragglar", "static"].append(stragglar(arrivals, 3))
        times["stragglar", "dynamic"].append(stragglar(arrivals, last_of(arrivals), 20e-6))
        times["stragglar", "previous"].append(stragglar(arrivals, previous))
        previous = last_of(arrivals)
    return times


def config_of(delay, persistence):
    return {"bytes": BYTES, "cluster": {"ranks": N, "nic": {"bandwidth": "300GB/s", "alpha": "3us"}},
            "arrivals": {"distribution": delay,
                         "straggler": {"rank": 3, "persistence": persistence,
                                       "delay": {"name": "exponential", "mean": "400us"}}},
            "montecarlo": {"agreement": "20us"},
            "sweep": {"algorithm.name": ["ring", "stragglar"],
                      "montecarlo.prediction": ["static", "dynamic", "previous"]}}


def run(words, folder):
    return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


def quantile(values, q):
    values = sorted(values)
    place = q * (len(values) - 1)
    low = math.floor(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def compare(program, folder, number, delay, sample):
    """Problems of one distribution."""
    persistence = 0.8
    with open(os.path.join(folder, "c.json"), "w", encoding="utf-8") as file:
        json.dump(config_of(delay, persistence), file)
    done = run([program, "montecarlo", "c.json", "-i", str(ITERATIONS), "--format", "json"], folder)
    if done.returncode != 0:
        return [done.stderr]
    own = own_estimates(sample, persistence, random.Random(number))
    problems = []
    for row in json.loads(done.stdout):
        times = own[row["algorithm"], row["prediction"]]
        error = math.hypot(statistics.stdev(times), row["exposed_stddev_s"]) / math.sqrt(ITERATIONS)
        place = f"{delay['name']}, {row['algorithm']} {row['prediction']}"
        if abs(statistics.mean(times) - row["exposed_mean_s"]) > 4.5 * error + 1e-12:
            problems.append(f"{place}: mean {row['exposed_mean_s']}, not {statistics.mean(times)}")
        for name, q in (("p50", 0.5), ("p95", 0.95)):
            width = row[f"exposed_{name}_high_s"] - row[f"exposed_{name}_low_s"]
            want = quantile(times, q)
            if abs(row[f"exposed_{name}_s"] - want) > 2 * width + 1e-9:
                problems.append(f"{place}: {name} {row[f'exposed_{name}_s']}, not {want}")
    return problems


COMPUTE, OVERLAP, BUCKETS, TAIL = 2e-3, 0.5, (224 << 20, 56 << 20, 14 << 20, 112 << 20), 1e-4


def call(algorithm, enter, size):
    """End of a call of `size` bytes that the ranks enter at these times; rank 3 is presumed late."""
    if algorithm == "ring":
        return max(enter) + 2 * (N - 1) * (ALPHA + size / N / RATE)
    tau = ALPHA + size / (N - 1) / RATE
    others = max(t for g, t in enumerate(enter) if g != 3)
    return max(others + (N - 2) * tau, enter[3]) + (N - 2 + 3) * tau


def iteration(algorithm, computes):
    """(time of an iteration, of which exposed)"""
    end = 0.0
    for k, size in enumerate(BUCKETS):
        ready = 1 - OVERLAP + OVERLAP * (k + 1) / len(BUCKETS)
        end = call(algorithm, [max(ready * c, end) for c in computes], size)
    return end + TAIL, end - max(computes)


def check_training(program, folder):
    """Iterations of both, and what they save."""
    config = config_of({"name": "exponential", "mean": "300us"}, 0.8)
    del config["bytes"], config["sweep"]["montecarlo.prediction"]
    config["montecarlo"] = {"prediction": "static"}
    config["training"] = {"compute": COMPUTE, "overlap": OVERLAP, "tail": TAIL, "buckets": BUCKETS}
    with open(os.path.join(folder, "t.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    done = run([program, "montecarlo", "t.json", "-i", str(ITERATIONS), "--format", "json"], folder)
    if done.returncode != 0:
        return [done.stderr]
    generator, times = random.Random(4), {"ring": [], "stragglar": []}
    for _ in range(ITERATIONS):
        late = 3 if generator.random() < 0.8 else generator.choice([0, 1, 2, 4, 5, 6, 7])
        computes = [COMPUTE + generator.expovariate(1 / 300e-6) for _ in range(N)]
        computes[late] += generator.expovariate(1 / 400e-6)
        for name, pairs in times.items():
            pairs.append(iteration(name, computes))
    problems = []
    rows = json.loads(done.stdout)
    for row in rows:
        for column, place in (("elapsed", 0), ("exposed", 1)):
            own = [pair[place] for pair in times[row["algorithm"]]]
            error = math.hypot(statistics.stdev(own), row[column + "_stddev_s"])
            difference = abs(statistics.mean(own) - row[column + "_mean_s"])
            if difference > 4.5 * error / ITERATIONS**0.5 + 1e-12:
                problems.append(f"training, {row['algorithm']}: {column} {row[column + '_mean_s']}, "
                                f"not {statistics.mean(own)}")
    means = {name: statistics.mean(pair[0] for pair in pairs) for name, pairs in times.items()}
    saved = N * 24 * (1 - means["stragglar"] / means["ring"])
    width = rows[1]["gpu_hours_per_day_high"] - rows[1]["gpu_hours_per_day_low"]
    if not (0 < width < 0.5 and abs(rows[1]["gpu_hours_per_day"] - saved) < 2 * width):
        problems.append(f"training: {rows[1]['gpu_hours_per_day']} GPU-hours a day, not {saved}")
    table = run([program, "montecarlo", "t.json", "-i", "10"], folder).stdout
    if "GPU-h/day" not in table or len(table.splitlines()) != 6:
        problems.append(f"training: another table: {table}")
    for command in ("run", "bound"):
        done = run([program, command, "t.json"], folder)
        if done.returncode != 2 or "training: whole iterations" not in done.stderr:
            problems.append(f"{command} of training: {done.returncode} {done.stderr}")
    done = run([program, "sweep", "t.json", "-o", "s.db"], folder)
    if done.returncode != 2 or os.path.exists(os.path.join(folder, "s.db")):
        problems.append(f"sweep of training: {done.returncode} {done.stderr}")
    return problems


def check_shell(program, folder):
    """What a shell sees."""
    command = [program, "montecarlo", "c.json", "-i", "500"]
    problems = []
    outputs = [run(command + ["-j", jobs, "--format", "json"], folder).stdout for jobs in "13"]
    if outputs[0] != outputs[1]:
        problems.append("-j 1 and -j 3 differ")
    rows = json.loads(outputs[0])
    table = list(csv.DictReader(io.StringIO(run(command + ["--format", "csv"], folder).stdout)))
    if [float(r["exposed_mean_s"]) for r in table] != [r["exposed_mean_s"] for r in rows]:
        problems.append("csv and json differ")
    first = run(command + ["-o", "m.db", "--set", "sweep.algorithm.name=[\"ring\"]"], folder)
    second = run(command + ["-o", "m.db"], folder)
    if "0 were there, 1 run now" not in first.stdout or "1 were there, 3 run now" not in second.stdout:
        problems.append(f"the database is not continued: {first.stdout} {second.stdout}")
    with sqlite3.connect(os.path.join(folder, "m.db")) as database:
        means = database.execute("SELECT exposed_mean_s FROM montecarlo").fetchall()
    if sorted(m[0] for m in means) != sorted(r["exposed_mean_s"] for r in rows):
        problems.append("the database holds other numbers")
    refusals = [(["-i", "0"], "--iterations: 0 is outside [1, 20000000]"),
                (["--sampling", "sobl"], "--sampling: unknown word 'sobl', did you mean 'sobol'?: accepted are random"),
                (["--baseline", "optcc"], "--baseline: no scenario runs 'optcc'"),
                (["--confidence", "95"], "--confidence: 95 is outside (0, 1)"),
                (["-o", ""], "--output: '' is not the name of a file"),
                (["--set", "arrivals.straggler.persistence=2"],
                 "--set arrivals.straggler.persistence: 2 is outside [0, 1]")]
    for words, text in refusals:
        done = run(command + words, folder)
        if done.returncode != 2 or text not in done.stderr or done.stdout != "":
            problems.append(f"{words}: {done.returncode} {done.stderr}")
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        problems = []
        for number, (delay, sample) in enumerate(DELAYS):
            problems += compare(program, folder, number, delay, sample)
        problems += check_training(program, folder)
        problems += check_shell(program, folder)
    for problem in problems:
        print(f"montecarlo_oracle: {problem}", file=sys.stderr)
    print(f"montecarlo_oracle: {len(DELAYS)} distributions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
