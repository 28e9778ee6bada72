"""Do the experiments of A-Tree hold fixed what the paper holds fixed, and have its parameters?"""

import pytest
from bench.papers.atree import EXPERIMENTS
from bench.papers.atree_claims import VariesLess

from bench_support import make_row
from tellwhen.workloads import ABEGen

pytestmark = pytest.mark.late

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
TABLE_3 = {
    "a": (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000),
    "b": (1, 2, 3, 4, 5, 6),
    "c": (2, 4, 6, 8, 10, 12),
    "d": (0, 0.2, 0.4, 0.6, 0.8, 1),
    "e": (30, 100, 300, 1_000, 3_000, 10_000),
    "f": (3, 10, 30, 100, 300, 1_000),
    "h": (5, 10, 15, 20, 25, 30),
}


def test_at_full_size_the_parameters_are_those_of_table_3():
    work = ABEGen()
    assert work.operators == (0.4, 0.4, 0.1, 0.05, 0.05)
    defaults = (work.depth, work.children, work.skew, work.dimensions, work.cardinality, work.event_size)
    assert defaults == (3, 4, 0.6, 1_000, 100, 20)
    points = BY_NAME["atree-fig12"].points(1)
    for variant, values in TABLE_3.items():
        mine = [point for point in points if point.variant.startswith(f"{variant}:")]
        assert tuple(point.x for point in mine) == values
        assert all(point.count == (point.x if variant == "a" else 1_000_000) for point in mine)
    assert BY_NAME["atree-table4"].points(1)[0].count == BY_NAME["atree-table4"].points(1)[0].work.total == 1_392_196


@pytest.mark.parametrize("name", ["atree-fig8", "atree-fig9", "atree-fig12", "atree-conjunctions"])
def test_scaling_keeps_how_often_parts_occur(name):
    for full, scaled in zip(BY_NAME[name].points(1), BY_NAME[name].points(0.02), strict=True):
        assert full.key == scaled.key
        assert full.comparable
        assert scaled.comparable
        assert scaled.count == round(full.count * 0.02)
        if hasattr(full.work, "total"):
            assert scaled.work.total / full.work.total == pytest.approx(0.02, rel=1e-3)


def test_a_point_of_more_than_its_share_is_not_comparable():
    points = [point for point in BY_NAME["atree-fig11"].points(0.002) if point.variant.startswith("a:")]
    assert [point.comparable for point in points] == [False, False, True, True, True, True]


def test_every_claim_and_paper_value_is_about_a_point():
    for experiment in EXPERIMENTS:
        points = experiment.points(1)
        variants = {point.variant for point in points}
        keys = {(point.variant, point.x) for point in points}
        if points:
            assert all(any(claim.where in variant for variant in variants) for claim in experiment.claims)
            assert all((variant, x) in keys for variant, x, _ in experiment.paper_values)
            assert {engine for _, _, engine in experiment.paper_values} <= set(experiment.engines)
        for claim in experiment.claims:
            xs = [point.x for point in points if claim.where in point.variant]
            assert not points or any(isinstance(x, str) or claim.x_from <= x < claim.x_below for x in xs)


def test_which_value_varies_less():
    rows = [make_row("a", value, x) for x, value in enumerate((100, 101, 100))]
    rows += [make_row("b", value, x) for x, value in enumerate((100, 120, 100))]  # first and last are equal

    def judge(first, second, given=rows):
        [finding] = VariesLess(first, second).judge(given, "match")
        return finding

    assert judge("a", "b").verdict == "holds"
    assert judge("b", "a").verdict == "fails"
    assert judge("a", "a").verdict == "draw"
    assert judge("a", "b", rows[:4]).verdict == "not comparable"
    assert "a varies by 1.00%, b by 20.00%" in judge("a", "b").text
