"""The experiments of A-Tree (SIGMOD 2021), section 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.claims import Claim, Grows, Leads, Linear, Part, Row, Scales, cut, ranking, similar
from bench.engines import engines_of
from bench.experiment import Experiment, Metric, Point, scaled
from tellwhen.kernels.arrays import I64
from tellwhen.language.parser import parse
from tellwhen.profile import Profile
from tellwhen.workloads import ABEGen, Ads, take_subscriptions

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


@dataclass(frozen=True)
class LastFirst(Ads):
    """The same expressions, of which the last comes first."""

    def draw_roots(self, numbers: I64) -> tuple[I64, I64]:
        return super().draw_roots(np.maximum(0, self.total - 1 - numbers))


def _both_orders(scale: float) -> list[Point]:
    count = scaled(ADS, scale)
    return [*_ads(scale), Point("Ads", "last first", LastFirst(total=count), count)]


def _sharing_and_ads(scale: float) -> list[Point]:
    return [*_several({"a: sharing (Zipf)": GROWING["d: sharing (Zipf)"]}, scale), *_ads(scale)]


def _with_conjunctions(scale: float) -> list[Point]:
    count = scaled(MILLION, scale)
    only_and = ABEGen(total=count, operators=(1.0, 0.0, 0.0, 0.0, 0.0))
    return [*_sharing_and_ads(scale), Point("only AND", "only AND", only_and, count)]


GENERATED = "Ads, as generated here"


def _sharing(scale: float) -> list[Row]:
    """Figure 7: how often sub-expressions of each level occur, and how often predicates do, by rank."""
    count = scaled(ADS, scale)
    profile, times = Profile(), Counter[str]()
    for text in take_subscriptions(Ads(total=count), count):
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


ALONE, BINARY = "atree:share=0", "atree:binary=1"
IDENTITY, REORGANISED = "atree:share=1", "atree:share=2"
NEITHER, NO_ZERO, NO_DEMAND = "atree:zero=0,demand=0", "atree:zero=0", "atree:demand=0"
RANDOM_ACCESS = "atree:access=1"
STEPS = (ALONE, IDENTITY, REORGANISED, "atree")
"""The steps of Figure 9, from no optimization to all of them."""


MATCHING_DIFFERS = (
    "a normal form of three levels is small, and `pstbloom` below `translation` is as fast as A-Tree; from four "
    "levels or six children on it is over budget. A few thousand expressions take hardly longer than the event "
    "itself, so times are not linear at the small end. `bop` reads its encoding byte by byte, and evaluates far more "
    "expressions than match; Interval IDs look at satisfied leaves only, so they win, at any depth. The diagram of "
    "`bdd` is climbed from every satisfied predicate. The scans stop at the first predicate that decides, so they too "
    "gain from absent attributes (e, h). Popular attributes (g) satisfy more predicates of the same event"
)
MEMORY_DIFFERS = (
    "annotations are packed bytes here, not objects: up to two levels `bop` and Interval IDs take no more than the "
    "nodes and links of A-Tree, which leads from three levels on. An expression whose diagram is over the budget of "
    "`bdd` is not in it, so at depths 5 and 6 its diagram is small again"
)
BUILDING_DIFFERS = (
    "`bop` and Interval IDs write their annotations in one pass over all expressions, and sort their posting lists "
    "once; A-Tree looks up every node, and lays out the graph at the end"
)


def _figure(
    name: str, title: str, says: str, metric: Metric, parameters: Parameters, differs: str, *claims: Claim
) -> Experiment:
    points = partial(_several, parameters)
    return Experiment(name, title, says, "see the variant", metric, ALL, points, claims=claims, differs=differs)


def _memory() -> tuple[Claim, ...]:
    """Section 6.4.1, Figure 11."""
    return (
        Leads("atree", OTHERS, where="a:"),
        Leads("atree", ("bop",), cut(71), where="a:", at_end=True),
        *(Leads(other, ("translation",), where="a:") for other in ("intervalid", "bop", "bdd")),
        *(Scales(one, "a:", other, "a:") for one in ("atree", "bdd") for other in ("intervalid", "bop", "translation")),
        Leads("atree", OTHERS, where="b:"),
        # In the paper these two run out of memory with depth and children.
        *(Grows(one, at_least=10, where=where) for one in ("bdd", "translation") for where in ("b:", "c:")),
        *ranking("atree", "bop", "intervalid", where="c:"),
        *(Grows(one, at_most=0.9, where="d:") for one in ("atree", "bdd")),
        Leads("atree", OTHERS, where="d:", x_from=0.2),
        Leads("atree", OTHERS, cut(68), where="d:", x_from=1),
    )


def _matching_time() -> tuple[Claim, ...]:
    """Section 6.4.2, Figure 12. The paper's Scan is `naive`; `scan` is shown beside it."""
    indexed = ("atree", *OTHERS)
    return (
        *(Linear(one, where="a:") for one in (*indexed, "naive")),
        *(Leads("atree", (*OTHERS, "naive"), where=where) for where in ("a:", "b:", "c:", "d:")),
        Leads("atree", ("bdd",), cut(86), where="a:", at_end=True),
        Leads("translation", ("bdd", "bop", "intervalid", "naive"), where="a:"),
        *similar("intervalid", "bop", where="a:"),
        *(Grows(one, at_least=1, where="b:") for one in (*indexed, "naive")),
        *(Scales("atree", where, one, where) for where in ("b:", "c:") for one in (*OTHERS, "naive")),
        Leads("naive", ("intervalid", "bop"), where="b:", x_from=6),
        Leads("atree", ("naive",), cut(99), where="b:", x_from=6),
        Grows("atree", at_most=0.8, where="d:"),
        Grows("bdd", at_most=1, where="d:"),
        Scales("atree", "d:", "bdd", "d:"),
        *(Grows(one, at_least=0.9, where="d:") for one in ("intervalid", "bop", "translation", "naive")),
        *(Grows(one, at_most=1, where=where) for one in indexed for where in ("e:", "f:")),
        Grows("naive", at_least=0.8, at_most=1.25, where="e:"),
        *(Grows(one, at_least=0.5, at_most=2, where="g:") for one in (*indexed, "naive")),
        *(Grows(one, at_least=1, where="h:") for one in indexed),
        Grows("naive", at_least=0.8, at_most=1.25, where="h:"),
        *ranking("atree", "translation", "bdd", "bop", "intervalid", "naive", where="e:"),
        *ranking("atree", "translation", "bdd", "bop", "intervalid", "naive", where="h:"),
    )


