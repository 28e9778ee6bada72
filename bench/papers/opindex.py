"""The experiments of OpIndex (VLDB 2014), sections 1 and 7.

At a smaller scale there are fewer subscriptions, and fewer attributes by the same factor. So an attribute has as many
subscriptions as in the paper: with 20,000 attributes, 50 for each million. An axis of attributes has the paper's values
at any scale. An event keeps its size, so it carries a larger share of fewer attributes.
"""

from __future__ import annotations

from bench.claims import Claim, Grows, GrowsLess, GrowsLinearly, Leads, StaysBelow, claim_similar
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Point, scale_count, vary
from tellwhen.workloads import Catalogue, Clauses, Keywords, Prefixes, Products
from tellwhen.workloads.keywords import VOCABULARY
from tellwhen.workloads.products import CATALOGUE_ATTRIBUTES

BETREE = "betree:max_cap=5"
"""Leaves of BE-Tree have a capacity of 5 (section 7.2)."""

OPINDEX, PLAIN, CNF = (f"{name}:insertion=1" for name in ("opindex", "opindex-plain", "opindex-cnf"))
"""The engines as in the paper: built by Algorithm 1, in lists of 32 segments."""

LABELS = {
    BETREE: "betree",
    OPINDEX: "opindex",
    PLAIN: "opindex-plain",
    CNF: "opindex-cnf",
    "opindex": "opindex, built at once",
}
SPEC_BY_LABEL = {label: spec for spec, label in LABELS.items()}
ALL = tuple(SPEC_BY_LABEL.get(name, name) for name in list_engines_of_paper("opindex"))
ALL_BUILDS = (*ALL, "opindex")
"""ALL, and `opindex` without options, whose lists are built at once by sorting."""

OTHERS = (BETREE, "kindex")
CAPACITIES = (5, 50, 100, 150, 200, 250)
MILLION = 1_000_000
COUNTS = (MILLION, 10_000_000, 20_000_000, 30_000_000, 40_000_000)
SIZES = (4, 8, 12, 16, 20)
EVENT_SIZES = (20, 40, 60, 80, 100, 120)
CARDINALITIES = (50, 200, 800, 3_200, 12_800)
DIMENSIONS, NUMBERS, STRINGS = 20_000, 10_000, 100
DIMENSIONS_MIN = 2 * EVENT_SIZES[-1]
"""The fewest attributes at any scale: the largest event then carries half of them."""

STRINGS_MIN = 60
"""The fewest attributes with strings at any scale: an event, which carries 30 of them, then carries half of them."""

WORDS_MIN = 1_000
"""The fewest words of the vocabulary at any scale; a word is an attribute."""


def _scale_dimensions(dimensions: int, scale: float, dimensions_min: int = DIMENSIONS_MIN) -> int:
    return max(dimensions_min, round(dimensions * scale))


def _make_fig1_points(scale: float) -> list[Point]:
    return [
        Point("", d, Products(dimensions=_scale_dimensions(d, scale)), scale_count(MILLION, scale))
        for d in (20_000, 30_000, 40_000, 50_000, 60_000)
    ]


def _make_fig7_points(scale: float) -> list[Point]:
    return _make_fig1_points(scale)[:1]


def _make_count_points(scale: float) -> list[Point]:
    dimensions = _scale_dimensions(DIMENSIONS, scale)
    return vary(Products, "count", COUNTS, {"a: subscriptions": {}}, 0, dimensions=dimensions)(scale)


def _make_fig9_points(scale: float) -> list[Point]:
    dimensions = _scale_dimensions(DIMENSIONS, scale)
    return [
        *_make_count_points(scale),
        *vary(Products, "size", SIZES, {"b: size": {}}, MILLION, dimensions=dimensions)(scale),
    ]


