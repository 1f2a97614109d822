# SPDX-License-Identifier: GPL-3.0-or-later
"""What the site is made of: the pages, their places in the navigation, and the names of their files."""
import glob
import os
import re

MAN = "sim/doc/collsim.1"
GALLERY = "sim/doc/gallery.md"
FIGURES = "sim/doc/figures.md"
TUTORIALS = "sim/doc/tutorial-*.md"

# (question of a reader, [(source, its name in the navigation)]). A page that is not here is put into the last group,
# under its own heading; so are all decisions. A page that is not there is passed over.
GROUPS = [
    ("Start here", [
        ("README.md", "What collsim is"),
        ("sim/doc/tutorial-researcher.md", "Tutorial: researcher"),
        ("sim/doc/tutorial-cluster-engineer.md", "Tutorial: cluster engineer"),
        ("sim/doc/tutorial-schedule-designer.md", "Tutorial: schedule designer"),
        (GALLERY, "Gallery of configurations"),
        (FIGURES, "The papers' figures"),
        (MAN, "Manual page: every option"),
    ]),
    ("A GPU is late: what hides it?", [
        ("sim/doc/stragglar.md", "StragglAR"),
        ("sim/doc/adapcc.md", "AdapCC"),
        ("sim/doc/traces.md", "Who is late: traces and logs"),
        ("sim/doc/montecarlo.md", "Random arrivals"),
        ("sim/doc/training.md", "A training run"),
    ]),
    ("A NIC fails: what now?", [
        ("sim/doc/whatif.md", "A job on failing NICs"),
        ("sim/doc/optcc.md", "OptCC and R2CCL"),
        ("sim/doc/failures.md", "Failures over days"),
        ("sim/doc/change.md", "Rates and workers that change"),
    ]),
    ("Is my cluster normal?", [
        ("sim/doc/nccl.md", "What NCCL would show"),
        ("sim/doc/hunt.md", "Which node is slow?"),
        ("sim/doc/calibration.md", "Calibration from logs"),
        ("sim/doc/topology.md", "Topologies"),
        ("sim/doc/testbed.md", "A testbed"),
        ("traces/README.md", "Measurements that ship"),
        ("traces/capture/README.md", "Measuring schedules"),
    ]),
    ("What is computed, and is it right?", [
        ("sim/doc/book.md", "The book"),
        ("sim/doc/schedules.md", "Schedules in files"),
        ("sim/doc/models.md", "Network models"),
        ("sim/doc/packet.md", "Packets"),
        ("sim/doc/validation.md", "Validation"),
        ("sim/doc/benchmarks.md", "Benchmarks"),
    ]),
    ("How do I use it in my work?", [
        ("sim/doc/report.md", "A page about results"),
        ("sim/doc/serve.md", "The explorer"),
        ("sim/doc/library.md", "C, CMake and Python"),
        ("sim/doc/mpi.md", "Several machines: MPI"),
    ]),
    ("How is it made?", [
        ("CONTRIBUTING.md", "Contributing"),
        ("SECURITY.md", "Security"),
        ("sim/doc/CHANGELOG.md", "Change log"),
    ]),
]


def sources(root):
    """Every page, as a path in the project, in a fixed order."""
    found = [MAN]
    for pattern in ("*.md", "sim/doc/*.md", "sim/doc/adr/*.md", "traces/README.md", "traces/capture/README.md"):
        found += [os.path.relpath(path, root) for path in glob.glob(os.path.join(root, pattern))]
    return sorted(found)


def output_name(source):
    """The file of a page in the site."""
    if source == "README.md":
        return "index.html"
    if source == MAN:
        return "manual.html"
    name = re.sub(r"^sim/doc/", "", source)
    folder, base = ("adr/", name[4:]) if name.startswith("adr/") else ("", name)
    return folder + base[:-3].lower().replace("/", "-") + ".html"


def navigation(pages, titles):
    """[(question, [(source, label)])] in which every page of `pages` stands once; `titles` are the pages' headings."""
    placed = {source for _, rows in GROUPS for source, _ in rows}
    groups = [(question, [(source, label) for source, label in rows if source in pages]) for question, rows in GROUPS]
    decisions = [(source, titles[source]) for source in pages if source.startswith("sim/doc/adr/")]
    others = [(source, titles[source]) for source in pages if source not in placed and "/adr/" not in source]
    groups[-1][1].extend(others)
    return [group for group in groups + [("Decisions", decisions)] if group[1]]
