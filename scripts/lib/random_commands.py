# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands drawn at random over everything that configurations and options can say, broken ones among them."""
import copy
import json
import random
import shlex

ALGORITHMS = ("allpairs broadcast circulant double_binary_tree flat_ring hierarchical iallgather_rd ibcast_btdd ibcast_btdh "
              "ibcast_knomial ibcast_linear latency_optimal merged_rhd nccl_rings optcc parallel_rings r2ccl rhd ring "
              "stragglar").split()
ALLREDUCE = [name for name in ALGORITHMS if not name.startswith("i")]
ALLGATHER = "circulant flat_ring nccl_rings parallel_rings rhd ring iallgather_rd ibcast_btdd ibcast_btdh ibcast_linear".split()
MODELS = ("alpha-beta", "alpha-beta", "loggp", "flow", "packet", "simgrid")
PRESETS = ("dgx-a100", "dgx-h100", "hgx-b200", "p5.48xlarge", "parallel-rings-a", "parallel-rings-b")
OPTIONS = {"circulant": {}, "stragglar": {"chunks": ["auto", 1, 3], "prephase": ["ring", "circulant"], "model": ["auto", "duplex"],
                                          "late_ranks": ["auto", 0, 2], "entry_barrier_s": ["2us"]},
           "optcc": {"segments": [2, 8, "auto"], "copies": [1, 2, "auto"], "bubbles": ["on", "off"], "chosen": ["optcc", "auto"]},
           "r2ccl": {"pieces": [1, 4]}, "hierarchical": {"segments": [1, 3]}, "double_binary_tree": {"chunks": [1, 5]},
           "merged_rhd": {"exchanges": [1, 2, "auto"]}, "nccl_rings": {"channels": [1, 2]}, "parallel_rings": {"segments": [2]}}
MODEL_OPTIONS = {"alpha-beta": {"propagation_s": ["1us"], "message_gap_s": ["0.2us"]}, "loggp": {"overhead_s": ["0.5us"], "gap_s": ["1us"]},
                 "flow": {"incast_ratio": [2], "receivers": ["share", "queue"], "flow_cap_Bps": ["20GB/s"]},
                 "packet": {"mtu_bytes": [256, 9000], "header_bytes": [1, 82], "trains": [False], "lossless": [True],
                            "paths": ["hash", "spray"], "cut_through_bytes": [64], "xoff_bytes": [20000],
                            "transport": ["gbn", "selective", "dcqcn"], "queue_bytes": ["100K"]}}
WRONG = (None, True, -1, 0, 1e30, 1.5, "", "x", "-1us", "5parsecs", "1e400", [], [1], {}, {"a": 1}, "auto", 2 ** 53 + 1, "\u00fc")


def size(rng):
    return rng.choice((rng.randrange(1, 1 << rng.randrange(4, 24)), "%dK" % rng.randrange(1, 900), "%dMiB" % rng.randrange(1, 60),
                       "%dkB" % rng.randrange(1, 900)))


def time(rng, most_us=2000):
    return rng.choice(("%dus" % rng.randrange(most_us), "%.3gms" % (rng.uniform(0, most_us) / 1000), "%dns" % rng.randrange(9000)))


def rate(rng):
    return rng.choice(("%dGB/s" % rng.randrange(5, 500), "%dGb/s" % rng.choice((25, 100, 200, 400)), "%dGbps" % rng.choice((50, 800))))


def fabric(rng, cluster):
    servers = cluster["ranks"] // cluster["gpus_per_server"]
    kind = rng.choice(("crossbar", "leaf-spine", "fat-tree", "rails", "graph"))
    if kind == "leaf-spine":
        return {"kind": kind, "leaves": servers if servers % 2 else 2, "spines": rng.choice((1, 2)), "uplink_bandwidth": rate(rng)}
    if kind == "fat-tree":
        return {"kind": kind, "leaf_servers": rng.choice((1, 2)), "uplinks": rng.choice((1, 2, 4)), "hop_latency": "300ns"}
    if kind == "rails":
        return {"kind": kind, "spines": rng.choice((0, 2)), "oversubscription": rng.choice((1, 2))}
    if kind == "graph":
        names = ["r%d" % i for i in range(cluster["ranks"])]
        return {"kind": kind, "nodes": [{"name": name, "end": True} for name in names] + [{"name": "s"}, {"name": "t"}],
                "links": [{"from": name, "to": "st"[i % 2], "bandwidth": "50GB/s"} for i, name in enumerate(names)]
                         + [{"from": "s", "to": "t", "bandwidth": rate(rng), "latency": "1us"}], "ranks": names}
    return {"kind": kind}


