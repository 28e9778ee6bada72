"""Are claims judged correctly on rows of results?"""

import pytest
from bench.claims import (
    Grows,
    GrowsLess,
    GrowsLinearly,
    IncludesShare,
    Leads,
    StaysBelow,
    claim_ranking,
    claim_similar,
    compute_lead,
    judge_all,
)

from bench_support import make_row

pytestmark = pytest.mark.late


def test_who_leads():
    rows = [make_row("a", 1, x) for x in (1, 2)] + [make_row("b", 3, 1), make_row("b", 1.5, 2)]
    over = {"variant": "a: uniform", "x": 1, "engine": "c", "status": "over memory", "detail": ""}
    budget = {**over, "status": "over budget"}

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Leads("a", ("b",))) == "holds"
    assert verdict(Leads("a", ("b",), factor=2)) == "does not hold"
    assert verdict(Leads("a", ("b",), factor=2, x_below=2)) == "holds"
    assert verdict(Leads("a", ("b",), where="b:")) == "not comparable"
    assert verdict(Leads("a", ("b", "c"))) == "not comparable"  # one of the rivals was not measured
    assert verdict(Leads("a", ("c",)), [*rows, over]) == "holds"
    assert verdict(Leads("a", ("c",)), [*rows, budget]) == "does not hold"  # it did not take part
    assert verdict(Leads("c", ("a",)), [*rows, over]) == "does not hold"  # it has no value
    lost = [make_row(name, 1 + (name == "a") * (x == 1), x) for name in "abde" for x in (1, 2)]
    assert verdict(Leads("a", ("b", "d", "e"), share=0.6), lost) == "does not hold"
    assert verdict(Leads("a", ("b",)), [make_row("a", 1.05, noise=0.1), make_row("b", 1)]) == "holds"  # a draw
    assert verdict(Leads("a", ("b",)), [make_row("a", 1.3, noise=0.1), make_row("b", 1)]) == "does not hold"


def test_what_grows_and_what_stays_below():
    rows = [make_row("b", value, x) for x, value in ((3, 9), (1, 1), (2, 4))]
    over = {"variant": "a: uniform", "x": 4, "engine": "b", "status": "over time", "detail": ""}

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Grows("b", at_least=8, at_most=10)) == "holds"
    assert verdict(Grows("b", at_most=5)) == "does not hold"
    assert verdict(Grows("b", at_most=20), [*rows, over]) == "does not hold"
    assert verdict(Grows("b", at_least=2), [*rows, over]) == "holds"
    assert verdict(Grows("z")) == "not comparable"
    assert verdict(StaysBelow("b", 9)) == "holds"
    assert verdict(StaysBelow("b", 8)) == "does not hold"
    assert verdict(StaysBelow("b", 9), [*rows, over]) == "does not hold"
    assert verdict(StaysBelow("z", 8)) == "not comparable"
    both = [*rows, make_row("a", 1, 1), make_row("a", 5, 3)]
    assert verdict(GrowsLess("a", "uniform", "b", "uniform"), both) == "holds"
    assert verdict(GrowsLess("b", "uniform", "a", "uniform"), both) == "does not hold"
    assert verdict(GrowsLess("a", "uniform", "b", "elsewhere"), both) == "not comparable"


def test_claims_about_the_end_of_an_axis_and_about_parts():
    rows = [make_row("a", 4, 1), make_row("a", 10, 2), make_row("b", 2, 1), make_row("b", 40, 2)]

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Leads("a", ("b",))) == "does not hold"
    assert verdict(Leads("a", ("b",), 4, at_end=True)) == "holds"
    assert verdict(GrowsLinearly("a")) == "holds"
    assert verdict(GrowsLinearly("b")) == "does not hold"
    assert verdict(GrowsLinearly("a", x_below=2)) == "not comparable"
    assert [verdict(claim) for claim in claim_ranking("a", "b", "c", at_end=True)] == ["holds", "not comparable"]
    assert {verdict(claim) for claim in claim_similar("a", "b", 4)} == {"holds"}
    assert {verdict(claim) for claim in claim_similar("a", "b", 3)} == {"holds", "does not hold"}
    assert compute_lead(75) == 4
    parted = [make_row("t", 10, build=4, translate=3)]
    assert verdict(IncludesShare("t", "translate", 0.7, metric="build"), parted) == "holds"
    assert verdict(IncludesShare("t", "translate", 0.8, metric="build"), parted) == "does not hold"
    assert verdict(IncludesShare("a", "translate", 0.8, metric="build"), parted) == "not comparable"
    budget = {"variant": "a: uniform", "x": 3, "engine": "b", "status": "over budget", "detail": ""}
    assert verdict(Grows("b", at_least=50), [*rows, budget]) == "holds"


def test_all_claims_together():
    rows = [make_row("a", 1), make_row("b", 2)]
    yes, no, unknown = Leads("a", ("b",)), Leads("b", ("a",)), Leads("a", ("z",))
    assert judge_all((yes, no, unknown), rows, "match").verdict == "does not hold"
    assert judge_all((yes, unknown), rows, "match").verdict == "not comparable"
    assert judge_all((yes,), rows, "match").verdict == "holds"
    assert judge_all((), rows, "match").verdict == "not comparable"
