"""The experiments of Scalable Ranked Publish/Subscribe (VLDB 2008), section 4: the best k matches."""

from __future__ import annotations

from typing import Any

from bench.claims import Claim, Grows, Leads, claim_similar
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Metric, Point, Points, scale_count
from bench.scored_intervals import RankedPoint, measure
from tellwhen.workloads import Ranked

ALL = list_engines_of_paper("ranked")
FIND_ALL = ("endpoint-interval-tree", "interval-tree", "r-tree")
"""Structures that find all matches and then sort them. The paper leaves them out as orders of magnitude slower."""

SOPT, IR, SEGMENT, SCORED_R, INTERVAL = ALL
MILLION = 1_000_000
COUNTS = (100_000, 200_000, 500_000, MILLION)
RESULTS = (1, 5, 10, 20, 50, 100, 200, 500, 1_000)
DIMENSIONS = (1, 2, 3, 4, 6, 8)
SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)


def _make_figure(
    name: str,
    title: str,
    paper_finding: str,
    axis: str,
    metric: Metric,
    points: Points,
    *claims: Claim,
    engines: tuple[str, ...] = ALL,
    **options: Any,
) -> Experiment:
    return Experiment(
        f"ranked-{name}",
        f"Ranked: {title}",
        paper_finding,
        axis,
        metric,
        engines,
        points,
        claims=claims,
        measure=measure,
        **options,
    )


def _make_count_points(scale: float) -> list[Point]:
    return [
        RankedPoint("", scale_count(count, scale), Ranked(), scale_count(count, scale), is_merged=False)
        for count in COUNTS
    ]


def _make_result_points(scale: float) -> list[Point]:
    return [RankedPoint("", k, Ranked(), scale_count(MILLION, scale), k=k, is_merged=False) for k in RESULTS]


def _make_dimension_points(scale: float) -> list[Point]:
    """Return the points of Figures 7 and 8, which show the same measurement; a row has the values of both figures."""
    return [RankedPoint("", d, Ranked(dimensions=d), scale_count(MILLION, scale)) for d in DIMENSIONS]


def _make_overlap_points(scale: float) -> list[Point]:
    return [
        RankedPoint("", skew, Ranked(dimensions=4, skew_length=skew), scale_count(MILLION, scale)) for skew in SKEWS
    ]


EXPERIMENTS = [
    _make_figure(
        "table2",
        "memory",
        "A segment tree needs more than ten times as much as all others. An IR-tree needs at most twice as much as an "
        "interval tree. Building takes less than a minute for a million. (429, 16.5, 12 and 8.3 bytes per interval for "
        "a segment, IR-, R- and interval tree: less than two ends, so the intervals themselves are not counted.)",
        "subscriptions",
        "beyond",
        _make_count_points,
        Leads(IR, (SEGMENT,), 10),
        Leads(SCORED_R, (SEGMENT,), 10),
        Leads(INTERVAL, (SEGMENT,), 10),
        Leads(SOPT, (SEGMENT,), 10),
        Leads(IR, (INTERVAL,), 1 / 2),
        *claim_similar(SOPT, SCORED_R, within=1.05),
        *(Leads(name, (SEGMENT,), 1, metric="build") for name in (SOPT, IR, SCORED_R, INTERVAL)),
        more_metrics=("index", "build"),
    ),
    _make_figure(
        "fig6",
        "the number k of results",
        "A SOPT-R-tree is always fastest, by a factor of up to 2. An interval tree is slowest. An R-tree degrades with "
        "k; a segment tree and an IR-tree are alike. Finding all and then sorting is slower by orders of magnitude.",
        "k",
        "match",
        _make_result_points,
        Leads(SOPT, (SEGMENT, IR, SCORED_R, INTERVAL)),
        Leads(SEGMENT, (INTERVAL,)),
        Leads(IR, (INTERVAL,)),
        Leads(SCORED_R, (INTERVAL,)),
        *claim_similar(SEGMENT, IR, within=2),
        Leads(SOPT, (SCORED_R,), 2),
        Grows(SCORED_R, at_least=2),
        Leads(INTERVAL, ("endpoint-interval-tree", "interval-tree"), 10),
        Leads(SCORED_R, ("r-tree",), 100),
        engines=(*ALL, *FIND_ALL),
        log_x=True,
        more_metrics=("build", "index"),
    ),
    _make_figure(
        "fig7",
        "number of dimensions",
        "All become alike; up to 4 dimensions a SOPT-R-tree is 1.5 to 16 times as fast, an IR-tree nearly so.",
        "dimensions",
        "match",
        _make_dimension_points,
        Leads(SOPT, (IR, SEGMENT, SCORED_R, INTERVAL), x_below=5),
        Leads(SOPT, (INTERVAL,), 1.5, x_below=5),
        *claim_similar(SOPT, IR, within=2),
        more_metrics=("build", "index"),
        difference_reason="from 2 dimensions on, looking up the other dimensions of each subscription, a cache "
        "miss, takes more time than getnext() of any structure",
    ),
    _make_figure(
        "fig8",
        "number of dimensions, relative to SOPT-R-trees",
        "The advantage of SOPT-R-trees shrinks as dimensions are added.",
        "dimensions",
        "relative",
        _make_dimension_points,
        *(Grows(name, at_most=1) for name in (IR, SEGMENT, SCORED_R, INTERVAL)),
        *(Leads(SOPT, (name,), 1 / 1.5, x_from=6) for name in (IR, SEGMENT, SCORED_R, INTERVAL)),
    ),
    _make_figure(
        "fig9",
        "overlap",
        "Less overlap helps all but the scored R-tree, which gets slower.",
        "Zipf of lengths",
        "match",
        _make_overlap_points,
        Grows(SCORED_R, at_least=1),
        *(Grows(name, at_most=1) for name in (SOPT, IR, SEGMENT, INTERVAL)),
        Leads(SOPT, (IR, SEGMENT, SCORED_R, INTERVAL)),
        more_metrics=("build", "index"),
        difference_reason="at 4 dimensions all structures take the same time within 12 %, for the reason of "
        "Figure 7; shorter intervals do not help, since more entries are read before the threshold is reached (counted "
        "for one event)",
    ),
]
