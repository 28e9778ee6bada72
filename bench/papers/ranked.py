"""The experiments of Scalable Ranked Publish/Subscribe (VLDB 2008), section 4: the best k matches."""

from __future__ import annotations

from typing import Any

from bench.claims import Claim, Grows, Leads, similar
from bench.engines import engines_of
from bench.experiment import Experiment, Metric, Point, Points, scaled
from bench.scored import Asked, measure
from tellwhen.workloads import Ranked

ALL = engines_of("ranked")
FIND_ALL = ("endpoint-interval-tree", "interval-tree", "r-tree")
"""Structures that find all and then sort: the paper tried them, and left them out as orders of magnitude slower."""

SOPT, IR, SEGMENT, SCORED_R, INTERVAL = ALL
MILLION = 1_000_000
COUNTS = (100_000, 200_000, 500_000, MILLION)
RESULTS = (1, 5, 10, 20, 50, 100, 200, 500, 1_000)
DIMENSIONS = (1, 2, 3, 4, 6, 8)
SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)


def _figure(
    name: str,
    title: str,
    says: str,
    axis: str,
    metric: Metric,
    points: Points,
    *claims: Claim,
    engines: tuple[str, ...] = ALL,
    **more: Any,
) -> Experiment:
    return Experiment(
        f"ranked-{name}",
        f"Ranked: {title}",
        says,
        axis,
        metric,
        engines,
        points,
        claims=claims,
        measure=measure,
        **more,
    )


def _counts(scale: float) -> list[Point]:
    return [Asked("", scaled(count, scale), Ranked(), scaled(count, scale), merged=False) for count in COUNTS]


def _results(scale: float) -> list[Point]:
    return [Asked("", k, Ranked(), scaled(MILLION, scale), k=k, merged=False) for k in RESULTS]


def _dimensions(scale: float) -> list[Point]:
    """Of Figures 7 and 8, which show one measurement in two ways: each row has both values."""
    return [Asked("", d, Ranked(dimensions=d), scaled(MILLION, scale)) for d in DIMENSIONS]


def _overlap(scale: float) -> list[Point]:
    return [Asked("", skew, Ranked(dimensions=4, skew_length=skew), scaled(MILLION, scale)) for skew in SKEWS]


EXPERIMENTS = [
    _figure(
        "table2",
        "memory",
        "A segment tree needs more than ten times as much as all others. An IR-tree needs at most twice as much as an "
        "interval tree. Building takes less than a minute for a million. (429, 16.5, 12 and 8.3 bytes per interval for "
        "a segment, IR-, R- and interval tree: less than two ends, so the intervals themselves are not counted.)",
        "subscriptions",
        "beyond",
        _counts,
        Leads(IR, (SEGMENT,), 10),
        Leads(SCORED_R, (SEGMENT,), 10),
        Leads(INTERVAL, (SEGMENT,), 10),
        Leads(SOPT, (SEGMENT,), 10),
        Leads(IR, (INTERVAL,), 1 / 2),
        *similar(SOPT, SCORED_R, within=1.05),
        *(Leads(name, (SEGMENT,), 1, metric="build") for name in (SOPT, IR, SCORED_R, INTERVAL)),
        more=("index", "build"),
    ),
    _figure(
        "fig6",
        "the number k of results",
        "A SOPT-R-tree is always fastest, by a factor of up to 2. An interval tree is slowest. An R-tree degrades with "
        "k; a segment tree and an IR-tree are alike. Finding all and then sorting is slower by orders of magnitude.",
        "k",
        "match",
        _results,
        Leads(SOPT, (SEGMENT, IR, SCORED_R, INTERVAL)),
        Leads(SEGMENT, (INTERVAL,)),
        Leads(IR, (INTERVAL,)),
        Leads(SCORED_R, (INTERVAL,)),
        *similar(SEGMENT, IR, within=2),
        Leads(SOPT, (SCORED_R,), 2),
        Grows(SCORED_R, at_least=2),
        Leads(INTERVAL, ("endpoint-interval-tree", "interval-tree"), 10),
        Leads(SCORED_R, ("r-tree",), 100),
        engines=(*ALL, *FIND_ALL),
        log_x=True,
        more=("build", "index"),
    ),
    _figure(
        "fig7",
        "number of dimensions",
        "All become alike; up to 4 dimensions a SOPT-R-tree is 1.5 to 16 times as fast, an IR-tree nearly so.",
        "dimensions",
        "match",
        _dimensions,
        Leads(SOPT, (IR, SEGMENT, SCORED_R, INTERVAL), x_below=5),
        Leads(SOPT, (INTERVAL,), 1.5, x_below=5),
        *similar(SOPT, IR, within=2),
        more=("build", "index"),
        differs="from 2 dimensions on, looking up the other dimensions of each subscription, a cache miss, takes more "
        "time than getnext() of any structure",
    ),
    _figure(
        "fig8",
        "number of dimensions, relative to SOPT-R-trees",
        "The advantage of SOPT-R-trees shrinks as dimensions are added.",
        "dimensions",
        "relative",
        _dimensions,
        *(Grows(name, at_most=1) for name in (IR, SEGMENT, SCORED_R, INTERVAL)),
        *(Leads(SOPT, (name,), 1 / 1.5, x_from=6) for name in (IR, SEGMENT, SCORED_R, INTERVAL)),
    ),
    _figure(
        "fig9",
        "overlap",
        "Less overlap helps all but the scored R-tree, which gets slower.",
        "Zipf of lengths",
        "match",
        _overlap,
        Grows(SCORED_R, at_least=1),
        *(Grows(name, at_most=1) for name in (SOPT, IR, SEGMENT, INTERVAL)),
        Leads(SOPT, (IR, SEGMENT, SCORED_R, INTERVAL)),
        more=("build", "index"),
        differs="at 4 dimensions all structures take the same time within 12 %, for the reason of Figure 7; shorter "
        "intervals do not help, since more entries are read before the threshold is reached (counted for one event)",
    ),
]