def _make_fig10_points(scale: float) -> list[Point]:
    dimensions = _scale_dimensions(DIMENSIONS, scale)
    axes = (
        ("c: event size", "event_size", EVENT_SIZES),
        ("d: share of =", "equality", (0.2, 0.4, 0.6, 0.8, 1.0)),
        ("e: values", "cardinality", CARDINALITIES),
        ("f: Zipf", "skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    )
    points = _make_fig9_points(scale)
    for variant, name, values in axes:
        points += vary(Products, name, values, {variant: {}}, MILLION, dimensions=dimensions)(scale)
    return points


def _make_fig8_points(scale: float) -> list[Point]:
    dimensions = _scale_dimensions(DIMENSIONS, scale)
    return [
        *_make_count_points(scale),
        *vary(Products, "cardinality", CARDINALITIES, {"b: values": {}}, MILLION, dimensions=dimensions)(scale),
    ]


def _make_fig11_points(scale: float) -> list[Point]:
    vocabulary = _scale_dimensions(VOCABULARY, scale, WORDS_MIN)
    return [
        Point(
            f"{source}, {form}",
            scale_count(count, scale),
            Keywords(form=form, length=length, vocabulary=vocabulary),
            scale_count(count, scale),
        )
        for source, length in (("tweets", 5.4), ("articles", 123))
        for form in ("equal", "between")
        for count in (MILLION, 2_000_000, 3_000_000, 4_000_000, 5_000_000)
    ]


def _make_fig12_points(scale: float) -> list[Point]:
    attributes = _scale_dimensions(CATALOGUE_ATTRIBUTES, scale)
    operators = {"=": 1.0, "IN": 0.0}
    by_count = {f"a: subscriptions, {name}": {"equality": share} for name, share in operators.items()}
    by_size = {f"b: size, {name}": {"equality": share} for name, share in operators.items()}
    return [
        *vary(Catalogue, "count", COUNTS, by_count, 0, attributes=attributes)(scale),
        *vary(Catalogue, "size", SIZES, by_size, MILLION, attributes=attributes)(scale),
    ]


def _make_fig13_points(scale: float) -> list[Point]:
    counts, dimensions = tuple(range(2, 11, 2)), _scale_dimensions(DIMENSIONS, scale)
    return [
        point
        for form in ("cnf", "dnf")
        for point in (
            *vary(
                Clauses, "count", COUNTS[:3], {f"a: subscriptions, {form}": {"form": form}}, 0, dimensions=dimensions
            )(scale),
            *vary(
                Clauses, "clauses", counts, {f"b: clauses, {form}": {"form": form}}, MILLION, dimensions=dimensions
            )(scale),
        )
    ]  # fmt: skip


def _make_fig14_points(scale: float) -> list[Point]:
    numbers = _scale_dimensions(NUMBERS, scale)
    strings = _scale_dimensions(STRINGS, scale, STRINGS_MIN)
    axes = (
        ("a: share of prefixes", "prefix", (0.2, 0.4, 0.6, 0.8, 1.0)),
        ("b: length of a prefix", "length", (2, 3, 4, 5)),
    )
    return [
        point
        for variant, name, values in axes
        for point in vary(Prefixes, name, values, {variant: {}}, MILLION, numbers=numbers, strings=strings)(scale)
    ]


FIG10_CLAIMS: tuple[Claim, ...] = (
    Leads(OPINDEX, ("kindex",), 10, where="a:"),
    Leads(OPINDEX, (BETREE, PLAIN), where="a:"),
    GrowsLess(OPINDEX, "a:", PLAIN, "a:", where="a:"),
    *(GrowsLess(OPINDEX, "b:", rival, "b:", where="b:") for rival in OTHERS),
    GrowsLinearly("kindex", where="b:"),
    Grows(BETREE, at_most=1, where="b:", x_below=12),
    Grows(BETREE, at_least=1, where="b:", x_from=8),
    *(Grows(name, at_least=1, where="c:") for name in (OPINDEX, PLAIN, *OTHERS)),
    GrowsLess(OPINDEX, "c:", PLAIN, "c:", where="c:"),
    *claim_similar(PLAIN, BETREE, where="c:", at_end=True),
    *(Leads(name, ("kindex",), where="c:") for name in (OPINDEX, PLAIN, BETREE)),
    GrowsLess(OPINDEX, "c:", "kindex", "c:", where="c:"),
    *(Grows(name, at_most=1, where="d:") for name in (OPINDEX, *OTHERS)),
    *(GrowsLess(name, "d:", OPINDEX, "d:", where="d:") for name in OTHERS),
    *(Grows(name, 1 / 1.5, 1.5, where="e:") for name in (OPINDEX, *OTHERS)),
    Leads(OPINDEX, OTHERS, where="f:"),
    GrowsLess(OPINDEX, "f:", "kindex", "f:", where="f:"),
)


EXPERIMENTS = [
    Experiment(
        "opindex-fig1",
        "OpIndex: tens of thousands of dimensions",
        "k-index is built faster than BE-Tree and scales better, but needs more memory; OpIndex is built and matches "
        "fastest.",
        "dimensions",
        "match",
        ALL_BUILDS,
        _make_fig1_points,
        more_metrics=("build", "index"),
        labels=LABELS,
        claims=(
            Leads(OPINDEX, OTHERS),
            Leads(OPINDEX, OTHERS, metric="build"),
            Leads("kindex", (BETREE,), metric="build"),
            GrowsLess("kindex", "", BETREE, ""),
            Leads(BETREE, ("kindex",), metric="index"),
        ),
    ),
    Experiment(
        "opindex-fig7",
        "OpIndex: leaf capacity of BE-Tree in many dimensions",
        "With leaves of 150 instead of 5, building is 15 times as fast and matching 15 times as slow.",
        "dimensions",
        "match",
        tuple(f"betree:max_cap={capacity}" for capacity in CAPACITIES),
        _make_fig7_points,
        more_metrics=("build",),
        claims=(
            Leads("betree:max_cap=5", ("betree:max_cap=150",), 15),
            Leads("betree:max_cap=150", ("betree:max_cap=5",), 15, metric="build"),
        ),
    ),
    Experiment(
        "opindex-fig8",
        "OpIndex: memory",
        "BE-Tree needs twice as much, k-index seven times; memory grows slower than the subscriptions; with more "
        "values, BE-Tree needs ten times as much, k-index more than there is, and OpIndex the same.",
        "see the variant",
        "index",
        ALL,
        _make_fig8_points,
        labels=LABELS,
        claims=(
            Leads(OPINDEX, (BETREE,), 2, where="a:"),
            Leads(OPINDEX, ("kindex",), 7, where="a:"),
            *(Grows(name, at_most=1, where="a:") for name in (OPINDEX, BETREE)),
            Grows(OPINDEX, 0.9, 1.1, where="b:"),
            Grows("kindex", at_least=1, where="b:"),
            Grows(BETREE, at_least=10, where="b:"),
        ),
    ),
    Experiment(
        "opindex-fig9",
        "OpIndex: building time",
        "OpIndex builds a thousand times as fast as BE-Tree and ten times as fast as k-index; without segments and "
        "signatures slightly faster.",
        "see the variant",
        "build",
        ALL_BUILDS,
        _make_fig9_points,
        labels=LABELS,
        claims=(
            Leads(OPINDEX, ("kindex",), 10),
            Leads(OPINDEX, (BETREE,), 1000),
            Leads(PLAIN, (OPINDEX,)),
            Leads(OPINDEX, (PLAIN,), 1 / 1.5),
        ),
    ),
    Experiment(
        "opindex-fig10",
        "OpIndex: matching time",
        "OpIndex is best and scales best, more than ten times as fast as k-index; signatures help with many "
        "subscriptions and large events; BE-Tree and k-index gain more from equality.",
        "see the variant",
        "match",
        ALL,
        _make_fig10_points,
        labels=LABELS,
        claims=FIG10_CLAIMS,
    ),
    Experiment(
        "opindex-fig11",
        "OpIndex: keywords",
        "On tweets OpIndex is 4 to 9 times as fast as BE-Tree and a hundred times as fast as k-index, and on articles "
        "the fastest; it is built a hundred times as fast as BE-Tree.",
        "subscriptions",
        "match",
        ALL_BUILDS,
        _make_fig11_points,
        more_metrics=("build",),
        labels=LABELS,
        claims=(
            Leads(OPINDEX, (BETREE,), 4, where="tweets"),
            Leads(OPINDEX, ("kindex",), 100, where="tweets"),
            Leads(OPINDEX, OTHERS, where="articles"),
            *claim_similar(OPINDEX, "kindex", metric="build", where="equal"),
            Leads(OPINDEX, ("kindex",), metric="build", where="between"),
            Leads(OPINDEX, (BETREE,), 100, metric="build"),
        ),
    ),
    Experiment(
        "opindex-fig12",
        "OpIndex: products",
        "OpIndex matches fastest, and its lead over BE-Tree grows with the size of subscriptions; it is built as fast "
        "as k-index, and orders of magnitude faster than BE-Tree.",
        "see the variant",
        "match",
        ALL_BUILDS,
        _make_fig12_points,
        more_metrics=("build",),
        labels=LABELS,
        claims=(
            Leads(OPINDEX, OTHERS),
            *(
                GrowsLess(OPINDEX, f"b: size, {name}", BETREE, f"b: size, {name}", where=f"b: size, {name}")
                for name in ("=", "IN")
            ),
            Grows(BETREE, at_least=1, where="b: size, IN"),
            *claim_similar(OPINDEX, "kindex", metric="build"),
            *(Leads(name, (BETREE,), 100, metric="build") for name in (OPINDEX, "kindex")),
        ),
    ),
    Experiment(
        "opindex-fig13",
        "OpIndex: CNF and DNF",
        "DNF scales better with the number of subscriptions, CNF with the number of clauses. Each form is measured in "
        "the engine for it, opindex or opindex-cnf; of the other form, many normal forms are over the budget.",
        "see the variant",
        "match",
        (OPINDEX, CNF),
        _make_fig13_points,
        labels=LABELS,
        claims=(
            GrowsLess(OPINDEX, "dnf", CNF, "cnf", where="a:"),
            GrowsLess(CNF, "cnf", OPINDEX, "dnf", where="b:"),
        ),
    ),
    Experiment(
        "opindex-fig14",
        "OpIndex: prefixes",
        "Prefixes cost more than equality, but less than 0.4 ms; longer ones cost the same or a little less.",
        "see the variant",
        "match",
        (OPINDEX, "counting", "scan"),
        _make_fig14_points,
        labels=LABELS,
        claims=(
            Grows(OPINDEX, at_least=1, where="a:"),
            StaysBelow(OPINDEX, 400, where="a:"),
            Grows(OPINDEX, 1 / 1.5, 1, where="b:"),
        ),
    ),
]
