"""Warnings of lint are compared with the oracle."""

import random
import time

import pytest

import tellwhen as tw
from support import make_seed_params


@pytest.mark.parametrize("seed", make_seed_params(1, 8))
def test_what_lint_says_is_so(seed):
    rng = random.Random(seed)
    values = [None, 0, 1, 2, 3, 5, 8, "a", "ab", "b", True, False]
    names = "xyz"

    def predicate():
        name, number = rng.choice(names), rng.randint(0, 6)
        return rng.choice([
            f"{name} > {number}", f"{name} < {number}", f"{name} = {number}", f"{name} IN ({number}, {number + 2})",
            f"{name} BETWEEN {number} AND {rng.randint(0, 6)}", f"{name} <> {number}", f"{name} STARTS WITH 'a'",
            f"{name} = 'ab'", f"NOT {name} = {number}", f"{name} IS NULL", f"{name} NOT IN ({number})", "NULL", name,
            f"{name} LIKE 'a%'", f"{name} >= 'a'", "TRUE",
        ])  # fmt: skip

    def expression(depth):
        if not depth:
            return predicate()
        parts = [expression(depth - 1) for _ in range(rng.randint(1, 3))]
        return "(" + rng.choice([" AND ", " OR ", " OR ", " XOR "]).join(parts) + ")"

    texts = {n: expression(rng.randint(0, 3)) for n in range(300)}
    events = [{name: rng.choice(values) for name in names} for _ in range(150)]
    found = tw.validate(texts).get_findings("warning")
    kinds = set()
    for one in found:
        truths = [tw.parse(texts[one.id]).evaluate(event) for event in events]
        reason = one.reason
        if "never true" in reason or "the expression true" in reason:
            assert True not in truths, texts[one.id]
        elif "always true" in reason:
            assert set(truths) == {True}
        elif "can be deleted" in reason:
            narrow, wide = reason.removesuffix(" is true whenever it is").split(" can be deleted: ")
            for event in events:
                assert tw.parse(narrow).evaluate(event) is not True or tw.parse(wide).evaluate(event) is True, reason
        elif "equivalent" in reason:
            other = tw.parse(texts[int(reason.rsplit(" ", 1)[1])])
            assert truths == [other.evaluate(event) for event in events]
        kinds.add(reason.split(" ")[-1])
    assert len(kinds) > 4


def test_lint_takes_no_longer_than_it_should():
    branches = " OR ".join("(" + " AND ".join([*(f"x <> {m}" for m in range(50)), f"y = {b}"]) + ")" for b in range(64))
    wide = " AND ".join(f"x IN ({', '.join(str(n * m) for n in range(60))})" for m in range(1, 16))
    tw.validate({"a": "x > 1 AND x < 3 OR x > 2 AND y = 1 OR y = 2"})  # which compiles the kernels
    begin = time.process_time()  # whatever else the machine does
    tw.validate({"a": branches, "b": wide})
    assert time.process_time() - begin < 5


def test_what_differs_in_type_is_not_the_same():
    report = tw.validate({"a": "x BETWEEN 0 AND 1", "b": "x BETWEEN FALSE AND TRUE", "c": "x = 1", "d": "x = TRUE"})
    assert report.findings == []


def test_an_exclusion_that_says_what_it_means_of_missing_values_gets_no_hint():
    report = tw.validate({
        "a": "NOT (x IS NOT NULL AND x IN (1, 2))",
        "b": "x IS NULL OR NOT x IN (3)",
        "c": "x IS NULL AND NOT x = 5",
        "d": "y IS NULL OR NOT x IN (6)",
        "long": f"NOT x IN ({', '.join(map(str, range(500)))})",
    })  # fmt: skip
    assert [one.id for one in report.get_findings("hint")] == ["c", "d", "long"]
    assert len(report.get_findings("hint")[-1].reason) < 280


def test_lists_may_ask_for_what_no_single_value_has():
    report = tw.validate({"a": "t HAS ALL ('a', 'b') AND t HAS NONE ('c')", "b": "t HAS ANY ('a') AND t HAS ANY ('b')"})
    assert report.findings == []