def _construction() -> tuple[Claim, ...]:
    """Section 6.4.3, Figure 13."""
    first_three = ("a:", "b:", "c:")
    return (
        Grows("atree", at_least=1, where="a:"),
        *(Leads("atree", OTHERS, where=where) for where in first_three),
        *(Leads(one, ("translation", "bdd"), where=where) for one in ("bop", "intervalid") for where in first_three),
        Grows("atree", at_most=0.8, where="d:"),
        Leads("atree", OTHERS, where="d:", x_from=0.2),
        Leads("atree", ("bop",), cut(75), where="d:", x_from=1),
    )


def _ads_data() -> tuple[Claim, ...]:
    """Section 6.5 and Table 4: its three columns, each as a ranking, and what is said of some engines."""
    return (
        *ranking("atree", "bdd", "translation", "bop", "intervalid", "dewey", "naive"),
        *similar("bop", "intervalid"),
        *similar("bop", "dewey"),
        Leads("atree", ("bdd",), cut(86)),
        Leads("atree", ("naive",), 529.1 / 1.6),
        *ranking("atree", "bop", "intervalid", "dewey", "bdd", metric="build"),
        *similar("bdd", "translation", metric="build"),
        Leads("atree", ("bdd",), cut(89), metric="build"),
        Part("translation", "translate", 14.6 / (11.1 + 14.6), metric="build"),
        *ranking("atree", "bop", "bdd", "intervalid", "dewey", "translation", metric="index"),
        Leads("atree", ("bdd",), cut(75), metric="index"),
        Part("translation", "translated", 4_592 / (320 + 4_592), metric="index"),
    )


