"""Intervals of values in events: their ends, and the oracle and an engine compared with a search among all values."""

import datetime as dt
import math
import random
from functools import cache
from itertools import product

import pytest

import tellwhen as tw
from tellwhen.language.evaluation import is_satisfied_by_value
from tellwhen.language.values import Value

BOUNDS = ["[]", "[)", "(]", "()"]
CONSTANTS = ["", "a", "ab", "b"]
ENDS = [*CONSTANTS, "a\0", "aa", "ab\0", "abb", "ba"]
UNIVERSE = sorted("".join(letters) for length in range(5) for letters in product("\0abc", repeat=length))
"""All strings that a search tries: if any string between two ends satisfies a predicate, then one of these does."""

PREDICATES = [
    *(f"x {operator} '{c}'" for operator in ("=", "<>", "<", "<=", ">", ">=", "STARTS WITH") for c in CONSTANTS),
    *(f"x {operator} '{c}%'" for operator in ("LIKE", "NOT LIKE") for c in CONSTANTS),
    *(f"x {operator} '{c}'" for operator in ("LIKE", "NOT LIKE") for c in CONSTANTS),
    *(f"x {operator} {some}" for operator in ("IN", "NOT IN") for some in ("('a')", "('a', 'b')", "('', 'ab', 'b')")),
    *(f"x {operator} '{c}' AND '{d}'" for operator in ("BETWEEN", "NOT BETWEEN") for c in CONSTANTS for d in CONSTANTS),
]  # fmt: skip


@cache
def make_intervals():
    """Return all intervals between the ends, with the strings of the universe that each contains."""
    found = []
    for low, high, bounds in product([None, *ENDS], [None, *ENDS], BOUNDS):
        inside = {
            text
            for text in UNIVERSE
            if (low is None or text > low or (text == low and bounds[0] == "["))
            and (high is None or text < high or (text == high and bounds[1] == "]"))
        }
        if (low is None and high is None) or not inside:
            with pytest.raises(tw.EventError):
                tw.Interval(low, high, bounds)
        else:
            found.append((tw.Interval(low, high, bounds), inside))
    return found


@cache
def find_satisfying(predicate):
    """Return the strings of the universe that satisfy a predicate."""
    return {text for text in UNIVERSE if is_satisfied_by_value(predicate, Value("string", text))}


def test_predicates_on_intervals_of_strings():
    intervals = make_intervals()
    assert len(intervals) > 150
    predicates = [tw.parse(text) for text in PREDICATES]
    # A few constants at a time, so that ends of intervals are constants, next to one, or in a gap between two.
    indexes = [tw.Index("scan").add_many(enumerate(predicates))]
    indexes += [tw.Index("scan").add(n, predicate) for n, predicate in enumerate(predicates)]
    for interval, inside in intervals:
        expected = [not inside.isdisjoint(find_satisfying(predicate)) for predicate in predicates]
        assert [predicate.evaluate({"x": interval}) for predicate in predicates] == expected, interval
        matches = [n for n, is_true in enumerate(expected) if is_true]
        assert indexes[0].match({"x": interval}) == matches, interval
        assert [n for n, index in enumerate(indexes[1:]) if index.match({"x": interval})] == matches, interval


def test_negated_predicates_on_intervals_of_strings():
    predicates = [tw.parse(f"NOT {text}") for text in PREDICATES]
    index = tw.Index("scan").add_many(enumerate(predicates))
    for interval, inside in make_intervals():
        expected = [n for n, one in enumerate(predicates) if inside.isdisjoint(find_satisfying(one.arg))]
        assert index.match({"x": interval}) == expected, interval


NEIGHBOURS = [
    (0, 5e-324), (1, math.nextafter(1, 2)), (-1, math.nextafter(-1, 0)), (0.5, math.nextafter(0.5, 1)),
    (2**52, 2**52 + 1), (2**53, 2**53 + 1), (2.0**53, 2**53 + 1), (-(2**52) - 1, -(2**52)),
    (-(2**52), -(2**52) + 0.5), (2**62 - 1, 2.0**62), (-(2.0**62), -(2**62) + 1),
    (1e300, math.nextafter(1e300, math.inf)), (1.7976931348623157e308, math.inf), (-math.inf, -1.7976931348623157e308),
]  # fmt: skip


