"""The experiments of PS-Tree (VLDB 2018), section 7. Dense is 100 dimensions, sparse 30,000.

"Reduces the time by 89 %" means a time that is 89 % shorter. SCAN of the paper is `naive`.

At a smaller scale, fewer subscriptions have the same dimensions. Fewer dimensions would keep the number of
subscriptions per dimension, but not the share of them that an event visits: BEGen derives all subscriptions from a
number of bases that depends on the match probability only, and with fewer dimensions more bases have dimensions in
common. Of 20,000 subscriptions, `counting` visits 1.26 % in 30,000 dimensions, as of 200,000, but 4.1 % in 2,000.

A point is comparable if it has enough subscriptions for the paper's order of the engines. By Figure 6, 300,000 are
enough in a sparse space. A dense space needs a million: with fewer, the order is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.claims import (
    ONE_POINT_SHARE,
    Claim,
    Grows,
    GrowsLess,
    GrowsLinearly,
    Leads,
    Row,
    claim_ranking,
    claim_similar,
    compute_lead,
)
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Metric, Point, Points, scale_count, vary
from bench.papers.generators import AdConjunctions, DefaultBEGen, QueryLog
from bench.papers.setting import mark_comparable, measure_like_pstree
from tellwhen.workloads import Workload

ALL = list_engines_of_paper("pstree")
OTHERS = ("betree", "opindex", "propagation", "kindex", "naive")
PAPER_ENGINES = ("pstbloom", "psthash", *OTHERS)
INDEXES = tuple(engine for engine in PAPER_ENGINES if engine != "naive")
PRUNING = tuple(engine for engine in INDEXES if engine != "propagation")
"""Engines that in the paper gain from more dimensions, and suffer from larger events and more matches."""

ALL_BUT_HASH, ALL_BUT_BLOOM = ("pstbloom", *OTHERS), ("psthash", *OTHERS)
MILLION = 1_000_000
INSERTION_OPINDEX = "opindex:insertion=1"
"""OpIndex whose lists are in order after every insertion; `opindex` sorts them at the end."""
COUNTS = (300_000, MILLION, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
DENSE, SPARSE = {"dimensions": 100}, {"dimensions": 30_000}
DENSE_AND_SPARSE = {"a: dense": DENSE, "b: sparse": SPARSE}
PER_DIMENSION = 1_000
"""Subscriptions per dimension in Figure 8b. The paper gives no number."""
UNCHANGED_FACTOR = 1.5
"""The paper calls a value insensitive: then it changes by less than this factor, which is ours."""
CLEAR_FACTOR = 2
"""The paper calls an engine "considerably" better, or its change "quick": then by this factor, which is ours."""


def _is_comparable(point: Point) -> bool:
    if isinstance(point.x, int) and "per dimension" in point.variant:
        return point.count >= point.x * PER_DIMENSION
    is_about_count = point.x == point.count
    return point.count >= (COUNTS[0] if is_about_count or "sparse" in point.variant else MILLION)


def _make_figure(
    number: int, title: str, paper_finding: str, axis: str, metric: Metric, points: Points, *claims: Claim, **more: Any
) -> Experiment:
    setting: dict[str, Any] = {"engines": ALL, "measure": measure_like_pstree, **more}
    return Experiment(
        f"pstree-fig{number}",
        f"PS-Tree: {title}",
        paper_finding,
        axis,
        metric,
        points=mark_comparable(points, _is_comparable),
        claims=claims,
        **setting,
    )


def _claim_slower_growth(
    engines: tuple[str, ...], rivals: tuple[str, ...], *variants: str, **options: Any
) -> tuple[Claim, ...]:
    """Claim that the value of each engine grows less than that of each rival, in each variant."""
    return tuple(
        GrowsLess(engine, variant, rival, variant, **options)
        for engine in engines
        for rival in rivals
        for variant in variants
        if engine != rival
    )


def _claim_growth(engines: tuple[str, ...], at_least: float, at_most: float, **options: Any) -> tuple[Claim, ...]:
    """Claim that the value of each engine changes by a factor within the bounds."""
    return tuple(Grows(engine, at_least, at_most, **options) for engine in engines)


_claim_unchanged = partial(_claim_growth, at_least=1 / UNCHANGED_FACTOR, at_most=UNCHANGED_FACTOR)
_claim_increase = partial(_claim_growth, at_least=1, at_most=float("inf"))
_claim_decrease = partial(_claim_growth, at_least=0, at_most=1)


def _make_fig5_points(scale: float) -> list[Point]:
    return [
        *vary(DefaultBEGen, "count", COUNTS, {"a: subscriptions": DENSE}, 0)(scale),
        *vary(DefaultBEGen, "dimensions", (100, 300, 1_000, 3_000, 10_000, 30_000), {"b: dimensions": {}}, MILLION)(
            scale
        ),
        *vary(DefaultBEGen, "size", (5, 10, 15, 20, 25, 30), {"c: size": DENSE}, MILLION)(scale),
        *vary(DefaultBEGen, "equality", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), {"d: share of =": DENSE}, MILLION)(scale),
    ]


def _measure_building(point: Point, engines: list[str], *options: Any) -> Iterator[dict[str, Any]]:
    """Measure a point of Figure 5. Only 5b has the OpIndex whose lists are in order after every insertion."""
    excluded = () if point.variant.startswith("b:") else (INSERTION_OPINDEX,)
    return measure_like_pstree(point, engines, *options, excluded=excluded)


def _make_fig8_points(scale: float) -> list[Point]:
    """Return points with a fixed number of subscriptions, and with a fixed number of subscriptions per dimension."""
    values = (100, 300, 1_000, 3_000)
    return [
        *vary(DefaultBEGen, "dimensions", (*values, 10_000, 30_000), {"a: subscriptions fixed": {}}, MILLION)(scale),
        *(
            Point("b: per dimension fixed", d, DefaultBEGen(dimensions=d), scale_count(d * PER_DIMENSION, scale))
            for d in values
        ),
    ]


def _make_fig14_points(scale: float) -> list[Point]:
    return [
        *vary(DefaultBEGen, "count", COUNTS, {"a: subscriptions": DENSE}, 0)(scale),
        *vary(DefaultBEGen, "size", (5, 10, 15, 20, 25, 30), {"b: size": DENSE}, MILLION)(scale),
    ]


def _make_single_point(work: Workload, name: str, count: int, scale: float) -> list[Point]:
    return [Point("", name, work, scale_count(count, scale), comparable=scale >= 1)]


PAPER_TABLE2 = {
    "naive": 435_270.0,
    "kindex": 616_420.0,
    "propagation": 168_730.0,
    "opindex": 3_210.0,
    "betree": 2_260.0,
    "pstbloom": 820.0,
    "psthash": 240.0,
}
"""Microseconds per event (Table 2)."""

PAPER_TABLE3 = {"ps-tree": 0.0071, "segment-tree": 0.0627, "interval-tree": 25.2, "scan": 231.1}
"""Microseconds per point (Table 3: the times of 100,000 points)."""


def _measure_stabbing(scale: float) -> list[Row]:
    from bench.intervals.table3 import measure_stabbing  # imported here, because only this table needs it

    return measure_stabbing(scale_count(100_000, scale))


EXPERIMENTS = [
    _make_figure(
        5,
        "building time",
        "PSTBloom builds fastest, at 100 million subscriptions by 78 % before BE-Tree. Dimensions slow down BE-Tree "
        "and Propagation, larger subscriptions PSTBloom, OpIndex and k-index. PSTHash gains most from equality. An "
        "OpIndex that is in order after every insertion takes a thousand times as long in a dense space.",
        "see the variant",
        "build",
        _make_fig5_points,
        *_claim_increase(INDEXES, where="a:"),
        Leads("pstbloom", ("psthash", "betree", "opindex", "propagation", "kindex"), where="a:"),
        Leads("pstbloom", ("betree",), compute_lead(78), where="a:", x_from=COUNTS[-1]),
        *_claim_growth(("betree", "propagation"), CLEAR_FACTOR, float("inf"), where="b:"),
        *_claim_unchanged(("pstbloom", "psthash", "kindex"), where="b:"),
        *(Leads(e, (INSERTION_OPINDEX,), 1_000, where="b:", x_below=101) for e in ("pstbloom", "betree", "psthash")),
        *_claim_increase(("pstbloom", "opindex", "kindex"), where="c:"),
        *_claim_unchanged(("betree", "propagation"), where="c:"),
        *_claim_decrease(("psthash",), where="c:"),
        *_claim_decrease(INDEXES, where="d:"),
        *_claim_slower_growth(("psthash",), INDEXES, "d:"),
        Leads("pstbloom", ("psthash", "betree", "opindex", "propagation", "kindex"), where="d:"),
        # Its advantage becomes larger.
        *_claim_slower_growth(("pstbloom",), ("betree", "opindex", "propagation", "kindex"), "d:"),
        engines=(*ALL, INSERTION_OPINDEX),
        measure=_measure_building,
    ),
    _make_figure(
        6,
        "number of subscriptions",
        "All grow linearly, PSTHash least. Dense: PSTBloom is best at 300,000, by 84 % before OpIndex, and PSTHash "
        "above a million, at 100 million by 92 %. Sparse: PSTBloom is always best.",
        "subscriptions",
        "match",
        vary(DefaultBEGen, "count", COUNTS, DENSE_AND_SPARSE, 0),
        *(GrowsLinearly(engine, where=where) for engine in PAPER_ENGINES for where in DENSE_AND_SPARSE),
        *_claim_slower_growth(("psthash",), PAPER_ENGINES, *DENSE_AND_SPARSE),
        GrowsLess("psthash", "dense", "psthash", "sparse"),
        Leads("pstbloom", ALL_BUT_BLOOM, where="dense", x_from=COUNTS[0], x_below=COUNTS[0] + 1),
        Leads("pstbloom", ("opindex",), compute_lead(84), where="dense", x_from=COUNTS[0], x_below=COUNTS[0] + 1),
        Leads("psthash", ALL_BUT_HASH, where="dense", x_from=MILLION + 1),
        Leads("psthash", ("opindex",), compute_lead(92), where="dense", x_from=COUNTS[-1]),
        *claim_similar("psthash", "opindex", where="sparse", x_from=30_000_000, x_below=30_000_001),
        Leads("pstbloom", ALL_BUT_BLOOM, where="sparse"),
    ),
    _make_figure(
        7,
        "skew of attributes",
        "With Zipf PSTHash is best, dense or sparse, and k-index slower than a scan. OpIndex is better than BE-Tree "
        "with a uniform distribution, and worse with Zipf.",
        "Zipf",
        "match",
        vary(DefaultBEGen, "skew", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, x_from=1),
        Leads("opindex", ("betree",), x_below=1),
        Leads("betree", ("opindex",), x_from=1),
        Leads("naive", ("kindex",), x_from=1),
    ),
    _make_figure(
        8,
        "number of dimensions",
        "With a fixed number of subscriptions, all but Propagation and a scan gain from dimensions; PSTBloom, OpIndex "
        "and k-index most. They gain nothing if the number per dimension is fixed. Above 300 PSTBloom is best.",
        "dimensions",
        "match",
        _make_fig8_points,
        *_claim_decrease(PRUNING, where="a:"),
        *_claim_unchanged(("propagation", "naive"), where="a:"),
        *_claim_slower_growth(("pstbloom", "opindex", "kindex"), ("psthash", "betree"), "a:"),
        *_claim_unchanged(("pstbloom", "opindex", "kindex"), where="b:"),
        Leads("pstbloom", ALL_BUT_BLOOM, x_from=301),
    ),
    _make_figure(
        9,
        "cardinality",
        "Dense: below 300 values PSTHash is best, above PSTBloom, at 1,000 by up to 91 % before OpIndex.",
        "cardinality",
        "match",
        vary(DefaultBEGen, "cardinality", (3, 10, 30, 100, 300, 1_000), DENSE_AND_SPARSE, MILLION),
        Leads("psthash", ALL_BUT_HASH, where="dense", x_below=300),
        Leads("pstbloom", ALL_BUT_BLOOM, where="dense", x_from=300),
        Leads("pstbloom", ("opindex",), compute_lead(91), where="dense", x_from=1_000),
    ),
    _make_figure(
        10,
        "size of subscriptions",
        "Dense: larger ones help PSTBloom, PSTHash, BE-Tree and Propagation. Sparse: they matter to Propagation only. "
        "OpIndex becomes slower, by 350 % and 200 %.",
        "size",
        "match",
        vary(DefaultBEGen, "size", (5, 10, 15, 20, 25, 30), DENSE_AND_SPARSE, MILLION),
        *_claim_decrease(("pstbloom", "psthash", "betree", "propagation"), where="dense"),
        *_claim_unchanged(("pstbloom", "psthash", "betree", "kindex"), where="sparse"),
        *_claim_growth(("propagation",), 0, 1 / UNCHANGED_FACTOR, where="sparse"),
        Grows("opindex", at_least=4.5, where="dense"),
        Grows("opindex", at_least=3, where="sparse"),
        *_claim_growth(("kindex", "naive"), 0, UNCHANGED_FACTOR),
    ),
    _make_figure(
        11,
        "size of events",
        "Larger ones slow down all but Propagation and a scan. At 90, PSTHash is best for dense events, by 85 % before "
        "BE-Tree, and PSTBloom for sparse ones.",
        "event size",
        "match",
        vary(DefaultBEGen, "event_size", (30, 42, 54, 66, 78, 90), DENSE_AND_SPARSE, MILLION),
        *_claim_increase(PRUNING),
        *_claim_growth(("propagation", "naive"), 0, UNCHANGED_FACTOR),
        Leads("psthash", ALL_BUT_HASH, where="dense", x_from=90),
        Leads("psthash", ("betree",), compute_lead(85), where="dense", x_from=90),
        Leads("pstbloom", ALL_BUT_BLOOM, where="sparse", x_from=90),
    ),
    _make_figure(
        12,
        "match probability",
        "All but Propagation and a scan become slower. At 50 % PSTBloom and PSTHash need a quarter of a scan's time; "
        "BE-Tree, OpIndex and Propagation need as much as a scan.",
        "match probability",
        "match",
        vary(DefaultBEGen, "match", (0.001, 0.005, 0.01, 0.05, 0.1, 0.5), DENSE_AND_SPARSE, MILLION),
        *_claim_increase(PRUNING),
        *_claim_unchanged(("propagation", "naive")),
        *(
            claim
            for engine in ("betree", "opindex", "propagation")
            for claim in claim_similar(engine, "naive", x_from=0.5)
        ),
        Leads("pstbloom", ("naive",), compute_lead(75), x_from=0.5),
        Leads("psthash", ("naive",), compute_lead(75), x_from=0.5),
    ),
    _make_figure(
        13,
        "share of equality",
        "More equality helps all engines. Dense: PSTHash is always first, with a growing lead. Sparse: with equality "
        "only, Propagation is as good as PSTBloom.",
        "share of =",
        "match",
        vary(DefaultBEGen, "equality", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), DENSE_AND_SPARSE, MILLION),
        *_claim_decrease(PAPER_ENGINES),
        *_claim_growth(("propagation",), 0, 1 / CLEAR_FACTOR, x_from=0.8),
        *claim_similar("propagation", "pstbloom", where="sparse", x_from=1),
        Leads("psthash", ALL_BUT_HASH, where="dense"),
        *_claim_slower_growth(("psthash",), ALL_BUT_HASH, "dense"),
    ),
    _make_figure(
        14,
        "memory",
        "PSTBloom and PSTHash grow more slowly than OpIndex and BE-Tree; Propagation needs the least. Larger "
        "subscriptions need more in OpIndex and k-index, and less in PSTBloom and PSTHash. PSTBloom needs up to 94 % "
        "less than BE-Tree and up to 99 % less than OpIndex.",
        "see the variant",
        "index",
        _make_fig14_points,
        *_claim_slower_growth(("pstbloom", "psthash"), ("opindex", "betree"), "a:"),
        *_claim_increase(("opindex", "kindex"), where="b:"),
        *_claim_unchanged(("betree", "propagation"), where="b:"),
        *_claim_decrease(("pstbloom", "psthash"), where="b:"),
        Leads("propagation", ("pstbloom", "psthash", "betree", "opindex", "kindex")),
        Leads("pstbloom", ("betree",), compute_lead(94), ONE_POINT_SHARE),
        Leads("pstbloom", ("opindex",), compute_lead(99), ONE_POINT_SHARE),
    ),
    Experiment(
        "pstree-fig15",
        "PS-Tree: query logs",
        "PSTBloom is far ahead of OpIndex, PSTHash and BE-Tree, which are similar; then k-index, Propagation, scan. "
        "Building times have the same order, but PSTBloom's and OpIndex's are similar, and BE-Tree's and k-index's.",
        "workload",
        "match",
        ALL,
        partial(_make_single_point, QueryLog(), "queries", 2_100_000),
        measure=measure_like_pstree,
        claims=(
            *claim_ranking("pstbloom", "opindex", "psthash", "betree", "kindex", "propagation", "naive"),
            *claim_similar("opindex", "psthash"),
            *claim_similar("psthash", "betree"),
            *claim_similar("opindex", "betree"),
            Leads("pstbloom", ("opindex", "psthash", "betree"), CLEAR_FACTOR),
            *claim_ranking("pstbloom", "psthash", "betree", "propagation", metric="build"),
            *claim_ranking("opindex", "psthash", "kindex", "propagation", metric="build"),
            *claim_similar("pstbloom", "opindex", metric="build"),
            *claim_similar("betree", "kindex", metric="build"),
        ),
        more_metrics=("build",),
    ),
    Experiment(
        "pstree-table2",
        "PS-Tree: the Ads data",
        "PSTHash matches in 0.24 ms, PSTBloom in 0.82, BE-Tree in 2.26, OpIndex in 3.21, Propagation in 169, a scan in "
        "435, and k-index in 616; PSTBloom builds fastest, in 7.8 s, and Propagation is smallest, then PSTBloom.",
        "workload",
        "match",
        ALL,
        partial(_make_single_point, AdConjunctions(), "Ads", 3_000_000),
        measure=measure_like_pstree,
        claims=(
            *claim_ranking("psthash", "pstbloom", "betree", "opindex", "propagation", "naive", "kindex"),
            Leads("psthash", ("betree",), compute_lead(89)),
            *claim_ranking("pstbloom", "psthash", "betree", "opindex", "propagation", "kindex", metric="build"),
            *claim_ranking("propagation", "pstbloom", "betree", "opindex", "psthash", "kindex", metric="index"),
        ),
        more_metrics=("build", "index"),
        paper_values={("", "Ads", engine): value for engine, value in PAPER_TABLE2.items()},
    ),
    Experiment(
        "pstree-table3",
        "PS-Tree: stabbing 100,000 intervals",
        "100,000 points take 0.71 ms with a PS-Tree, 89 % less than with a segment tree and 99.97 % less than with an "
        "interval tree, and 23,110 ms with a scan; building takes 92, 30 and 16 ms; the size is 54, 7 and 2 MB.",
        "intervals",
        "match",
        (),
        rows=_measure_stabbing,
        claims=(
            Leads("ps-tree", ("segment-tree",), compute_lead(89), where="counted"),
            Leads("ps-tree", ("interval-tree",), compute_lead(99.97), where="counted"),
            *claim_ranking("ps-tree", "segment-tree", "interval-tree", "scan", where="counted"),
            *claim_ranking("interval-tree", "segment-tree", "ps-tree", metric="build", where="counted"),
            *claim_ranking("interval-tree", "segment-tree", "ps-tree", metric="index", where="counted"),
        ),
        more_metrics=("build", "index"),
        paper_values={
            (variant, 100_000, name): value
            for variant in ("counted", "counted, 1,000 values")
            for name, value in PAPER_TABLE3.items()
        },
    ),
]
