"""The experiments of A-Tree (SIGMOD 2021), section 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from bench.claims import Claim, Row
from bench.engines import list_engines_of_paper
from bench.experiment import SUBSCRIPTIONS_MIN, Experiment, Metric, Point, scale_count
from bench.papers.atree_claims import (
    BDD,
    BINARY,
    CONJUNCTION_ENGINES,
    IDENTITY,
    NO_DEMAND,
    NO_ZERO,
    NO_ZERO_NO_DEMAND,
    OTHERS,
    REORGANISED,
    STEPS,
    TABLE_4,
    UNSHARED,
    claim_ads,
    claim_building_time,
    claim_choices,
    claim_conjunctions,
    claim_design,
    claim_dynamics,
    claim_matching_time,
    claim_memory,
    claim_optimizations,
    claim_sharing,
)
from bench.papers.generators import DefaultBEGen
from tellwhen.language.parser import parse
from tellwhen.profile import Profile
from tellwhen.workloads import ABEGen, AdTrees, Workload, take_subscriptions

ALL = (*list_engines_of_paper("atree"), BDD)
BDD_LABELS = {BDD: "bdd", "bdd": "bdd, upwards"}
MILLION, ADS = 1_000_000, 1_392_196
Parameters = Mapping[str, tuple[str, tuple[float, ...]]]
COUNTS = (100_000, 300_000, MILLION, 3_000_000, 10_000_000, 30_000_000)
SIZE_PARAMETERS: Parameters = {
    "a: expressions": ("count", COUNTS),
    "b: depth": ("depth", (1, 2, 3, 4, 5, 6)),
    "c: children": ("children", (2, 4, 6, 8, 10, 12)),
    "d: sharing (Zipf)": ("skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
}
MATCHING_PARAMETERS: Parameters = {
    **SIZE_PARAMETERS,
    "e: dimensions": ("dimensions", (30, 100, 300, 1_000, 3_000, 10_000)),
    "f: cardinality": ("cardinality", (3, 10, 30, 100, 300, 1_000)),
    "g: Zipf of dimensions": ("dimension_skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    "h: event size": ("event_size", (5, 10, 15, 20, 25, 30)),
}
ONLY_AND = (1.0, 0.0, 0.0, 0.0, 0.0)
"""Shares of the operators of ABE-Gen in a workload of conjunctions."""

ORDERS = range(5)
"""Numbers of the orders in which the expressions of Figure 9 are inserted."""


def _make_point(variant: str, x: float | str, work: Workload, count: int, scale: float) -> Point:
    """Return a point with the paper's number of subscriptions, scaled; comparable unless the minimum has raised it."""
    return Point(variant, x, work, scale_count(count, scale), count * scale >= SUBSCRIPTIONS_MIN)


def _vary_each(parameters: Parameters, scale: float, **fixed: Any) -> list[Point]:
    """Return a sub-figure for each parameter, with the paper's numbers of expressions as x.

    `total` is scaled too, so a sub-expression occurs as often as in the paper, on average. More expressions share
    more, because they come from the same pools.
    """
    points = []
    for variant, (name, values) in parameters.items():
        for value in values:
            options: dict[str, Any] = {} if name == "count" else {name: value}
            work = ABEGen(total=scale_count(MILLION, scale), **fixed, **options)
            points.append(_make_point(variant, value, work, int(value) if name == "count" else MILLION, scale))
    return points


def _make_ads_point(scale: float, x: int | str = "Ads", order: int = 0) -> Point:
    return _make_point("Ads", x, AdTrees(total=scale_count(ADS, scale), order=order), ADS, scale)


def _make_points_in_all_orders(scale: float) -> list[Point]:
    return [_make_ads_point(scale, order, order) for order in ORDERS]


def _make_sharing_points(scale: float) -> list[Point]:
    sharing = _vary_each({"a: sharing (Zipf)": SIZE_PARAMETERS["d: sharing (Zipf)"]}, scale)
    return [*sharing, _make_ads_point(scale)]