EXPERIMENTS = [
    Experiment(
        "atree-fig7",
        "A-Tree: sharing in the Ads data",
        "A predicate occurs 68.76 times on average, an expression of 9 levels 2.88 times; the distribution is Zipf.",
        "see the variant",
        "sharing",
        (),
        rows=_sharing,
        claims=(
            Grows(GENERATED, at_least=1 / 30, at_most=1 / 18, where="a:"),  # 2.88 of 68.76
            Grows(GENERATED, at_most=1e-3, where="b:"),
        ),
        note="the generator is tuned to these numbers, so finding them again proves nothing",
    ),
    Experiment(
        "atree-fig8",
        "A-Tree: sharing and the multi-tree",
        "A tree with many roots and sharing is best; even without sharing it is far better than a scan.",
        "Zipf of sub-expressions",
        "match",
        ("atree", BINARY, ALONE, "naive", "scan"),
        _sharing_and_ads,
        claims=(
            Leads("atree", (BINARY, ALONE, "naive")),
            Leads(ALONE, ("naive",), 2),
            Grows("atree", at_most=0.8, where="a:"),
        ),
        labels={"atree": "multi-tree, sharing", BINARY: "binary tree, sharing", ALONE: "multi-tree, no sharing"},
        differs="where nothing is shared (Zipf 0), a graph in which every expression has nodes of its own is as fast",
    ),
    Experiment(
        "atree-fig9",
        "A-Tree: uniqueness and dynamics",
        "Unique ids, reorganisation and self-adjustment each save memory and time, and cost building time; with all "
        "of them the memory does not depend on the order in which expressions come.",
        "workload",
        "index",
        STEPS,
        _both_orders,
        claims=(
            *ranking(*reversed(STEPS)),
            *ranking(*reversed(STEPS), metric="match"),
            *ranking(*STEPS, metric="build"),
            Grows("atree", at_least=0.98, at_most=1.02),
        ),
        more=("match", "build"),
        differs="without unique ids it builds five times as many nodes, which takes longer than finding equal ones",
        labels={
            ALONE: "no optimization",
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
        ("atree", NO_DEMAND, NO_ZERO, NEITHER, RANDOM_ACCESS),
        _with_conjunctions,
        claims=(
            Leads("atree", (NO_DEMAND, NO_ZERO, NEITHER)),
            Leads(NO_DEMAND, (NEITHER,)),
            Leads(NO_ZERO, (NEITHER,)),
            # "By a maximum of": at one point at least.
            Leads("atree", (NO_ZERO,), cut(85), share=0.01),
            Leads("atree", (NO_DEMAND,), cut(92), share=0.01, where="only AND"),
        ),
        differs="guards, which the paper does not have, spare most ANDs a look, on demand or not: less is left to save",
        labels={
            "atree": "both",
            NO_DEMAND: "zero suppression",
            NO_ZERO: "propagation on demand",
            NEITHER: "neither",
            RANDOM_ACCESS: "both, random access children",
        },
    ),
    _figure(
        "atree-fig11",
        "A-Tree: memory",
        "A-Tree needs the least memory: 71 % less than the next best at 30 million expressions, and 68 % less with the "
        "most sharing. It grows slowest, with BDD. Translation needs the most; BDD and Translation do not scale with "
        "depth and children.",
        "index",
        GROWING,
        MEMORY_DIFFERS,
        *_memory(),
    ),
    _figure(
        "atree-fig12",
        "A-Tree: matching time",
        "A-Tree is fastest everywhere, by 86 % at 30 million expressions and by up to 99 % at depth 6. Only it and BDD "
        "gain from sharing; the others suffer from depth and children. With dimensions and event sizes the ranking is "
        "A-Tree, Translation, BDD, BoP, Interval ID, Scan.",
        "match",
        MATCHING,
        MATCHING_DIFFERS,
        *_matching_time(),
    ),
    _figure(
        "atree-fig13",
        "A-Tree: building time",
        "A-Tree builds fastest; BoP and Interval ID come before Translation and BDD. Its lead grows with the sharing, "
        "to 75 % over BoP.",
        "build",
        GROWING,
        BUILDING_DIFFERS,
        *_construction(),
    ),
    Experiment(
        "atree-table4",
        "A-Tree: the Ads data",
        "A-Tree matches in 1.6 ms, BDD in 11.5, Translation 13.7, BoP 44.1, Interval ID 53.6, Dewey ID 62.7, a scan in "
        "529. They are built in 2.9, 25.6, 11.1 + 14.6, 8.6, 12.2 and 14.8 s, and need 205, 823, 320 + 4,592, 684, "
        "1,775 and 1,887 MB.",
        "workload",
        "match",
        ("atree", "dewey", *OTHERS, "naive", "scan"),
        _ads,
        claims=_ads_data(),
        more=("build", "index"),
        differs="every engine is compiled here, so bdd, translation and the scans are closer to A-Tree than in the "
        "paper, and its lead grows with the size. bop evaluates half of its candidates, byte by byte; "
        "Interval IDs look at satisfied leaves only. Translated rows are arrays, not objects: they take less "
        "than what they are indexed by",
    ),
]
