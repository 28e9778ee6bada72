"""Events as conjunctions of predicates, compared with a search for a value that both sides accept."""

import datetime as dt
import random
from itertools import product

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.language.ast import And
from tellwhen.language.event_expressions import OPERATORS
from tellwhen.language.predicates import build_predicate

DAY = dt.date(2026, 1, 1)
HALF = np.datetime64("2026-01-01T00:00:00.0000005", "ns")  # between two microseconds
CONSTANTS = {
    "number": [1, 2, 2.5, 4],
    "string": ["", "a", "ab", "b"],
    "time": [DAY, dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 1), dt.date(2026, 1, 2)],
    "bool": [False, True],
}
UNIVERSE = {
    "number": [0, 1, 1.5, 2, 2.2, 2.5, 3, 4, 5],
    "string": ["".join(letters) for length in range(4) for letters in product("\0abc", repeat=length)],
    "time": [dt.datetime(2025, 1, 1), *CONSTANTS["time"], dt.datetime(2026, 1, 1, 5), dt.datetime(2027, 1, 1), HALF],
    "bool": [False, True],
}
"""Values among which there is a witness, if any two or three predicates with these constants are true together."""


def draw_predicate(rng, family):
    operator = rng.choice([operator for operator in OPERATORS if family == "string" or operator != "STARTS WITH"])
    count = 2 if operator.endswith("BETWEEN") else rng.randint(1, 3)
    constants = rng.choices(CONSTANTS[family], k=count)
    is_list = operator.endswith(("IN", "BETWEEN"))
    return build_predicate("x", operator, constants if is_list else constants[0])


@pytest.mark.parametrize("family", CONSTANTS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_event_satisfies_a_predicate_if_they_have_a_value_in_common(family, count):
    rng = random.Random(7)
    subscriptions = [draw_predicate(rng, family) for _ in range(60)]
    index = tw.Index().add_many(enumerate(subscriptions))
    impossible = 0
    for _ in range(60):
        expression = And.create(*(draw_predicate(rng, family) for _ in range(count)))
        witnesses = [value for value in UNIVERSE[family] if expression.evaluate({"x": value})]
        if not witnesses:
            impossible += 1
            with pytest.raises(tw.EventError, match="no value of x satisfies all predicates of the event"):
                expression.to_event()
            continue
        event = expression.to_event()
        expected = [
            n
            for n, predicate in enumerate(subscriptions)
            if any(predicate.evaluate({"x": value}) for value in witnesses)
        ]
        assert index.match(event) == expected, expression
        assert [n for n, predicate in enumerate(subscriptions) if predicate.evaluate(event)] == expected, expression
    assert 0 < impossible < 55


@pytest.mark.parametrize(
    ("expression", "event"),
    [
        ("x = 5", {"x": 5}),
        ("x < 5", {"x": tw.Interval(None, 5, "[)")}),
        ("x > 5 AND x <= 9", {"x": tw.Interval(5, 9, "(]")}),
        ("x >= 5 AND x <= 5", {"x": 5}),
        ("x <> 3", {"x": [tw.Interval(None, 3, "[)"), tw.Interval(3, None, "(]")]}),
        ("x IN ('a', 'b') AND x <> 'a'", {"x": "b"}),
        ("x STARTS WITH 'ab'", {"x": tw.Interval("ab", "ac", "[)")}),
        ("x STARTS WITH ''", {"x": tw.Interval("", None)}),
        ("sold", {"sold": True}),
        ("sold IN (TRUE, FALSE)", {"sold": [False, True]}),
        ("sold < TRUE AND n = 1", {"sold": False, "n": 1}),
        ("user.age > 30", {"user.age": tw.Interval(30, None, "(]")}),
        ("t > DATE '2026-01-01'", {"t": tw.Interval(DAY, None, "(]")}),
    ],
)
def test_events(expression, event):
    assert tw.parse(expression).to_event() == event


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x = 1 OR y = 2", "predicates joined by AND, without OR, XOR, XNOR and NOT; found x = 1 OR y = 2"),
        ("NOT x = 1", "found NOT x = 1"),
        ("x = NULL", "predicates joined by AND"),
        ("TRUE", "predicates joined by AND"),
        ("a + b > 1", r"a \+ b > 1: a predicate of an event compares an attribute with constants"),
        ("a < b", "a < b: a predicate of an event compares an attribute"),
        ("x LIKE 'a%'", "its operators are =, <>"),
        ("x IS NULL", "its operators are"),
        ("x > 1 AND x < 1", "no value of x satisfies"),
        ("x > 1 AND x < 'a'", "no value of x satisfies"),
        ("x BETWEEN 5 AND 1", "no value of x satisfies"),
        ("sold > TRUE", "no value of sold satisfies"),
        ("x = TRUE AND x = 1", "no value of x satisfies"),
    ],
)
def test_expressions_that_are_no_events(expression, message):
    with pytest.raises(tw.EventError, match=message):
        tw.parse(expression).to_event()


def test_the_paper_s_events_on_several_attributes():
    """An attribute that only the subscription tests is undefined; one that only the event has does not matter."""
    event = ((tw.col("price") < 500) & (tw.col("city") != "Rome")).to_event()
    index = tw.Index("betree").add("both", "price > 499 AND city NOT IN ('Rome')").add("other", "price > 1 AND age > 1")
    index.add("rome", "price > 1 AND city = 'Rome'").add("not rome", "NOT city = 'Rome'").add("all", "price < 600")
    index.add("at least", "price >= 500")
    assert index.match(event) == ["both", "not rome", "all"]
    assert index.match_many([event]).column("subscription_id").to_pylist() == ["both", "not rome", "all"]
    assert index.count(event) == 3
    assert "city is [below 'Rome', above 'Rome']" in str(index.explain("rome", event))


def test_many_predicates_on_one_attribute():
    """The time grows with the number of intervals, so that a service can read such an event at once."""
    event = tw.parse(" AND ".join(f"x <> {n}" for n in range(1_000))).to_event()
    assert len(event["x"]) == 1_001
    odd = ", ".join(str(n) for n in range(1, 4_000, 2))
    assert len(tw.parse(f"x NOT IN ({odd}) AND x IN ({odd}, 2, 4)").to_event()["x"]) == 2
