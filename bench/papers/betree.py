"""The experiments of BE-Tree (SIGMOD 2011), section 7.3.

The left sub-figures draw attributes uniformly, the right ones by Zipf.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.claims import Grows, Leads, Row, StaysBelow
from bench.engines import list_engines_of_paper
from bench.experiment import Experiment, Point, scale_count, vary
from tellwhen.workloads import BEGen, QGrams

DISTRIBUTIONS: dict[str, dict[str, Any]] = {"a: uniform": {"skew": 0.0}, "b: Zipf": {"skew": 1.0}}
ALL = list_engines_of_paper("betree")
OTHERS = ("scan", "counting", "kindex", "gryphon", "propagation")
CAPACITIES = ("betree:max_cap=5", "betree:max_cap=20", "betree:max_cap=160")
MILLION = 1_000_000
CARDINALITY_VARIANTS = {"a: cardinality, uniform": {"skew": 0.0}, "b: cardinality, Zipf": {"skew": 1.0}}


def _make_matching_points(scale: float) -> list[Point]:
    """Return the points of Figure 11: three levels of expressiveness, two distributions, five match probabilities."""
    points = []
    for letter, operators, skew in zip("abcdef", ("low", "low", "med", "med", "high", "high"), (0, 1) * 3, strict=True):
        for match in (0.0001, 0.001, 0.01, 0.03, 0.09):
            work = BEGen(operators=operators, skew=float(skew), match=match)  # type: ignore[arg-type]
            variant = f"{letter}: {operators}, {'Zipf' if skew else 'uniform'}"
            points.append(Point(variant, match, work, scale_count(MILLION, scale)))
    return points


def _make_size_points(scale: float) -> list[Point]:
    """Return the points of Figure 7, in which subscriptions and events grow together."""
    return [
        Point(variant, size, BEGen(size=size, event_size=event, **skew), scale_count(100_000, scale))
        for variant, skew in DISTRIBUTIONS.items()
        for size, event in ((5, 13), (14, 25), (28, 40), (46, 60), (66, 81))
    ]


def _make_text_points(scale: float) -> list[Point]:
    """Return the points of Figure 12: names and titles as sets of 3-grams."""
    sizes = {"names": (100_000, 250_000, 500_000, 760_000), "titles": (50_000, 100_000, 150_000, 250_000)}
    return [
        Point(f"{letter}: {of}", scale_count(count, scale), QGrams(of=of), scale_count(count, scale))  # type: ignore[arg-type]
        for letter, of in (("a", "names"), ("b", "titles"))
        for count in sizes[of]
    ]


def _make_table5_points(scale: float) -> list[Point]:
    return [
        Point("", name, work, scale_count(count, scale))
        for name, work, count in (
            ("uniform", BEGen(), MILLION),
            ("Zipf", BEGen(skew=1.0), MILLION),
            ("names", QGrams(), 760_000),
            ("titles", QGrams(of="titles"), 250_000),
        )
    ]


def _measure_changing_workload(scale: float) -> list[Row]:
    """Measure Figure 13: subscriptions change between uniform and Zipf; half of the events are of either kind."""
    from bench.adaptation import measure_replacement  # imported here, because only this figure needs it

    uniform, zipf = (BEGen(match=0.001, skew=skew) for skew in (0.0, 1.0))
    count = scale_count(100_000, scale)
    both = {"a: uniform, Zipf, uniform": (uniform, zipf), "b: Zipf, uniform, Zipf": (zipf, uniform)}
    return [
        row | {"variant": variant} for variant, works in both.items() for row in measure_replacement(works, count)[0]
    ]


make_match_figure = partial(Experiment, metric="match")

EXPERIMENTS = [
    make_match_figure(
        "betree-fig4",
        "BE-Tree: leaf capacity",
        "The capacity of leaves has little influence; Table 4 gives the best ones.",
        "match probability",
        engines=CAPACITIES,
        points=vary(BEGen, "match", (0.001, 0.01, 0.1), {"": {}}, 100_000),
        claims=(
            Leads("betree:max_cap=5", ("betree:max_cap=160",), x_below=0.01),
            Leads("betree:max_cap=160", ("betree:max_cap=5",), x_from=0.1),
        ),
    ),
    make_match_figure(
        "betree-fig5",
        "BE-Tree: number of subscriptions",
        "Time grows linearly; BE-Tree needs 80 % less than the next best when uniform, 63 % less when Zipf.",
        "subscriptions",
        engines=ALL,
        points=vary(BEGen, "count", (100_000, 300_000, 500_000, 700_000, MILLION), DISTRIBUTIONS, 0),
        claims=(Leads("betree", OTHERS, 2.7), Grows("betree", at_most=15)),
    ),
    make_match_figure(
        "betree-fig6",
        "BE-Tree: number of dimensions",
        "Only k-index and counting depend on the number of dimensions; few dimensions slow them down.",
        "dimensions",
        engines=ALL,
        points=vary(BEGen, "dimensions", (50, 100, 400, 1000, 1400), DISTRIBUTIONS, MILLION),
        claims=(Leads("betree", OTHERS), Grows("betree", 0.2, 2), Grows("counting", at_most=0.5, where="uniform")),
    ),
    make_match_figure(
        "betree-fig7",
        "BE-Tree: size of subscriptions and events",
        "BE-Tree scales with the number of predicates, 63 % (65 %) better than the next best.",
        "predicates per subscription",
        engines=ALL,
        points=_make_size_points,
        claims=(Leads("betree", OTHERS, 2.7),),
    ),
    make_match_figure(
        "betree-fig8",
        "BE-Tree: cardinality, and the width of ranges",
        "BE-Tree and Propagation are not affected by large domains; enumerating ranges fails from 6,000 values on.",
        "see the variant",
        log_x=True,
        engines=ALL,
        points=lambda scale: [
            *vary(BEGen, "cardinality", (48, 150, 1_500, 6_000, 150_000), CARDINALITY_VARIANTS, 100_000)(scale),
            *vary(
                BEGen,
                "range",
                (0.06, 0.12, 0.25, 0.5),
                {"c: width of ranges, uniform": {"skew": 0.0}, "d: width of ranges, Zipf": {"skew": 1.0}},
                100_000,
            )(scale),
        ],
        claims=(Leads("betree", ("propagation",), 2), Grows("betree", at_most=2, where="a:")),
    ),
    make_match_figure(
        "betree-fig9",
        "BE-Tree: selectivity of dimensions",
        "Fewer values per dimension slow Propagation and k-index down much, BE-Tree and Gryphon by at most 1 %.",
        "cardinality",
        engines=ALL,
        points=vary(BEGen, "cardinality", (10, 8, 6, 4, 2), DISTRIBUTIONS, 100_000, operators="min", equality=1.0),
        claims=(Leads("betree", OTHERS), Grows("betree", at_most=1.1, where="a:")),
    ),
    make_match_figure(
        "betree-fig10",
        "BE-Tree: share of equality",
        "More equality helps all engines, most of all Gryphon and Propagation, which are specialised for it.",
        "share of =",
        engines=ALL,
        points=vary(BEGen, "equality", (0.2, 0.4, 0.6, 0.8, 1.0), DISTRIBUTIONS, MILLION),
        claims=(Leads("betree", OTHERS), Grows("gryphon", at_most=0.7), Grows("propagation", at_most=0.7)),
    ),
    make_match_figure(
        "betree-fig11",
        "BE-Tree: match probability",
        "BE-Tree leads at every probability and expressiveness; below 1 % k-index comes next, above 3 % Propagation.",
        "match probability",
        log_x=True,
        engines=ALL,
        points=_make_matching_points,
        claims=(Leads("betree", OTHERS), Leads("betree", ("naive", "gryphon"), 10, where="high")),
    ),
    make_match_figure(
        "betree-fig12",
        "BE-Tree: names and titles",
        "On 3-grams BE-Tree is 37 % (names) and 51 % (titles) better than Gryphon, and 98 % better than Propagation.",
        "subscriptions",
        engines=ALL,
        points=_make_text_points,
        claims=(Leads("betree", ("gryphon",), 1.5), Leads("betree", ("propagation",), 50)),
    ),
    Experiment(
        "betree-fig13",
        "BE-Tree: a workload that changes",
        "Once the replaced subscriptions are back, matching costs as much as at the start.",
        "replaced",
        "predicates",
        ("betree",),
        rows=_measure_changing_workload,
        claims=(
            Grows("betree", at_most=1.2, where="a:"),
            Grows("betree", at_most=1.2, where="b:"),
            Grows("betree", at_most=1.2, where="a:", metric="match"),
            Grows("betree", at_most=1.2, where="b:", metric="match"),
        ),
        more_metrics=("match",),
    ),
    Experiment(
        "betree-table5",
        "BE-Tree: building time and size",
        "Building takes less than 5 s for a million subscriptions, and 84 bytes each.",
        "data",
        "build",
        ("betree", "counting", "scan"),
        _make_table5_points,
        claims=(StaysBelow("betree", 5), StaysBelow("betree", 84, metric="index")),
        more_metrics=("index",),
    ),
]
