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
)
from bench.judging import summarize_verdicts

from bench_support import make_row

pytestmark = pytest.mark.late


def test_who_leads():
    rows = [make_row("a", 1, x) for x in (1, 2)] + [make_row("b", 3, 1), make_row("b", 1.5, 2)]
    over = {"variant": "a: uniform", "x": 1, "engine": "c", "status": "over memory", "detail": ""}
    budget = {**over, "status": "over budget"}

    def verdict(claim, given=rows):
        return judge_worst(claim, given)

    assert verdict(Leads("a", ("b",))) == "holds"
    assert verdict(Leads("a", ("b",), factor=2)) == "fails"
    assert verdict(Leads("a", ("b",), factor=2, x_below=2)) == "holds"
    assert verdict(Leads("a", ("b",), where="b:")) == "not comparable"
    assert verdict(Leads("a", ("b", "c"))) == "not comparable"  # one of the rivals was not measured
    assert verdict(Leads("a", ("c",)), [*rows, over]) == "holds"
    assert verdict(Leads("a", ("c",)), [*rows, budget]) == "fails"  # it did not take part
    assert verdict(Leads("c", ("a",)), [*rows, over]) == "fails"  # it has no value
    lost = [make_row(name, 1 + (name == "a") * (x == 1), x) for name in "abde" for x in (1, 2)]
    assert verdict(Leads("a", ("b", "d", "e"), share=0.6), lost) == "fails"
    assert verdict(Leads("a", ("b",)), [make_row("a", 1.05, noise=0.1), make_row("b", 1)]) == "draw"
    assert verdict(Leads("a", ("b",)), [make_row("a", 1.3, noise=0.1), make_row("b", 1)]) == "fails"


def test_what_grows_and_what_stays_below():
    rows = [make_row("b", value, x) for x, value in ((3, 9), (1, 1), (2, 4))]
    over = {"variant": "a: uniform", "x": 4, "engine": "b", "status": "over time", "detail": ""}

    def verdict(claim, given=rows):
        return judge_worst(claim, given)

    assert verdict(Grows("b", at_least=8, at_most=10)) == "holds"
    assert verdict(Grows("b", at_most=5)) == "fails"
    assert verdict(Grows("b", at_most=20), [*rows, over]) == "fails"
    assert verdict(Grows("b", at_least=2), [*rows, over]) == "holds"
    assert verdict(Grows("z")) == "not comparable"
    assert verdict(StaysBelow("b", 9)) == "holds"
    assert verdict(StaysBelow("b", 8)) == "fails"
    assert verdict(StaysBelow("b", 9), [*rows, over]) == "fails"
    assert verdict(StaysBelow("z", 8)) == "not comparable"
    both = [*rows, make_row("a", 1, 1), make_row("a", 5, 3)]
    assert verdict(GrowsLess("a", "uniform", "b", "uniform"), both) == "holds"
    assert verdict(GrowsLess("b", "uniform", "a", "uniform"), both) == "fails"
    assert verdict(GrowsLess("a", "uniform", "b", "elsewhere"), both) == "not comparable"


def test_claims_about_the_end_of_an_axis_and_about_parts():
    rows = [make_row("a", 4, 1), make_row("a", 10, 2), make_row("b", 2, 1), make_row("b", 40, 2)]

    def verdict(claim, given=rows):
        return judge_worst(claim, given)

    assert verdict(Leads("a", ("b",))) == "fails"
    assert verdict(Leads("a", ("b",), 4, at_end=True)) == "holds"
    assert verdict(GrowsLinearly("a")) == "holds"
    assert verdict(GrowsLinearly("b")) == "fails"
    assert verdict(GrowsLinearly("a", x_below=2)) == "not comparable"
    assert [verdict(claim) for claim in claim_ranking("a", "b", "c", at_end=True)] == ["holds", "not comparable"]
    assert {verdict(claim) for claim in claim_similar("a", "b", 4)} == {"holds"}
    assert {verdict(claim) for claim in claim_similar("a", "b", 3)} == {"holds", "fails"}
    assert compute_lead(75) == 4
    parted = [make_row("t", 10, build=4, translate=3)]
    assert verdict(IncludesShare("t", "translate", 0.7, metric="build"), parted) == "holds"
    assert verdict(IncludesShare("t", "translate", 0.8, metric="build"), parted) == "fails"
    assert verdict(IncludesShare("a", "translate", 0.8, metric="build"), parted) == "not comparable"
    budget = {"variant": "a: uniform", "x": 3, "engine": "b", "status": "over budget", "detail": ""}
    assert verdict(Grows("b", at_least=50), [*rows, budget]) == "holds"


def test_noise_makes_a_draw():
    near = [make_row("a", 1.0, x, noise=0.03) for x in (1, 2)] + [make_row("b", 1.05, x, noise=0.03) for x in (1, 2)]
    assert judge_worst(Leads("a", ("b",)), near) == "draw"
    assert judge_worst(Leads("b", ("a",)), near) == "draw"
    assert judge_worst(Leads("a", ("b",), 1.2), near) == "fails"  # a factor is no draw
    assert judge_worst(Leads("a", ("b",)), [make_row("a", 1, noise=0), make_row("b", 1.01, noise=0)]) == "draw"
    assert judge_worst(Leads("a", ("b",)), [make_row("a", 1, noise=0), make_row("b", 1.05, noise=0)]) == "holds"
    up = [make_row("a", 1, 1, noise=0.03), make_row("a", 1.04, 2, noise=0.03)]
    assert judge_worst(Grows("a", at_most=1), up) == "draw"
    assert judge_worst(Grows("a", at_most=0.9), up) == "fails"
    both = [*up, make_row("b", 1, 1, noise=0.03), make_row("b", 1.02, 2, noise=0.03)]
    assert judge_worst(GrowsLess("b", "uniform", "a", "uniform"), both) == "draw"


def test_points_that_prove_nothing_are_left_out():
    rows = [make_row("a", 1, 1), make_row("b", 2, 1), make_row("a", 2, 2), make_row("b", 1, 2)]
    assert judge_worst(Leads("a", ("b",)), rows) == "fails"
    unsteady = [*rows[:2], {**rows[2], "status": "unsteady"}, rows[3]]
    assert judge_worst(Leads("a", ("b",)), unsteady) == "holds"
    scaled = [*rows[:2], {**rows[2], "comparable": False}, {**rows[3], "comparable": False}]
    assert judge_worst(Leads("a", ("b",)), scaled) == "holds"
    assert judge_worst(StaysBelow("a", 9), [make_row("a", 5, scale=0.1)]) == "not comparable"
    assert judge_worst(StaysBelow("a", 9), [make_row("a", 5, scale=1)]) == "holds"


def test_a_claim_about_several_rivals_has_a_finding_for_each():
    rows = [make_row("a", 1), make_row("b", 2), make_row("c", 0.5)]
    found = Leads("a", ("b", "c", "z")).judge(rows, "match")
    assert [(finding.subject, finding.verdict) for finding in found] == [
        ("a > b", "holds"), ("a > c", "fails"), ("a > z", "not comparable"),
    ]  # fmt: skip
    assert summarize_verdicts(found) == "1 hold, 1 fail, 1 not comparable"


def judge_worst(claim, rows):
    """Return the worst verdict of a claim."""
    verdicts = {finding.verdict for finding in claim.judge(rows, "match")}
    return next(verdict for verdict in ("fails", "not comparable", "draw", "holds") if verdict in verdicts)
