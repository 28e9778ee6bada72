"""Does text read as it should, and does nothing hang, crash or slip through?"""

import datetime as dt
import functools
import operator
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from strategies import TEXT, expressions
from tellwhen.language import limits
from tellwhen.language.ast import And, Or, Predicate, Xnor, Xor

FULL_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=400)
@given(expressions(names=FULL_NAMES))
def test_text_and_json_read_back(expression):
    assert tw.parse(str(expression)) == expression
    assert tw.from_json(expression.to_json()) == expression
    assert hash(tw.parse(str(expression))) == hash(expression)


@settings(max_examples=400)
@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["a", "'x'", "1", "-", "(", ")", "AND", "or", "NOT", "IN", "BETWEEN", "LIKE", ",", "=", "<", "IS", "NULL", "XOR",
     "STARTS", "WITH", "MATCHES", "DATE", "'2026-01-01'", "TRUE", "ESCAPE", '"', "'", "\0", "\ud800", "é", "1e5", "."]
), max_size=20).map(" ".join))  # fmt: skip
def test_any_text_parses_or_says_where_it_does_not(text):
    try:
        expression = tw.parse(text)
    except tw.ParseError as error:
        assert 0 <= error.position <= len(text)
        assert str(error)
    else:
        assert tw.parse(str(expression)) == expression


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["and", "or", "not", "xor", "attribute", "operator", "value", "escape", "date", "timestamp", "zzz"]
    ), inner, max_size=4),
)  # fmt: skip


@settings(max_examples=300)
@given(JSON)
def test_any_json_reads_or_is_refused(form):
    try:
        expression = tw.from_json(form)
    except tw.TellwhenError as error:
        assert str(error)
    else:
        assert tw.from_json(expression.to_json()) == expression


def test_precedence():
    a, b, c, d = (Predicate(name, "=", True) for name in "abcd")
    assert tw.parse("a OR b AND c") == Or.create(a, And.create(b, c))
    assert tw.parse("a XOR b AND c OR d") == Or.create(Xor.create(a, And.create(b, c)), d)
    assert tw.parse("NOT a AND b") == And.create(~a, b)
    assert tw.parse("NOT (a AND b)") == ~And.create(a, b)
    assert tw.parse("a XOR b XNOR c XOR d") == Xor.create(Xnor.create(Xor.create(a, b), c), d)
    assert tw.parse("(a AND b) AND (c AND d)") == And.create(a, b, c, d)
    assert tw.parse("a OR b AND c OR d") == Or.create(a, And.create(b, c), d)