@pytest.mark.parametrize(("number", "following"), NEIGHBOURS)
def test_an_excluded_end_is_the_next_number(number, following):
    assert tw.Interval(number, None, "(]") == tw.Interval(following, None)
    assert tw.Interval(None, following, "[)") == tw.Interval(None, number)
    with pytest.raises(tw.EventError, match="no value lies in"):
        tw.Interval(number, following, "()")
    assert tw.Interval(number, following, "(]").low_key == tw.Interval(number, following, "(]").high_key


def test_an_excluded_end_is_the_next_nanosecond():
    day = dt.datetime(2026, 1, 1)
    after = tw.Interval(day, day + dt.timedelta(microseconds=1), "()")
    assert (after.high_key - after.low_key, after.low_key % 1000) == (998, 1)
    for engine in ("scan", "auto"):
        index = tw.Index(engine).add("at", "t = DATE '2026-01-01'").add("after", "t > DATE '2026-01-01'")
        assert index.match({"t": after}) == ["after"]


@pytest.mark.parametrize("family", ["number", "time"])
def test_excluded_ends_on_both_domains_of_an_attribute(family):
    """Integers beyond 2**52 live on one domain of an attribute and fractions on the other; a time has one domain."""
    numbers = [0, 1, 2.5, 3, 2**52 - 1, 2**52, 2**53 + 1, 2**62 - 1, 1e300, -1, -(2**53) - 1]
    times = [dt.datetime(2026, 1, 1) + dt.timedelta(microseconds=n) for n in (0, 1, 2, 5)]
    constants = numbers if family == "number" else times
    index, expressions = tw.Index("scan"), {}
    for n, constant in enumerate(constants):
        for operator in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            expressions[f"{n} {operator}"] = getattr(tw.col("x"), operator)(constant)
    index.add_many(expressions)
    rng = random.Random(1)
    for _ in range(300):
        low, high = sorted(rng.choices(constants, k=2))
        try:
            event = {"x": tw.Interval(low, high, rng.choice(BOUNDS))}
        except tw.EventError:
            continue
        assert index.match(event) == [id_ for id_, e in expressions.items() if e.evaluate(event)], event


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((1, 2, "[["), r"bounds of an Interval are one of \[\] \[\) \(\] \(\), not '\[\['"),
        ((None, None), "needs a low or a high end"),
        ((1, "a"), "two numbers, two times or two strings, not 1 and 'a'"),
        ((True, None), "two numbers, two times or two strings"),
        (("\ud800", None), "two numbers, two times or two strings"),
        ((2, 1), r"no value lies in \[2, 1\]"),
        ((5, 5, "[)"), r"no value lies in \[5, 5\)"),
        ((math.inf, None, "(]"), "no number is greater than infinity"),
        ((None, "", "[)"), "no value lies in"),
    ],
)
def test_wrong_intervals(ends, message):
    with pytest.raises(tw.EventError, match=message):
        tw.Interval(*ends)


def test_equal_intervals():
    assert tw.Interval(1, 2) == tw.Interval(1.0, 2, "[]")
    assert hash(tw.Interval(1, 2)) == hash(tw.Interval(1.0, 2.0))
    assert tw.Interval(1, 2) != tw.Interval(1, 2, "[)")
    assert tw.Interval("a", None) != tw.Interval("b", None)
    assert eval(repr(tw.Interval("a", "b", "(]")), {"Interval": tw.Interval}) == tw.Interval("a", "b", "(]")


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (tw.Interval(1, 2, "()"), "above 1 and below 2"),
        (tw.Interval(1, 2, "(]"), "above 1 and at most 2"),
        (tw.Interval("a", None, "(]"), "above 'a'"),
        (tw.Interval(None, "b", "[)"), "below 'b'"),
    ],
)
def test_excluded_ends_as_text(interval, text):
    assert text in str(tw.parse("x = 1").explain({"x": interval}))


def test_profiles_and_lists_of_intervals():
    event = {"x": [tw.Interval("a", "b"), tw.Interval("d", "e", "()"), 5], "y": tw.Interval("a", None)}
    assert tw.Profile.from_events([event]).sample()
    index = tw.Index(profile=tw.Profile.from_events([event] * 10)).add("d", "x > 'd' AND x < 'd' AND y = 'z'")
    assert index.optimize_for([event]).rebuild().match(event) == ["d"]