def _make_points_with_conjunctions(scale: float) -> list[Point]:
    only_and = ABEGen(total=scale_count(MILLION, scale), operators=ONLY_AND)
    return [*_make_sharing_points(scale), _make_point("only AND", "only AND", only_and, MILLION, scale)]


def _make_conjunction_points(scale: float) -> list[Point]:
    """Return points with conjunctions only: of 4 predicates by ABE-Gen, and by BE-Gen as in PS-Tree (section 7)."""
    return [
        *_vary_each({"a: expressions, ABE-Gen": ("count", COUNTS)}, scale, operators=ONLY_AND, depth=2),
        *(
            _make_point("b: dimensions, BE-Gen", d, DefaultBEGen(dimensions=d), MILLION, scale)
            for d in (100, 1_000, 10_000, 30_000)
        ),
    ]


GENERATED = "Ads, as generated here"


def _measure_sharing(scale: float) -> list[Row]:
    """Count how often sub-expressions of each level occur, and how often predicates do, by rank (Figure 7)."""
    count = scale_count(ADS, scale)
    profile, times = Profile(), Counter[str]()
    for text in take_subscriptions(AdTrees(total=count), count):
        expression = parse(text)
        profile.add_subscriptions([expression])
        times.update(str(predicate) for predicate in expression.predicates())
    found = [("a: level", level.level, level.ratio) for level in profile.sharing()]
    counts = sorted(times.values(), reverse=True)
    found += [("b: rank of a predicate", 10**k, float(counts[10**k - 1])) for k in range(6) if 10**k <= len(counts)]
    return [
        {"variant": variant, "x": x, "engine": GENERATED, "status": "ok", "sharing": value}
        for variant, x, value in found
    ]


RANDOM_ACCESS = "atree:access=1"


def _make_figure(
    name: str,
    title: str,
    paper_finding: str,
    metric: Metric,
    parameters: Parameters,
    *claims: Claim,
) -> Experiment:
    points = partial(_vary_each, parameters)
    return Experiment(
        name,
        title,
        paper_finding,
        "see the variant",
        metric,
        ALL,
        points,
        claims=claims,
        labels=BDD_LABELS,
    )


