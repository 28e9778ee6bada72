"""Scalable Ranked Publish/Subscribe (VLDB 2008), section 4: the best k of one-dimensional indexes."""

from __future__ import annotations

from typing import Any

from bench.claims import Grows, Leads
from bench.experiment import Experiment, vary
from tellwhen.workloads import Ranked

ALL = ("scored-interval-tree", "scored-segment-tree", "scored-r-tree", "ir-tree", "sopt-r-tree")
OTHERS = ALL[:3]
MILLION = 1_000_000
TOP = "the best k"
ONE: dict[str, dict[str, Any]] = {"": {}}

EXPERIMENTS = [
    Experiment(
        "ranked-table2",
        "Ranked: memory",
        "A segment tree needs ten times as much; an IR-tree twice an interval tree.",
        "subscriptions",
        "index",
        ALL,
        vary(Ranked, "count", (100_000, 200_000, 500_000, MILLION), ONE, 0),
        claims=(Leads("ir-tree", ("scored-segment-tree",), 10),),
        also=TOP,
    ),
    Experiment(
        "ranked-fig6",
        "Ranked: how many are asked for",
        "A SOPT-R-tree is always fastest, by up to 2.",
        "k",
        "match",
        ALL,
        vary(Ranked, "count", (MILLION,), ONE, 0),
        claims=(Leads("sopt-r-tree", OTHERS),),
        also=TOP,
    ),
    Experiment(
        "ranked-fig7",
        "Ranked: number of dimensions",
        "All converge; up to 4 dimensions SOPT-R-trees gain 1.5 to 16 times.",
        "dimensions",
        "match",
        ALL,
        vary(Ranked, "dimensions", (1, 2, 3, 4, 6, 8), ONE, MILLION),
        claims=(Leads("sopt-r-tree", OTHERS),),
        also=TOP,
    ),
    Experiment(
        "ranked-fig8",
        "Ranked: the same, relative to SOPT-R-trees",
        "The advantage shrinks as dimensions are added.",
        "dimensions",
        "match",
        ALL,
        vary(Ranked, "dimensions", (1, 2, 3, 4, 6, 8), ONE, MILLION),
        also=TOP,
    ),
    Experiment(
        "ranked-fig9",
        "Ranked: overlap",
        "Less overlap helps all but the scored R-tree, which gets slower.",
        "Zipf of lengths",
        "match",
        ALL,
        vary(Ranked, "skew_length", (0.0, 0.25, 0.5, 0.75, 1.0, 1.25), ONE, MILLION, dimensions=4),
        claims=(Grows("scored-r-tree", at_least=1), Grows("sopt-r-tree", at_most=1)),
        also=TOP,
    ),
]
