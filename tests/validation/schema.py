#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON Schema of configurations against the reader.

usage: schema.py COLLSIM

Every configuration that comes with the program is as the schema says, and so refused by nobody (that the
reader takes it tests/unit/test_schema.c sees to). Every bad configuration of tests/errors, which the reader
refuses, is refused by the schema, too, but for those that are listed here with what only the reader can know.
Without python3-jsonschema it says so and skips, unless CI is true.
"""
import fnmatch
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(ROOT, "configs", "collsim.schema.json")
SKIPPED = 77

# What a schema of one file cannot know: the names of bad configurations that are fine in form.
ONLY_THE_READER = {
    "keys that go together or not": [
        "arrivals-distribution-both-pairs", "arrivals-distribution-half-pair", "arrivals-distribution-mixed-pairs",
        "arrivals-distribution-no-pair", "arrivals-empirical-both", "arrivals-empirical-fingerprint",
        "arrivals-empirical-neither", "arrivals-straggler-correlation", "arrivals-straggler-persistence-missing",
        "calibration-servers", "cross", "montecarlo-presumed-unused", "montecarlo-static-without-rank",
        "nvlink-concurrent-switched", "topology", "topology-simgrid-port-model", "training-buckets-cut", "training-model-and-buckets",
        "training-bytes-per-activation", "training-fsdp-bucket", "training-fsdp-collective",
        "training-neither", "training-no-experts", "training-tokens-missing", "training-tokens-without-experts",
        "training-with-bytes", "fault-failover-of-rank", "fault-nic-and-rank", "fault-nic-without-server"],
    "a value that contradicts another": [
        "arrivals-distribution-shape-extreme", "arrivals-uniform-reversed", "fault-ends-early", "fault-nic-all-dead",
        "fault-nic-failovers-differ", "fault-rank-dead", "fault-together-too-slow",
        "late-twice", "montecarlo-contradicts-option", "montecarlo-two-ranks-presumed", "servers-fat-tree",
        "servers-gpus-above", "servers-gpus-rails", "servers-gpus-ranks", "servers-gpus-sockets", "servers-gpus-twice",
        "servers-one-rank", "servers-ranks", "servers-rates-too-far",
        "servers-too-many", "servers-topology", "servers-uneven", "sockets", "topology-preset-first",
        "topology-graph-few-ranks", "topology-graph-twice", "topology-graph-unknown-node", "topology-server-ranks",
        "topology-server-sockets", "topology-servers-and-ranks", "topology-too-many-gpus",
        "topology-too-many-leaves", "topology-too-many-links", "training-bucket-too-small", "training-collective",
        "training-fault-ends", "training-two-regimes"],
    "a rank, server or NIC that the cluster does not have": [
        "arrivals-straggler-rank-beyond", "fault-nic-beyond", "fault-nic-server-beyond", "fault-rank-beyond", "late-rank-beyond", "montecarlo-presumed-beyond",
        "root-beyond"],
    "a quantity that is out of range with its unit": [
        "arrivals-distribution-too-late", "option-out-of-range", "topology-graph-zero-link", "topology-server-rate"],
    "an option of another algorithm": ["adapcc-strategy-of-ring"],
    "the length of a text": ["adapcc-strategy-long"],
    "a number that is no power of two": ["training-bytes-per-parameter"],
    "a way that there is not": ["topology-graph-disconnected", "topology-rails-without-spine"],
    "what is in a file": [
        "adapcc-strategy-circle", "adapcc-strategy-fingerprint", "adapcc-strategy-missing",
        "arrivals-trace-*", "calibration-missing", "topology-file-missing", "topology-file-of-nothing",
        "topology-infragraph-*", "topology-json-of-file", "topology-nccl-*", "topology-simgrid-*", "topology-smi-*", "topology-xml-*", "topology-yaml-*"],
    "the product of all axes": ["sweep-too-large"],
    "JSON that other readers take": ["duplicate-key", "nul-escape"],
}
# Those of the patterns above that are wrong in form.
WRONG_IN_FORM = ["arrivals-trace-pathless", "arrivals-trace-pick"]


def reason_of(name):
    if name in WRONG_IN_FORM:
        return None
    for reason, names in ONLY_THE_READER.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in names):
            return reason
    return None


def bad_configurations():
    """(name, tree) of every configuration in tests/errors that is JSON."""
    folder = os.path.join(ROOT, "tests", "errors")
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "input.json")
        if not os.path.isfile(path):
            continue
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            tree = json.loads(text)
        except (ValueError, RecursionError):
            continue  # no JSON at all
        if not text.startswith('{"format":'):  # a schedule
            yield name, tree


def check_errors(validator):
    problems, seen = [], set()
    for name, tree in bad_configurations():
        is_fine, reason = validator.is_valid(tree), reason_of(name)
        seen.add(name)
        if is_fine and reason is None:
            problems.append(f"tests/errors/{name}: the schema accepts it, and it is not listed why")
        if not is_fine and reason is not None:
            problems.append(f"tests/errors/{name}: the schema refuses it, but it is listed for '{reason}'")
    for names in ONLY_THE_READER.values():
        problems += [f"{pattern} is listed, but not there" for pattern in names
                     if not fnmatch.filter(seen, pattern)]
    return problems, len(seen)


def check_configurations(validator):
    problems, count = [], 0
    names = os.listdir(os.path.join(ROOT, "configs"))
    names += [os.path.join("figures", name) for name in os.listdir(os.path.join(ROOT, "configs", "figures"))]
    for name in sorted(names):
        if not name.endswith(".json") or name.endswith(".schema.json"):
            continue
        count += 1
        with open(os.path.join(ROOT, "configs", name), encoding="utf-8") as f:
            tree = json.load(f)
        for error in validator.iter_errors(tree):
            path = "".join("[%d]" % p if isinstance(p, int) else ".%s" % p for p in error.absolute_path)
            problems.append(f"configs/{name}: {path}: {error.message[:200]}")
    return problems, count


def check_file(program, schema):
    """The file in the tree is what the program prints, where it has all models."""
    printed = subprocess.run([program, "list", "schema"], capture_output=True, text=True, check=True, timeout=60)
    for model in ("simgrid", "ns3"):
        if model not in json.loads(printed.stdout)["definitions"]["model_name"]["enum"]:
            print(f"schema: configs/collsim.schema.json is not compared: this build has no {model}")
            return []
    return [] if printed.stdout == schema else [
        "configs/collsim.schema.json is not what 'collsim list schema' prints: write it anew"]


# A few configurations that must not pass: the schema can fail.
MUST_FAIL = [{"bytess": 1}, {"bytes": "12parsec"}, {"cluster": {"ranks": 1}}, {"job": {}}, {"faults": [{}]},
             {"cluster": {"topology": {"kind": "rails", "leaves": 2}}}, {"sweep": {"cluster.rank": [2]}},
             {"sweep": {"cluster.ranks": [1]}}, {"sweep": {"faults[0].slow": [2]}},
             {"algorithm": {"name": "ring", "options": {"x": 1}}}, {"model": "hypercube"},
             {"arrivals": {"distribution": {"name": "gamma", "sigma": 1}}}, {"seed": -1}, []]
MUST_PASS = [{}, {"$schema": "x"}, {"bytes": 4096, "cluster": {"nvlink": {"concurrent": None}}},
             {"sweep": {"algorithm": ["ring", {"name": "optcc", "options": {"segments": "auto"}}]}},
             {"sweep": {"arrivals.late[12].delay": ["3us", 4e-3]}, "cluster": {"topology": "a/b.xml"}},
             {"job": {"iterations": 1, "compute": "1s", "bytes": 1}, "policies": ["wait", {"name": "optcc"}]}]


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        import jsonschema
    except ImportError:
        print("schema: skipped: python3-jsonschema is not installed")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    with open(SCHEMA, encoding="utf-8") as f:
        text = f.read()
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    problems = check_file(sys.argv[1], text)
    problems += [f"{json.dumps(tree)}: is accepted" for tree in MUST_FAIL if validator.is_valid(tree)]
    problems += [f"{json.dumps(tree)}: is refused" for tree in MUST_PASS if not validator.is_valid(tree)]
    found, n_configs = check_configurations(validator)
    problems += found
    found, n_errors = check_errors(validator)
    problems += found
    for problem in problems:
        print(f"schema: {problem}", file=sys.stderr)
    print(f"schema: {n_configs} configurations, {n_errors} bad ones, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
