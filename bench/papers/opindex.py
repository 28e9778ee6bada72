"""The experiments of OpIndex (VLDB 2014), sections 1 and 7."""

from __future__ import annotations

from typing import Any

from bench.claims import Grows, GrowsLess, Leads, StaysBelow
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Point, scale_count, vary
from tellwhen.workloads import Catalogue, Clauses, Keywords, Prefixes, Products

ALL = list_engines_of_paper("opindex")
OTHERS = ("betree", "kindex")
MILLION = 1_000_000
COUNTS = (MILLION, 10_000_000, 20_000_000, 30_000_000, 40_000_000)
SIZES = (4, 8, 12, 16, 20)
ONE_VARIANT: dict[str, dict[str, Any]] = {"": {}}


def _make_fig9_points(scale: float) -> list[Point]:
    return [
        *vary(Products, "count", COUNTS, {"a: subscriptions": {}}, 0)(scale),
        *vary(Products, "size", SIZES, {"b: size": {}}, MILLION)(scale),
    ]


def _make_fig10_points(scale: float) -> list[Point]:
    return [
        *_make_fig9_points(scale),
        *vary(Products, "event_size", (20, 40, 60, 80, 100, 120), {"c: event size": {}}, MILLION)(scale),
        *vary(Products, "equality", (0.2, 0.4, 0.6, 0.8, 1.0), {"d: share of =": {}}, MILLION)(scale),
        *vary(Products, "cardinality", (50, 200, 800, 3_200, 12_800), {"e: values": {}}, MILLION)(scale),
        *vary(Products, "skew", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), {"f: Zipf": {}}, MILLION)(scale),
    ]


def _make_fig8_points(scale: float) -> list[Point]:
    return [
        *vary(Products, "count", COUNTS, {"a: subscriptions": {}}, 0)(scale),
        *vary(Products, "cardinality", (50, 200, 800, 3_200, 12_800), {"b: values": {}}, MILLION)(scale),
    ]


def _make_fig11_points(scale: float) -> list[Point]:
    return [
        Point(
            f"{source}, {form}",
            scale_count(count, scale),
            Keywords(form=form, length=length),
            scale_count(count, scale),
        )
        for source, length in (("tweets", 5.4), ("articles", 123))
        for form in ("equal", "between")
        for count in (MILLION, 3_000_000, 5_000_000)
    ]


def _make_fig12_points(scale: float) -> list[Point]:
    return [
        *vary(Catalogue, "count", COUNTS, {"a: subscriptions": {}}, 0)(scale),
        *vary(Catalogue, "size", SIZES, {"b: size": {}}, MILLION)(scale),
    ]


def _make_fig13_points(scale: float) -> list[Point]:
    few = tuple(range(2, 11, 2))
    return [
        point
        for form in ("cnf", "dnf")
        for point in (
            *vary(Clauses, "count", COUNTS[:3], {f"a: subscriptions, {form}": {"form": form}}, 0)(scale),
            *vary(Clauses, "clauses", few, {f"b: clauses, {form}": {"form": form}}, MILLION)(scale),
        )
    ]


def _make_fig14_points(scale: float) -> list[Point]:
    return [
        *vary(Prefixes, "prefix", (0.2, 0.4, 0.6, 0.8, 1.0), {"a: share of prefixes": {}}, MILLION)(scale),
        *vary(Prefixes, "length", (2, 3, 4, 5), {"b: length of a prefix": {}}, MILLION)(scale),
    ]


EXPERIMENTS = [
    Experiment(
        "opindex-fig1",
        "OpIndex: tens of thousands of dimensions",
        "Inverted lists are built faster than BE-Tree and match faster; OpIndex is best in both.",
        "dimensions",
        "match",
        ALL,
        vary(Products, "dimensions", (20_000, 30_000, 40_000, 50_000, 60_000), ONE_VARIANT, MILLION),
        claims=(Leads("opindex", OTHERS),),
    ),
    Experiment(
        "opindex-fig7",
        "OpIndex: leaf capacity of BE-Tree in many dimensions",
        "With leaves of 150 instead of 5, building is 15 times as fast and matching 15 times as slow.",
        "dimensions",
        "match",
        ("betree:max_cap=5", "betree:max_cap=150"),
        vary(Products, "dimensions", (20_000,), ONE_VARIANT, MILLION),
        claims=(
            Leads("betree:max_cap=5", ("betree:max_cap=150",), 15),
            Leads("betree:max_cap=150", ("betree:max_cap=5",), 15, metric="build"),
        ),
    ),
    Experiment(
        "opindex-fig8",
        "OpIndex: memory",
        "BE-Tree needs twice as much, k-index seven times; OpIndex does not depend on the number of values.",
        "see the variant",
        "index",
        ALL,
        _make_fig8_points,
        claims=(
            Leads("opindex", ("betree",), 2),
            Leads("opindex", ("kindex",), 7),
            Grows("opindex", 0.8, 1.25, where="b:"),
        ),
    ),
    Experiment(
        "opindex-fig9",
        "OpIndex: building time",
        "OpIndex builds a thousand times as fast as BE-Tree and ten times as fast as k-index.",
        "see the variant",
        "build",
        ALL,
        _make_fig9_points,
        claims=(Leads("opindex", ("kindex",), 10), Leads("opindex", ("betree",), 1000)),
    ),
    Experiment(
        "opindex-fig10",
        "OpIndex: matching time",
        "OpIndex is always best, more than ten times as fast as k-index; signatures help it to scale.",
        "see the variant",
        "match",
        ALL,
        _make_fig10_points,
        claims=(
            Leads("opindex", ("kindex",), 10),
            Leads("opindex", ("betree", "opindex-plain")),
            Grows("opindex", 0.5, 2, where="e:"),
        ),
    ),
    Experiment(
        "opindex-fig11",
        "OpIndex: keywords",
        "On tweets OpIndex is 4 to 9 times as fast as BE-Tree and a hundred times as fast as k-index.",
        "subscriptions",
        "match",
        ALL,
        _make_fig11_points,
        more_metrics=("build",),
        claims=(
            Leads("opindex", ("betree",), 4, where="tweets"),
            Leads("opindex", ("kindex",), 30, where="tweets"),
            Leads("opindex", OTHERS),
        ),
    ),
    Experiment(
        "opindex-fig12",
        "OpIndex: products",
        "OpIndex matches fastest; its lead grows with the size of subscriptions.",
        "see the variant",
        "match",
        ALL,
        _make_fig12_points,
        more_metrics=("build",),
        claims=(Leads("opindex", OTHERS),),
    ),
    Experiment(
        "opindex-fig13",
        "OpIndex: CNF and DNF",
        "DNF scales better with the number of subscriptions, CNF with the number of clauses.",
        "see the variant",
        "match",
        ("opindex", "opindex-cnf"),
        _make_fig13_points,
        claims=(
            GrowsLess("opindex", "dnf", "opindex-cnf", "cnf", where="a:"),
            GrowsLess("opindex-cnf", "cnf", "opindex", "dnf", where="b:"),
        ),
        no_verdict_reason="Each form is measured in the engine for it; of the other form, many normal forms are "
        "over the budget.",
    ),
    Experiment(
        "opindex-fig14",
        "OpIndex: prefixes",
        "Prefixes cost more than equality, but less than 0.4 ms; longer ones cost a little less.",
        "see the variant",
        "match",
        ("opindex", "counting", "scan"),
        _make_fig14_points,
        claims=(
            Grows("opindex", at_least=1, where="a:"),
            Grows("opindex", at_most=1.2, where="b:"),
            StaysBelow("opindex", 400),
        ),
    ),
]
