"""The experiments of A-Tree (SIGMOD 2021), section 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from bench.claims import Claim, Grows, Leads, Row
from bench.engines import engines_of
from bench.experiment import Experiment, Metric, Point, scaled
from tellwhen.lang.parser import parse
from tellwhen.profile import Profile
from tellwhen.workloads import ABEGen, Ads, taken

OTHERS = ("intervalid", "bop", "bdd", "translation")
ALL = engines_of("atree")
MILLION, ADS = 1_000_000, 1_392_196
Parameters = Mapping[str, tuple[str, tuple[float, ...]]]
COUNTS = (100_000, 300_000, MILLION, 3_000_000, 10_000_000, 30_000_000)
GROWING: Parameters = {
    "a: expressions": ("count", COUNTS),
    "b: depth": ("depth", (1, 2, 3, 4, 5, 6)),
    "c: children": ("children", (2, 4, 6, 8, 10, 12)),
    "d: sharing (Zipf)": ("skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
}
MATCHING: Parameters = {
    **GROWING,
    "e: dimensions": ("dimensions", (30, 100, 300, 1_000, 3_000, 10_000)),
    "f: cardinality": ("cardinality", (3, 10, 30, 100, 300, 1_000)),
    "g: Zipf of dimensions": ("dimension_skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    "h: event size": ("event_size", (5, 10, 15, 20, 25, 30)),
}


def _several(parameters: Parameters, scale: float) -> list[Point]:
    """A sub-figure for each parameter. Sharing depends on the total, which is scaled too."""
    found = []
    for variant, (name, values) in parameters.items():
        for value in values:
            count = scaled(int(value) if name == "count" else MILLION, scale)
            given: dict[str, Any] = {} if name == "count" else {name: value}
            if name == "dimensions":
                given["event_size"] = min(20, int(value))
            work = ABEGen(total=count, **given)
            found.append(Point(variant, count if name == "count" else value, work, count))
    return found


def _ads(scale: float) -> list[Point]:
    count = scaled(ADS, scale)
    return [Point("Ads", "Ads", Ads(total=count), count)]


def _sharing_and_ads(scale: float) -> list[Point]:
    return [*_several({"a: sharing (Zipf)": GROWING["d: sharing (Zipf)"]}, scale), *_ads(scale)]


GENERATED = "Ads, as generated here"


def _sharing(scale: float) -> list[Row]:
    """Figure 7: how often sub-expressions of each level occur, and how often predicates do, by rank."""
    count = scaled(ADS, scale)
    profile, times = Profile(), Counter[str]()
    for text in taken(Ads(total=count), count):
        expression = parse(text)
        profile.add_subscriptions([expression])
        times.update(str(predicate) for predicate in expression.predicates())
    found = [("a: level", level.level, level.ratio) for level in profile.sharing()]
    ranked = sorted(times.values(), reverse=True)
    found += [("b: rank of a predicate", 10**k, float(ranked[10**k - 1])) for k in range(6) if 10**k <= len(ranked)]
    return [
        {"variant": variant, "x": x, "engine": GENERATED, "status": "ok", "sharing": value}
        for variant, x, value in found
    ]


def _figure(name: str, title: str, says: str, metric: Metric, parameters: Parameters, *claims: Claim) -> Experiment:
    points = partial(_several, parameters)
    return Experiment(name, title, says, "see the variant", metric, ALL, points, claims=claims)


EXPERIMENTS = [
    Experiment(
        "atree-fig7",
        "A-Tree: sharing in the Ads data",
        "A predicate occurs 68.76 times on average, an expression of 9 levels 2.88 times; the distribution is Zipf.",
        "see the variant",
        "sharing",
        (),
        rows=_sharing,
        note="the generator is tuned to these numbers, so finding them again proves nothing",
    ),
    Experiment(
        "atree-fig8",
        "A-Tree: sharing and the multi-tree",
        "A tree with many roots and sharing is best; even without sharing it is far better than a scan.",
        "Zipf of sub-expressions",
        "match",
        ("atree", "scan"),
        _sharing_and_ads,
        claims=(Leads("atree", ("scan",), 2),),
        also="atree without sharing, and as a binary tree",
    ),
    Experiment(
        "atree-fig9",
        "A-Tree: uniqueness and dynamics",
        "Unique ids, reorganisation and self-adjustment each save memory and time, and cost building time.",
        "workload",
        "index",
        ("atree",),
        _ads,
        also="atree with these switched off",
    ),
    Experiment(
        "atree-fig10",
        "A-Tree: zero suppression and propagation on demand",
        "Both cut the matching time.",
        "workload",
        "match",
        ("atree",),
        _sharing_and_ads,
        also="atree with these switched off",
    ),
    _figure(
        "atree-fig11",
        "A-Tree: memory",
        "A-Tree needs the least memory: 71 % less than the next best at 30 million expressions.",
        "index",
        GROWING,
        Leads("atree", OTHERS),
    ),
    _figure(
        "atree-fig12",
        "A-Tree: matching time",
        "A-Tree is fastest everywhere; only it and BDD gain from sharing; the others suffer from depth and children.",
        "match",
        MATCHING,
        Leads("atree", (*OTHERS, "scan")),
        Grows("atree", at_most=0.8, where="d:"),
    ),
    _figure(
        "atree-fig13",
        "A-Tree: building time",
        "A-Tree builds fastest; its lead grows with the sharing.",
        "build",
        GROWING,
        Leads("atree", OTHERS),
        Grows("atree", at_most=0.8, where="d:"),
    ),
    Experiment(
        "atree-table4",
        "A-Tree: the Ads data",
        "A-Tree matches in 1.6 ms, BDD in 11.5, Translation 13.7, a scan in 529.",
        "workload",
        "match",
        ("atree", "dewey", *OTHERS, "scan"),
        _ads,
        claims=(Leads("atree", ("bdd", "translation"), 5), Leads("atree", ("scan",), 50)),
    ),
]
