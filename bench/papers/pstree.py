"""The experiments of PS-Tree (VLDB 2018), section 7. Dense is 100 dimensions, sparse 30,000."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bench.claims import Claim, Grows, Leads, Row
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Metric, Point, Points, scale_count, vary
from bench.timing import time_interleaved
from tellwhen.workloads import Ads, BEGen, Keywords, Workload

ALL = list_engines_of_paper("pstree")
OTHERS = ("betree", "opindex", "propagation", "kindex", "scan")
ALL_BUT_HASH, ALL_BUT_BLOOM = ("pstbloom", *OTHERS), ("psthash", *OTHERS)
MILLION = 1_000_000
COUNTS = (300_000, MILLION, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
DENSE, SPARSE = {"dimensions": 100}, {"dimensions": 30_000}
DENSE_AND_SPARSE = {"a: dense": DENSE, "b: sparse": SPARSE}
# The defaults of Table 1. The table does not show the default of the match probability; 1 % is our choice.
Generated = partial(BEGen, cardinality=100, size=5, event_size=30, equality=0.2, match=0.01)


def _make_figure(
    number: int, title: str, paper_finding: str, axis: str, metric: Metric, points: Points, *claims: Claim
) -> Experiment:
    name = f"pstree-fig{number}"
    return Experiment(name, f"PS-Tree: {title}", paper_finding, axis, metric, ALL, points, claims=claims)


def _make_fig5_points(scale: float) -> list[Point]:
    return [
        *vary(Generated, "count", COUNTS, {"a: subscriptions": DENSE}, 0)(scale),
        *vary(Generated, "dimensions", (100, 300, 1_000, 3_000, 10_000, 30_000), {"b: dimensions": {}}, MILLION)(scale),
        *vary(Generated, "size", (5, 10, 15, 20, 25, 30), {"c: size": DENSE}, MILLION)(scale),
        *vary(Generated, "equality", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), {"d: share of =": DENSE}, MILLION)(scale),
    ]


def _make_fig8_points(scale: float) -> list[Point]:
    """Return points with a fixed number of subscriptions, and with a fixed number of subscriptions per dimension."""
    values = (100, 300, 1_000, 3_000)
    return [
        *vary(Generated, "dimensions", (*values, 10_000, 30_000), {"a: subscriptions fixed": {}}, MILLION)(scale),
        *(Point("b: per dimension fixed", d, Generated(dimensions=d), scale_count(d * 1_000, scale)) for d in values),
    ]


def _make_fig14_points(scale: float) -> list[Point]:
    return [
        *vary(Generated, "count", COUNTS, {"a: subscriptions": DENSE}, 0)(scale),
        *vary(Generated, "size", (5, 10, 15, 20, 25, 30), {"b: size": DENSE}, MILLION)(scale),
    ]


def _make_single_point(work: Workload, name: str, count: int, scale: float) -> list[Point]:
    return [Point(name, name, work, scale_count(count, scale))]


class IntervalShape(NamedTuple):
    """Random intervals: their values are 0 to `values` - 1, and `share` of the intervals contain a value on average."""

    suffix: str  # of the name of the variant
    values: int
    share: float
    bits: int  # of the integers whose elements the PS-Tree has


def _list_interval_shapes(count: int) -> list[IntervalShape]:
    """Return the shapes that Table 3 is measured with; the paper tells neither values nor lengths.

    Its sizes and times fit few values with long lists. Its interval tree takes 25 us per point, which must enumerate:
    at 2 to 25 ns for an interval these are 1,000 to 10,000 of 100,000. Then its 54 MB hold lists of 3.4 million links
    of 16 bytes, or 6.8 million of 8 bytes: at most a few thousand predicate spaces. 1,000 values are the most in its
    Table 1. The first shape has a space at almost every end instead, and 30 intervals at a point.
    """
    return [IntervalShape("", 1 << 40, 30 / count, 64), IntervalShape(", 1,000 values", 1_000, 0.034, 32)]


LISTED_MAX = 3_000_000
"""Intervals that are listed in one run: with few values, every point has thousands."""


def _measure_stabbing(scale: float) -> list[Row]:
    """Measure Table 3: the intervals that contain each point are counted, or listed.

    `ps-tree` is the paper's tree of elements, `sorted-spaces` the sorted block of spaces that the engines have. The
    paper's 7 ns per point of a PS-Tree are enough to find a list, but not to read it.
    """
    count = scale_count(100_000, scale)
    return [row for shape in _list_interval_shapes(count) for row in _measure_shape(shape, count)]


def _measure_shape(shape: IntervalShape, count: int) -> list[Row]:
    from bench.intervals import structures  # imported here, because only this table needs it

    structure_by_name: dict[str, Any] = {
        "ps-tree": partial(structures.ElementLists, bits=shape.bits),
        "sorted-spaces": structures.SpaceLists,
        "segment-tree": structures.SegmentTree,
        "interval-tree": structures.IntervalTree,
        "scan": structures.IntervalScan,
    }
    rng = np.random.default_rng(1)
    low = rng.integers(0, shape.values, count)
    high = low + rng.integers(0, int(2 * shape.share * shape.values), count)
    high = np.minimum(high, shape.values - 1)
    points = rng.integers(0, shape.values, count)
    listed = points[: int(LISTED_MAX / (shape.share * count))]
    found: list[Row] = []
    for name, structure in structure_by_name.items():
        instance = structure(low, high)
        build = time_interleaved({"": partial(structure, low, high)}, 5)[""]
        for variant, query, asked in (("counted", instance.count, points), ("listed", instance.stab, listed)):
            some = asked if name != "scan" else asked[:1_000]  # every point takes the same time
            match = time_interleaved({"": partial(query, some)}, 5)[""]
            row = {"match": match.median / len(some) * 1e6, "noise": match.noise, "build": build.median}
            found.append(
                {
                    "variant": variant + shape.suffix,
                    "x": count,
                    "engine": name,
                    "status": "ok",
                    "index": instance.nbytes / count,
                    **row,
                }
            )
    return found


EXPERIMENTS = [
    _make_figure(
        5,
        "building time",
        "PSTBloom builds fastest; PSTHash gains most from equality.",
        "see the variant",
        "build",
        _make_fig5_points,
        Leads("pstbloom", ("betree", "opindex", "kindex")),
        Grows("psthash", at_most=0.7, where="d:"),
    ),
    _make_figure(
        6,
        "number of subscriptions",
        "All grow linearly; PSTHash is best for many dense subscriptions, PSTBloom always for sparse ones.",
        "subscriptions",
        "match",
        vary(Generated, "count", COUNTS, DENSE_AND_SPARSE, 0),
        Leads("psthash", ALL_BUT_HASH, where="dense"),
        Leads("pstbloom", ALL_BUT_BLOOM, where="sparse"),
    ),
    _make_figure(
        7,
        "skew of attributes",
        "With Zipf PSTHash is best, dense or sparse; k-index is slower than a scan.",
        "Zipf",
        "match",
        vary(Generated, "skew", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, share=0.7),
        Leads("naive", ("kindex",), x_from=1),
    ),
    _make_figure(
        8,
        "number of dimensions",
        "PSTBloom, OpIndex and k-index gain from dimensions if the number of subscriptions is fixed.",
        "dimensions",
        "match",
        _make_fig8_points,
        Leads("pstbloom", ALL_BUT_BLOOM, x_from=301),
        Grows("pstbloom", at_most=0.5, where="a:"),
    ),
    _make_figure(
        9,
        "cardinality",
        "Below 300 values PSTHash is best, above PSTBloom.",
        "cardinality",
        "match",
        vary(Generated, "cardinality", (3, 10, 30, 100, 300, 1_000), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, where="dense", x_below=300),
        Leads("pstbloom", ALL_BUT_BLOOM, where="dense", x_from=300),
    ),
    _make_figure(
        10,
        "size of subscriptions",
        "Larger ones help every engine that chooses selective predicates; only OpIndex becomes slower.",
        "size",
        "match",
        vary(Generated, "size", (5, 10, 15, 20, 25, 30), DENSE_AND_SPARSE, MILLION),
        Grows("opindex", at_least=1.2),
        Grows("pstbloom", at_most=1, where="dense"),
        Grows("psthash", at_most=1, where="dense"),
    ),
    _make_figure(
        11,
        "size of events",
        "Larger ones slow all engines down; PSTHash remains best for dense events, PSTBloom for sparse ones.",
        "event size",
        "match",
        vary(Generated, "event_size", (30, 42, 54, 66, 78, 90), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, where="dense"),
        Leads("pstbloom", ALL_BUT_BLOOM, where="sparse"),
    ),
    _make_figure(
        12,
        "match probability",
        "At 50 % PSTBloom and PSTHash need a quarter of a scan's time, the others as much as a scan.",
        "match probability",
        "match",
        vary(Generated, "match", (0.001, 0.005, 0.01, 0.05, 0.1, 0.5), DENSE_AND_SPARSE, MILLION),
        Leads("pstbloom", ("naive",), 4, x_from=0.5),
        Leads("psthash", ("naive",), 4, x_from=0.5),
    ),
    _make_figure(
        13,
        "share of equality",
        "More equality helps all engines; PSTHash is always first in dense spaces.",
        "share of =",
        "match",
        vary(Generated, "equality", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, where="dense"),
        Grows("psthash", at_most=0.8),
    ),
    _make_figure(
        14,
        "memory",
        "PSTBloom and PSTHash grow more slowly than OpIndex and BE-Tree; Propagation needs the least.",
        "see the variant",
        "index",
        _make_fig14_points,
        Leads("pstbloom", ("betree", "opindex")),
        Leads("propagation", ("pstbloom", "psthash", "betree", "opindex", "kindex")),
    ),
    _make_figure(
        15,
        "query logs",
        "PSTBloom is far ahead of OpIndex, PSTHash and BE-Tree, which are similar; then k-index, Propagation, scan.",
        "workload",
        "match",
        partial(_make_single_point, Keywords(form="split", length=93), "queries", 2_100_000),
        Leads("pstbloom", ALL_BUT_BLOOM),
        Leads("pstbloom", ("betree", "kindex", "propagation"), metric="build"),
    ),
    Experiment(
        "pstree-table2",
        "PS-Tree: the Ads data",
        "PSTHash matches in 0.24 ms, PSTBloom in 0.82, BE-Tree in 2.26, OpIndex in 3.21, a scan in 435.",
        "workload",
        "match",
        ALL,
        lambda scale: _make_single_point(Ads(total=scale_count(3_000_000, scale)), "Ads", 3_000_000, scale),
        claims=(Leads("psthash", ALL_BUT_HASH), Leads("pstbloom", OTHERS)),
    ),
    Experiment(
        "pstree-table3",
        "PS-Tree: stabbing 100,000 intervals",
        "100,000 points take 0.71 ms with a PS-Tree, 6.27 with a segment tree, 2,520 with an interval tree, and 23,110 "
        "with a scan; building takes 92, 30 and 16 ms; the size is 54, 7 and 2 MB.",
        "intervals",
        "match",
        (),
        rows=_measure_stabbing,
        claims=(
            Leads("ps-tree", ("segment-tree",), 4, where="counted"),
            Leads("ps-tree", ("interval-tree", "scan"), 4, where="counted"),
            Leads("segment-tree", ("ps-tree",), metric="build", where="counted"),
            Leads("interval-tree", ("segment-tree", "ps-tree"), metric="index", where="counted"),
        ),
        more_metrics=("build", "index"),
    ),
]