def test_literals():
    def constant(text):
        return tw.parse(f"x = {text}").operand

    assert constant("12") == 12
    assert type(constant("12")) is int
    assert constant("-1.5e3") == -1500.0
    assert constant("+.5") == 0.5
    assert constant("1.") == 1.0
    assert constant("'it''s'") == "it's"
    assert constant("DATE '2026-01-31'") == dt.date(2026, 1, 31)
    assert constant("timestamp '2026-01-31 12:00:00.5'") == dt.datetime(2026, 1, 31, 12, 0, 0, 500000)
    assert constant("TIMESTAMP '2026-01-31T12:00:00+02:00'") == dt.datetime(2026, 1, 31, 10)
    assert constant("true") is True


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "found the end"),
        ("price >", 7, "expected a constant"),
        ("(a = 1", 0, r"no matching \)"),
        ("a = 1)", 5, r"no matching \("),
        ("a = 'x", 4, "never closed"),
        ("a = 1 b = 2", 6, "expected AND"),
        ("a IN (,)", 6, "expected an attribute, a constant"),
        ("a IN (1 2)", 8, "comma"),
        ("a IN (1, 'x')", 2, "constants of one type"),
        ("a BETWEEN 1 OR 2", 12, "expected AND"),
        ("a = AND", 4, "quote it"),
        ('a = "b"', 4, "single quotes"),
        ("5", 1, "expected an operator after 5"),
        ("a + b", 5, "compare it with a value"),
        ("a + > 3", 4, "expected an attribute"),
        ("(a + 1 > 3", 0, r"no matching \)"),
        ("a > (3", 6, r"expected \)"),
        ("foo(a) = 1", 0, "no function foo; the functions are abs"),
        ("lowr(a) = 'x'", 0, "did you mean lower"),
        ("lower(a, b) = 'x'", 0, "takes 1 argument, not 2"),
        ("at > now()", 5, "send the current time"),
        ("date_part('eon', at) = 1", 0, "one of year, quarter"),
        ("CAST(a AS blob) = 1", 10, "expected a type"),
        ("a HAS SOME (1)", 6, "ANY, ALL or NONE"),
        ("a HAS ANY (b)", 13, "list of constants"),
        ("items[price > 5", 15, r"expected AND, OR, XOR, XNOR or \]"),
        ("ip IN CIDR '10.0.0/8/8'", 3, "expected a network"),
        ("a == 1", 2, "expected =, found =="),
        ("a NOT CONTAINS 'x'", 6, "NOT before the attribute"),
        ("a MATCHES '('", 2, "RE2"),
        ("a LIKE 'x!y' ESCAPE '!'", 2, "ESCAPE"),
        ("a = 4611686018427387904", 4, "decimal point"),
        ("a = 1e999", 4, "too large"),
        ("a = 12abc", 4, "expected a number"),
        ("a = DATE 'soon'", 9, "expected a DATE such as"),
        ("a = TIMESTAMP '2026-01-01 00:00:00.1234567'", 14, "expected a TIMESTAMP such as"),
        ("a = 1 AND \0", 10, "expected an attribute"),
        ("a = '\0'", 4, "must not contain NUL"),
        ("a = '\ud800'", 5, "surrogate"),
        ('"" = 1', 0, "expected an attribute"),
    ],
)
def test_errors_show_the_place(text, position, words):
    with pytest.raises(tw.ParseError, match=words) as caught:
        tw.parse(text)
    assert caught.value.position == position
    caret = str(caught.value).splitlines()
    assert not text or caret[2].index("^") == position + 2