def delays(rng):
    return rng.choice(({"name": "exponential", "mean": "300us"}, {"name": "uniform", "min": "0s", "max": "1ms"},
                       {"name": "lognormal", "mean": "200us", "stddev": "100us"}, {"name": "gamma", "mean": "1ms", "stddev": "300us"},
                       {"name": "weibull", "scale": "1ms", "shape": 2}, {"name": "pareto", "scale": "1ms", "shape": 3},
                       {"name": "normal", "mean": "1ms", "stddev": "1ms"}, {"name": "constant", "value": "50us"},
                       {"name": "empirical", "values": ["0s", "1ms", "20us"]}))


def scenario(rng, most_ranks=16):
    """A configuration of `run` that is mostly right."""
    gpus = rng.choice((1, 1, 1, 2, 4))
    ranks = gpus * rng.randrange(2, 1 + most_ranks // gpus)
    config = {"bytes": size(rng), "seed": rng.randrange(99)}
    if rng.random() < .25:
        config["collective"] = rng.choice(("allgather", "reducescatter", "alltoall", "broadcast", "reduce"))
    pool = {"allgather": ALLGATHER, "reducescatter": ALLGATHER[:6]}.get(config.get("collective"), ALLREDUCE)
    name = rng.choice(pool)
    config["algorithm"] = name
    options = {key: rng.choice(values) for key, values in OPTIONS.get(name, {}).items() if rng.random() < .3}
    if options:
        config["algorithm"] = {"name": name, "options": options}
    config["model"] = rng.choice(MODELS)
    options = {key: rng.choice(values) for key, values in MODEL_OPTIONS.get(config["model"], {}).items() if rng.random() < .2}
    if options:
        config["model"] = {"name": config["model"], "options": options}
    cluster = config["cluster"] = {"ranks": ranks, "gpus_per_server": gpus, "nic": {"bandwidth": rate(rng), "alpha": time(rng, 9)}}
    if gpus > 1:
        cluster["nvlink"] = {"bandwidth": rate(rng), "kind": rng.choice(("switched", "direct"))}
        if gpus == 4 and rng.random() < .3:
            cluster.update(sockets=2, cross={"bandwidth": "20GB/s", "alpha": "8us"})
    if rng.random() < .3:
        cluster["topology"] = fabric(rng, cluster)
    elif rng.random() < .12:
        config["cluster"] = {"topology": {"preset": rng.choice(PRESETS), "servers": rng.choice((1, 2))}}
        ranks = 4
    if rng.random() < .5:
        late = rng.sample(range(ranks), rng.randrange(1, 3))
        config["arrivals"] = {"late": [{"rank": rank, "delay": time(rng)} for rank in late]}
    if rng.random() < .2:
        config.setdefault("arrivals", {})["distribution"] = delays(rng)
    if rng.random() < .15:
        config.setdefault("arrivals", {})["straggler"] = {"rank": rng.randrange(ranks), "persistence": .9, "delay": delays(rng)}
    if rng.random() < .4:
        fault = {"rank": rng.randrange(ranks), "slowdown": rng.choice((2, 1.5, "8/7", 4, 1))}
        if rng.random() < .3:
            fault.update({"from": "20us", "until": rng.choice((None, "3ms"))})
        config["faults"] = [fault]
    return config


def swept(rng, config):
    axes = [("bytes", [8, "3K", "1MiB"]), ("algorithm.name", rng.sample(ALLREDUCE, 3)), ("cluster.nic.alpha", ["0s", "5us"]),
            ("cluster.nic.bandwidth", ["100Gb/s", "50GB/s"]), ("model.name", ["alpha-beta", "loggp", "flow"]), ("seed", [1, 2, 3])]
    if isinstance(config["algorithm"], dict):
        config["algorithm"] = config["algorithm"]["name"]
    if isinstance(config["model"], dict):
        config["model"] = config["model"]["name"]
    if "late" in config.get("arrivals", {}):
        axes.append(("arrivals.late[0].delay", ["0s", "100us", "2ms"]))
    config["sweep"] = dict(rng.sample(axes, rng.choice((1, 2))))
    return config


def montecarlo(rng):
    config = scenario(rng, 8)
    config["model"] = rng.choice(("alpha-beta", "loggp"))
    config.pop("faults", None)
    config.setdefault("arrivals", {})["distribution"] = delays(rng)
    if rng.random() < .6:
        config["montecarlo"] = {"prediction": rng.choice(("previous", "oracle", "adaptive", "dynamic")), "agreement": time(rng, 50)}
    if rng.random() < .3:
        config["training"] = {"compute": "5ms", "overlap": .5, "buckets": ["1MiB", "300K"]}
        config.pop("bytes")
    if rng.random() < .5:
        config["sweep"] = {"algorithm.name": rng.sample(("ring", "rhd", "stragglar", "broadcast", "allpairs"), 3)}
        config["algorithm"] = "ring"
    return config


def whatif(rng):
    servers = rng.choice((4, 6, 8))
    gpus = rng.choice((1, 1, 4))
    faults = []
    for _ in range(rng.randrange(1, 4)):
        begin = rng.randrange(0, 30)
        fault = {"rank": rng.randrange(servers * gpus), "slowdown": rng.choice((2, 4, None)), "from": "%ds" % begin}
        if rng.random() < .6:
            fault["until"] = "%.4gs" % (begin + rng.uniform(.01, 20))
        faults.append(fault)
    config = {"job": {"iterations": rng.randrange(20, 400), "compute": "%dms" % rng.randrange(10, 200), "bytes": "%dMiB" % rng.randrange(1, 512)},
              "cluster": {"ranks": servers * gpus, "gpus_per_server": gpus, "nic": {"bandwidth": rate(rng), "alpha": "3us"}}, "faults": faults}
    if rng.random() < .5:
        config["timers"] = {"detect": "100ms", "restart": "%ds" % rng.randrange(5, 90), "tolerance": .1}
    if rng.random() < .4:
        config["policies"] = rng.sample(("iccl", "exclude", "wait", "optcc", "r2ccl"), 3)
    if rng.random() < .4:
        config["profile"] = {"period": rng.choice((0, 7, 50)), "rebuild": "%dms" % rng.randrange(0, 2000)}
        config.pop("policies", None)
        config["seed"] = rng.randrange(100)
    if rng.random() < .3:
        config["interference"] = {"every": "%ds" % rng.randrange(2, 40), "gpus": rng.randrange(1, 3), "level": rng.choice((.1, 1, 4))}
    if rng.random() < .3:
        config["death"] = {"rank": rng.randrange(servers * gpus), "at": "%ds" % rng.randrange(0, 40), "checkpoint": rng.choice((1, 10, 50)), "hang": "1s", "relaunch": "5s"}
    return config


def places(value, path=()):
    """Every place in the value, itself excepted."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield path + (key,)
        yield from places(inner, path + (key,))


def broken(rng, config):
    """The text of the configuration with one thing wrong."""
    config = copy.deepcopy(config)
    *way, last = rng.choice(list(places(config)))
    parent = config
    for step in way:
        parent = parent[step]
    kind = rng.randrange(6)
    if kind < 3 or isinstance(last, int):
        parent[last] = rng.choice(WRONG)
    elif kind == 3:
        parent[last + rng.choice("sx_")] = parent.pop(last)
    elif kind == 4:
        parent.pop(last)
    text = json.dumps(config, indent=rng.choice((None, 2)))
    if kind == 5:
        at = rng.randrange(len(text))
        text = rng.choice((text[:at], text[:at] + text[at + 1:], text[:at] + rng.choice(",:{]\"\\x0") + text[at:]))
    return text


def options(rng, config):
    """The configuration as options, of which there are fewer."""
    cluster = config["cluster"]
    words = ["-a", config["algorithm"] if isinstance(config["algorithm"], str) else config["algorithm"]["name"], "-s", config["bytes"],
             "-m", config["model"] if isinstance(config["model"], str) else config["model"]["name"], "-c", config.get("collective", "allreduce")]
    if "ranks" in cluster:
        words += ["-n", cluster["ranks"], "-g", cluster["gpus_per_server"], "--alpha", cluster["nic"]["alpha"],
                  "--bandwidth", cluster["nic"]["bandwidth"]]
    else:
        words += ["--topology", cluster["topology"]["preset"]]
    for late in config.get("arrivals", {}).get("late", []):
        words += ["--late", "%d=%s" % (late["rank"], late["delay"])]
    for fault in config.get("faults", []):
        words += ["--slow", "%d=%s" % (fault["rank"], fault["slowdown"])]
    return [str(word) for word in words]


def command(rng):
    config = scenario(rng)
    kind = rng.choice("run run run options options bound critical compare schedule sweep sweep montecarlo montecarlo whatif whatif-broken "
                      "montecarlo-broken broken broken broken broken-options export topology".split())
    form = rng.choice(("table", "json", "csv"))
    text = json.dumps(config)
    more = rng.choice(("", "", " --explain", " --no-verify", " --trace trace.json", " --heatmap heat.svg"))
    if kind == "run":
        if rng.random() < .3:
            text = json.dumps(swept(rng, config))
            more = ""
        line = "collsim run in.json --format %s%s" % (form, more)
    elif kind in ("options", "broken-options"):
        words = options(rng, config)
        if kind == "broken-options":
            at = rng.randrange(len(words))
            words[at] = rng.choice(("", "x", "-1", "0", "1e30", words[at] + "x", words[at][:-1], "--" + words[at], "nan"))
        line = "collsim run %s --format %s" % (shlex.join(words), form)
    elif kind == "critical":
        config["algorithm"] = {"name": rng.choice(("stragglar", "stragglar", "broadcast", "ring"))}
        text = json.dumps(config)
        line = "collsim critical in.json --format %s" % form + rng.choice(("", " --against best", " --against rhd"))
    elif kind == "bound":
        line = "collsim bound in.json --format %s" % rng.choice(("table", "json"))
    elif kind == "compare":
        config["bytes"] = rng.randrange(1, 1 << 20)
        text = json.dumps(config)
        line = "collsim compare in.json --format %s" % rng.choice(("table", "json"))
    elif kind in ("schedule", "export"):
        form = rng.choice(("text", "json", "msccl", "goal", "svg"))
        words = options(rng, config)
        line = "collsim schedule %s --format %s -o out.%s" % (shlex.join(words), form, "xml" if form == "msccl" else form)
        if form in ("json", "msccl"):
            name = line.split()[-1]
            line += "; collsim verify %s; collsim run --schedule %s --format json" % (name, name)
    elif kind == "sweep":
        text = json.dumps(swept(rng, config))
        line = "collsim sweep in.json -o out.db -j 2; collsim sweep in.json -o out.db -j 1"
    elif kind.startswith("montecarlo"):
        text = json.dumps(montecarlo(rng)) if kind == "montecarlo" else broken(rng, montecarlo(rng))
        line = "collsim montecarlo in.json -i 20 --format %s%s" % (form, rng.choice(("", " -o out.db", " --replay", " --sampling sobol")))
    elif kind.startswith("whatif"):
        text = json.dumps(whatif(rng)) if kind == "whatif" else broken(rng, whatif(rng))
        line = "collsim whatif in.json --format %s" % form
    elif kind == "topology":
        text = json.dumps(fabric(rng, {"ranks": 8, "gpus_per_server": rng.choice((1, 2))}))
        line = "collsim topology in.json -n 8 --format %s" % rng.choice(("text", "json"))
    else:
        text = broken(rng, swept(rng, config) if rng.random() < .3 else config)
        line = "collsim run in.json --format %s" % form
    return kind, ["printf %%s %s >in.json" % shlex.quote(text), line]


def commands(count, seed):
    """(name, lines) of as many commands, always the same ones for a seed"""
    rng = random.Random(seed)
    for i in range(count):
        kind, lines = command(rng)
        yield "drawn-%d-%d-%s" % (seed, i, kind), lines
