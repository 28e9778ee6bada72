"""The experiments of Scalable Ranked Publish/Subscribe (VLDB 2008), section 4: the best k matches."""

from __future__ import annotations

from typing import Any

from bench.claims import ONE_POINT_SHARE, Claim, Grows, GrowsLess, IncludesShare, Leads, StaysBelow, claim_similar
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
MEGABYTES = {
    INTERVAL: (0.92, 1.7, 4.2, 8.3),
    SCORED_R: (1.2, 2.4, 6.0, 12.0),
    SEGMENT: (40.0, 80.0, 214.0, 429.0),
    IR: (1.76, 3.43, 8.35, 16.5),
}
"""Megabytes in Table 2, by structure, for the numbers of intervals in COUNTS."""


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
        scale=1.0,
        **options,
    )


def _make_count_points(scale: float) -> list[Point]:
    return [
        RankedPoint("", scale_count(count, scale), Ranked(), scale_count(count, scale), is_merged=False)
        for count in COUNTS
    ]


def _make_million_point(x: float, work: Ranked, scale: float, **options: Any) -> RankedPoint:
    """Return a point of a figure with a million intervals.

    With fewer intervals an event stabs fewer of them, and k results are a larger share of them: that is not comparable.
    """
    count = scale_count(MILLION, scale)
    return RankedPoint("", x, work, count, comparable=count == MILLION, **options)


def _make_result_points(scale: float) -> list[Point]:
    return [_make_million_point(k, Ranked(), scale, k=k, is_merged=False) for k in RESULTS]


def _make_dimension_points(scale: float) -> list[Point]:
    """Return the points of Figures 7 and 8, which show the same measurement; a row has the values of both figures."""
    return [_make_million_point(d, Ranked(dimensions=d), scale) for d in DIMENSIONS]


def _make_overlap_points(scale: float) -> list[Point]:
    return [_make_million_point(skew, Ranked(dimensions=4, skew_length=skew), scale) for skew in SKEWS]


EXPERIMENTS = [
    _make_figure(
        "table2",
        "memory",
        "A segment tree needs more than ten times as much as all others. An IR-tree needs more than an interval tree "
        "and an R-tree, but at most twice as much as an interval tree. A SOPT-R-tree is essentially an R-tree. "
        "Building takes less than a minute for a million. (Per interval 429, 16.5, 12 and 8.3 bytes for a "
        "segment, IR-, R- and interval tree: less than two ends and a score, so the "
        "intervals themselves are not counted.)",
        "subscriptions",
        "beyond",
        _make_count_points,
        *(Leads(name, (SEGMENT,), 10) for name in (IR, SCORED_R, INTERVAL, SOPT)),
        Leads(INTERVAL, (IR,), metric="index"),
        Leads(SCORED_R, (IR,), metric="index"),
        Leads(IR, (INTERVAL,), 1 / 2),
        Leads(IR, (INTERVAL,), 1 / 2, metric="index"),
        *claim_similar(SOPT, SCORED_R, within=1.05),
        *(StaysBelow(name, 60, metric="build") for name in ALL),
        more_metrics=("index", "build"),
        paper_values={
            ("", count, name): 1e6 * megabytes / count
            for name, sizes in MEGABYTES.items()
            for count, megabytes in zip(COUNTS, sizes, strict=True)
        },
    ),
    _make_figure(
        "fig6",
        "the number k of results",
        "An interval tree is slowest. An R-tree degrades with k, because of holes. A segment tree and an IR-tree are "
        "alike, though an IR-tree takes less than a tenth of the space. A SOPT-R-tree is always fastest, by a factor "
        "of up to 2. The differences shrink with k. Finding all and then sorting is slower by orders of magnitude, and "
        "an interval tree sorted by ends is much slower than one sorted by scores (2.2.2).",
        "k",
        "match",
        _make_result_points,
        *(Leads(name, (INTERVAL,)) for name in (SEGMENT, IR, SCORED_R)),
        GrowsLess(SEGMENT, "", SCORED_R, ""),
        GrowsLess(IR, "", SCORED_R, ""),
        *claim_similar(SEGMENT, IR),
        Leads(IR, (SEGMENT,), 10, metric="beyond"),
        Leads(SOPT, (SEGMENT, IR, SCORED_R, INTERVAL)),
        Leads(SOPT, (SEGMENT, IR, SCORED_R, INTERVAL), 2, share=ONE_POINT_SHARE),
        *(Grows(name, at_most=1, metric="relative") for name in (SEGMENT, IR, SCORED_R, INTERVAL)),
        Leads(INTERVAL, ("endpoint-interval-tree",), 2),
        Leads(INTERVAL, ("interval-tree",), 100),
        Leads(SCORED_R, ("r-tree",), 100),
        engines=(*ALL, *FIND_ALL),
        log_x=True,
        more_metrics=("relative", "build", "index"),
    ),
    _make_figure(
        "fig7",
        "number of dimensions",
        "All become alike, since the top 20 need so many calls of getnext() that almost all stabbed intervals are "
        "retrieved. Up to 4 dimensions a SOPT-R-tree is 1.5 to 16 times as fast as the others, an IR-tree nearly so. "
        "(At 8 dimensions the paper's segment trees do not fit into 4 GB.)",
        "dimensions",
        "match",
        _make_dimension_points,
        Grows(SOPT, at_least=100, metric="candidates"),
        IncludesShare(SOPT, "candidates", 0.9, metric="stabbed", x_from=8),
        Leads(SOPT, (SEGMENT, SCORED_R, INTERVAL), 1.5, x_below=5),
        *claim_similar(SOPT, IR, x_below=5),
        more_metrics=("build", "index"),
    ),
    _make_figure(
        "fig8",
        "number of dimensions, relative to SOPT-R-trees",
        "The advantage of SOPT-R-trees, 16 to 1.5 times up to 4 dimensions, shrinks as dimensions are added.",
        "dimensions",
        "relative",
        _make_dimension_points,
        *(Grows(name, at_most=1) for name in (IR, SEGMENT, SCORED_R, INTERVAL)),
        *(claim for name in (IR, SEGMENT, SCORED_R, INTERVAL) for claim in claim_similar(SOPT, name, at_end=True)),
        Leads(SOPT, (INTERVAL,), 16, x_below=2),
    ),
    _make_figure(
        "fig9",
        "overlap",
        "Less overlap makes all interval indexes faster, but scored R-trees slower; it does no harm to SOPT-R-trees. A "
        "SOPT-R-tree is best, and an IR-tree is a close second.",
        "Zipf of lengths",
        "match",
        _make_overlap_points,
        *(Grows(name, at_most=1) for name in (SOPT, IR, SEGMENT, INTERVAL)),
        Grows(SCORED_R, at_least=1),
        Leads(SOPT, (IR, SEGMENT, SCORED_R, INTERVAL)),
        Leads(IR, (SEGMENT, SCORED_R, INTERVAL)),
        *claim_similar(SOPT, IR),
        more_metrics=("build", "index"),
    ),
]