HOSTILE = {
    "parentheses": "(" * 100_000,
    "balanced parentheses": "(" * 100_000 + "a = 1" + ")" * 100_000,
    "negations": "NOT " * 100_000 + "a",
    "an open string": "a = '" + "x" * 1_000_000,
    "many quotes": "a = " + "'" * 999_999,
    "pairs of quotes": "a = 'x" + "''x" * 300_000,
    "a long string": "a = '" + "x" * 900_000 + "'",
    "a long number": "a = " + "9" * 900_000,
    "a long float": "a = 0." + "9" * 900_000,
    "a long name": "a" * 900_000 + " = 1",
    "many predicates": " AND ".join(["a = 1"] * 60_000),
    "alternating": " OR ".join(["a = 1 AND b = 2"] * 30_000),
    "too long altogether": "a" * 2_000_000,
    "a long pattern": "a MATCHES '" + "(a|b)*" * 1000 + "'",
    "a huge repetition": "a MATCHES '((a{1000}){1000}){1000}'",
    "dots": "." * 1_000_000,
    "minus signs": "a = " + "-" * 500_000,
    "spaces behind": "a = 1 AND" + " " * 900_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_quickly(text):
    start = time.process_time()
    with pytest.raises(tw.ParseError):
        tw.parse(text)
    assert time.process_time() - start < 5


def test_white_space_is_cheap():
    start = time.process_time()
    assert tw.parse(" " * 500_000 + "a = 1" + " " * 500_000) == tw.parse("a = 1")
    assert time.process_time() - start < 5


def deeper(frames, call):
    """Make the call at that depth of the stack."""
    return call() if frames == 0 else deeper(frames - 1, call)


@pytest.mark.parametrize(
    "text",
    ["(a = 1 AND (b = 2 OR (" * 33 + "c" + ")))" * 33, "NOT " * 99 + "a", "a XOR (b AND (" * 49 + "c" + "))" * 49],
)
def test_deep_expressions_in_deep_programs(text):
    """An expression within the limits must not overflow the stack of a caller that is deep already."""

    def use():
        expression = tw.parse(text)
        assert tw.parse(str(expression)) == expression == tw.from_json(expression.to_json())
        assert hash(expression) == hash(tw.parse(text))
        assert str(tw.Index().add(1, expression)[1].explain({"a": 1}))

    deeper(450, use)


def test_large_but_allowed():
    chain = tw.parse(" AND ".join(f"a{i} = {i}" for i in range(limits.PREDICATES_MAX // 2)))
    assert chain.size == limits.PREDICATES_MAX // 2
    assert tw.parse(str(chain)) == chain
    deep = tw.parse("NOT " * (limits.DEPTH_MAX - 1) + "a")
    assert tw.parse(str(deep)) == deep
    assert deep.evaluate({"a": True}) is False
    xors = tw.parse(" XOR ".join(f"a{i} = 1 AND b{i} = 1" for i in range(2000)))
    event = {f"{name}{i}": 1 for i in range(2000) for name in "ab"}
    index = tw.Index().add("even", xors).add("odd", ~xors)
    assert index.match(event) == ["odd"]
    assert index.match(event | {"a7": 2}) == ["even"]


def test_a_tree_too_deep_is_refused_when_it_is_built():
    expression = tw.col("a") == 1
    with pytest.raises(tw.LimitError):
        for _ in range(1000):
            expression = ~expression
    nested = {"not": True}
    for _ in range(500):
        nested = {"not": nested}
    with pytest.raises(tw.LimitError):
        tw.from_json(nested)
    with pytest.raises(tw.ParseError):
        tw.from_json('{"not":' * 100_000)


def test_nested_xor_does_not_blow_up():
    text = "a0"
    for i in range(1, 45):
        text = f"a{i} XOR (b{i} AND ({text}))"
    index = tw.Index().add(1, text)
    event = {f"{name}{i}": True for i in range(45) for name in "ab"}
    assert (index.match(event) == [1]) == (tw.parse(text).evaluate(event) is True)


def test_python_mistakes_are_caught():
    with pytest.raises(TypeError, match="& |"):
        bool(tw.col("a") == 1)
    with pytest.raises(TypeError, match="& |"):
        tw.col("a") == 1 and tw.col("b") == 2
    for wrong in (None, float("nan"), float("inf"), 2**62, b"x", object(), [1], "\ud800", "a\0b"):
        with pytest.raises(tw.ExpressionError):
            tw.col("a") == wrong  # noqa: B015
    with pytest.raises(tw.ExpressionError):
        tw.col("a").isin("abc")
    with pytest.raises(tw.ExpressionError):
        tw.col("a").between(1, "x")
    with pytest.raises(TypeError):
        (tw.col("a") == 1) & 5
    with pytest.raises(tw.ExpressionError):
        tw.col("")


def test_one_is_not_true():
    assert tw.parse("a = 1") != tw.parse("a = TRUE")
    assert tw.parse("a = 1") != tw.parse("a = 1.0")
    assert tw.parse("a IN (1, 0)") != tw.parse("a IN (TRUE, FALSE)")


def test_a_timestamp_finer_than_microseconds_is_refused():
    for text in ("2026-01-01 00:00:00.123456789", "2026-01-01 00:00:00,123456789"):
        with pytest.raises(tw.ParseError):
            tw.parse(f"t = TIMESTAMP '{text}'")
        with pytest.raises(tw.ExpressionError):
            tw.from_json({"attribute": "t", "value": {"timestamp": text}})
    assert str(tw.parse("t = TIMESTAMP '2026-01-01 00:00:00,5000000'")) == "t = TIMESTAMP '2026-01-01 00:00:00.500000'"


NUMPY_TIMES = [
    ("2026", "Y", dt.date(2026, 1, 1)),
    ("2026-03", "M", dt.date(2026, 3, 1)),
    ("1600-02", "M", dt.date(1600, 2, 1)),
    ("2026-01-29", "W", dt.date(2026, 1, 29)),
    ("2026-01-31", "D", dt.date(2026, 1, 31)),
    ("2026-01-31T10", "h", dt.datetime(2026, 1, 31, 10)),
    ("2026-01-31T10:11", "m", dt.datetime(2026, 1, 31, 10, 11)),
    ("1969-12-31T23:59:59", "s", dt.datetime(1969, 12, 31, 23, 59, 59)),
    ("2026-01-31T10:11:12.123", "ms", dt.datetime(2026, 1, 31, 10, 11, 12, 123000)),
    ("2026-01-31T10:11:12.123456", "us", dt.datetime(2026, 1, 31, 10, 11, 12, 123456)),
    ("2026-01-31T10:11:12.123456", "ns", dt.datetime(2026, 1, 31, 10, 11, 12, 123456)),
    ("1970-01-01T00:00:00.000001", "ps", dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
]


@pytest.mark.parametrize(("text", "unit", "meant"), NUMPY_TIMES)
def test_numpy_times_of_every_unit(text, unit, meant):
    value = np.datetime64(text, unit)
    expression = tw.col("t") == value
    assert expression == (tw.col("t") == meant)
    assert tw.parse(str(expression)) == expression
    index = tw.Index().add_many({"=": expression, "<": tw.col("t") < meant, ">": tw.col("t") > meant})
    assert index.match({"t": value}) == ["="]
    assert index.match({"t": [value, np.datetime64("NaT", "ns")]}) == ["="]
    assert index.match({"t": tw.Interval(value, None)}) == ["=", ">"]


def test_numpy_times_are_exact_or_refused():
    late = np.datetime64("2026-01-01T00:00:00.000000001")
    with pytest.raises(tw.ExpressionError, match="is finer"):
        tw.col("t") > late  # noqa: B015
    assert tw.parse("t > TIMESTAMP '2026-01-01 00:00:00'").evaluate({"t": late}) is True
    for far in (np.datetime64(2**62, "Y"), np.datetime64("10000-01"), np.datetime64(-(2**62), "D")):
        with pytest.raises(tw.ExpressionError, match="years 1 to 9999"):
            tw.col("t") == far  # noqa: B015
        assert tw.parse("t > DATE '9999-12-31'").evaluate({"t": far}) is bool(far > np.datetime64("1970"))
        assert (tw.Index().add(1, "t > DATE '9999-12-31'").match({"t": far}) == [1]) == (far > np.datetime64("1970"))
    for unit in ("D", "ns"):
        with pytest.raises(tw.ExpressionError, match="NaT"):
            tw.col("t") == np.datetime64("NaT", unit)  # noqa: B015
        assert tw.parse("t IS NULL").evaluate({"t": np.datetime64("NaT", unit)}) is True


def test_a_long_chain_is_built_in_time():
    start = time.process_time()
    chain = functools.reduce(operator.or_, [tw.col("x") == i for i in range(10_000)])
    assert time.process_time() - start < 2
    assert (chain.depth, chain.size, len(chain.args)) == (1, 10_000, 10_000)
    assert tw.parse(str(chain)) == chain


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("ward = ‘ICU’", "expected straight quotes", 7),
        ("ward IN (“ICU”)", "expected straight quotes", 9),
        ("ward IS NOT 'ICU'", "expected NULL after IS (compare other values with = and <>), found 'ICU'", 12),
    ],
)
def test_what_people_mean_is_told(text, message, position):
    with pytest.raises(tw.ParseError) as raised:
        tw.parse(text)
    assert (message in raised.value.message, raised.value.position) == (True, position)