EXPERIMENTS = [
    Experiment(
        "atree-fig7",
        "A-Tree: sharing in the Ads data",
        "A predicate occurs 68.76 times on average, an expression of 9 levels 2.88 times; the distribution is Zipf.",
        "see the variant",
        "sharing",
        (),
        rows=_measure_sharing,
        claims=claim_sharing(GENERATED),
        paper_values={("a: level", 1, GENERATED): 68.76, ("a: level", 9, GENERATED): 2.88},
        no_verdict_reason="the generator is tuned to these numbers, so finding them again proves nothing",
    ),
    Experiment(
        "atree-fig8",
        "A-Tree: sharing and the multi-tree",
        "A tree with many roots and sharing is best; even without sharing it is far better than a scan.",
        "Zipf of sub-expressions",
        "match",
        ("atree", BINARY, UNSHARED, "naive", "scan"),
        _make_sharing_points,
        claims=claim_design(),
        labels={"atree": "multi-tree, sharing", BINARY: "binary tree, sharing", UNSHARED: "multi-tree, no sharing"},
    ),
    Experiment(
        "atree-fig9",
        "A-Tree: uniqueness and dynamics",
        "Unique ids, reorganisation and self-adjustment each save memory and time, and cost building time; with all "
        "of them the memory does not depend on the order in which expressions come.",
        "order of the expressions",
        "index",
        STEPS,
        _make_points_in_all_orders,
        claims=claim_dynamics(),
        more_metrics=("match", "build"),
        labels={
            UNSHARED: "no optimization",
            IDENTITY: "unique ids",
            REORGANISED: "unique ids, reorganised",
            "atree": "unique ids, reorganised, self-adjusted",
        },
    ),
    Experiment(
        "atree-fig10",
        "A-Tree: zero suppression and propagation on demand",
        "Both cut the matching time: zero suppression by up to 85 %, propagation on demand by up to 92 % where there "
        "are only conjunctions.",
        "workload",
        "match",
        ("atree", NO_DEMAND, NO_ZERO, NO_ZERO_NO_DEMAND, RANDOM_ACCESS),
        _make_points_with_conjunctions,
        claims=claim_optimizations(),
        labels={
            "atree": "both",
            NO_DEMAND: "zero suppression",
            NO_ZERO: "propagation on demand",
            NO_ZERO_NO_DEMAND: "neither",
            RANDOM_ACCESS: "both, random access children",
        },
    ),
    _make_figure(
        "atree-fig11",
        "A-Tree: memory",
        "A-Tree needs the least memory: 71 % less than the next best at 30 million expressions, and 68 % less with the "
        "most sharing. It grows slowest, with BDD. Translation needs the most; BDD and Translation do not scale with "
        "depth and children.",
        "index",
        SIZE_PARAMETERS,
        *claim_memory(),
    ),
    _make_figure(
        "atree-fig12",
        "A-Tree: matching time",
        "A-Tree is fastest everywhere, by 86 % at 30 million expressions and by up to 99 % at depth 6. Only it and BDD "
        "gain from sharing; the others suffer from depth and children. With dimensions and event sizes the ranking is "
        "A-Tree, Translation, BDD, BoP, Interval ID, Scan.",
        "match",
        MATCHING_PARAMETERS,
        *claim_matching_time(),
    ),
    _make_figure(
        "atree-fig13",
        "A-Tree: building time",
        "A-Tree builds fastest; BoP and Interval ID come before Translation and BDD. Its lead grows with the sharing, "
        "to 75 % over BoP.",
        "build",
        SIZE_PARAMETERS,
        *claim_building_time(),
    ),
    Experiment(
        "atree-choices",
        "A-Tree: the engine below Translation, and Dewey IDs",
        "Below Translation, PSTBloom is faster than BE-Tree and OpIndex. Interval IDs are always slightly faster than "
        "Dewey IDs (section 6.4, without a figure).",
        "see the variant",
        "match",
        ("translation", "translation:base=2", "translation:base=3", "intervalid", "dewey"),
        _make_sharing_points,
        claims=claim_choices(),
        labels={
            "translation": "PSTBloom below",
            "translation:base=2": "BE-Tree below",
            "translation:base=3": "OpIndex below",
        },
    ),
    Experiment(
        "atree-conjunctions",
        "A-Tree: conjunctions",
        "Even on conjunctions A-Tree matches faster than engines of conjunctions (abstract, without a figure).",
        "see the variant",
        "match",
        ("atree", *CONJUNCTION_ENGINES),
        _make_conjunction_points,
        claims=claim_conjunctions(),
        more_metrics=("build", "index"),
    ),
    Experiment(
        "atree-table4",
        "A-Tree: the Ads data",
        "A-Tree matches in 1.6 ms, BDD in 11.5, Translation 13.7, BoP 44.1, Interval ID 53.6, Dewey ID 62.7, a scan in "
        "529. They are built in 2.9, 25.6, 11.1 + 14.6, 8.6, 12.2 and 14.8 s, and need 205, 823, 320 + 4,592, 684, "
        "1,775 and 1,887 MB.",
        "workload",
        "match",
        ("atree", "dewey", *OTHERS, "bdd", "naive", "scan"),
        lambda scale: [_make_ads_point(scale)],
        claims=claim_ads(),
        paper_values={("Ads", "Ads", engine): time for engine, time in TABLE_4.items()},
        more_metrics=("build", "index"),
        labels=BDD_LABELS,
    ),
]
