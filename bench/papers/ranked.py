"""The experiments of Scalable Ranked Publish/Subscribe (VLDB 2008), section 4: the best k matches."""

from __future__ import annotations

from typing import Any

from bench.claims import Grows, Leads
from bench.engines import engines_of
from bench.experiment import Experiment, vary
from tellwhen.workloads import Ranked

ALL = engines_of("ranked")
OTHERS = ("scored-interval-tree", "scored-segment-tree", "scored-r-tree")
MILLION = 1_000_000
TOP = "the best k"
ONE: dict[str, dict[str, Any]] = {"": {}}

EXPERIMENTS = [
    Experiment(
        "ranked-table2",
        "Ranked: memory",
        "A segment tree needs ten times as much as an IR-tree, which needs twice as much as an interval tree.",
        "subscriptions",
        "index",
        ALL,
        vary(Ranked, "count", (100_000, 200_000, 500_000, MILLION), ONE, 0),
        claims=(Leads("ir-tree", ("scored-segment-tree",), 10),),
        also=TOP,
    ),
    Experiment(
        "ranked-fig6",
        "Ranked: the number k of results",
        "A SOPT-R-tree is always fastest, by a factor of up to 2.",
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
        "All become alike; up to 4 dimensions a SOPT-R-tree is 1.5 to 16 times as fast.",
        "dimensions",
        "match",
        ALL,
        vary(Ranked, "dimensions", (1, 2, 3, 4, 6, 8), ONE, MILLION),
        claims=(Leads("sopt-r-tree", OTHERS),),
        also=TOP,
    ),
    Experiment(
        "ranked-fig8",
        "Ranked: number of dimensions, relative to SOPT-R-trees",
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
