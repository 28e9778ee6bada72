"""Parsing of text: round trips, precedence, error positions, and hostile or very large input."""

import datetime as dt
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from strategies import expressions
from tellwhen.language import limits
from tellwhen.language.ast import And, Or, Predicate, Xnor, Xor
from tellwhen.language.limits import DEPTH_MAX

TOO_DEEP = 2 * DEPTH_MAX


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
        ("5", 1, "5 is not a condition; compare it with an attribute"),
        ("a + b", 5, "compare it with a value"),
        ("a + > 3", 4, "expected an attribute"),
        ("(a + 1 > 3", 0, r"no matching \)"),
        ("a > (3", 6, r'expected "\)"'),
        ("foo(a) = 1", 0, "no function foo; the functions are abs"),
        ("lowr(a) = 'x'", 0, "did you mean lower"),
        ("lower(a, b) = 'x'", 0, "takes 1 argument, not 2"),
        ("at > now()", 5, "send the current time"),
        ("date_part('eon', at) = 1", 10, "one of year, quarter"),
        ("CAST(a AS blob) = 1", 10, "expected a type"),
        ("a HAS SOME (1)", 6, "ANY, ALL or NONE"),
        ("a HAS ANY (b)", 13, "list of constants"),
        ("items[price > 5", 15, r'expected AND, OR, XOR, XNOR or "\]"'),
        ("ip IN CIDR '10.0.0/8/8'", 11, "expected a network"),
        ("a == 1", 2, 'expected "=", found "=="'),
        ("a NOT CONTAINS 'x'", 6, "NOT before the attribute"),
        ("a MATCHES '('", 10, r"'\(' is not a regular expression: missing \), at"),
        ("a LIKE 'x!y' ESCAPE '!'", 2, "ESCAPE"),
        ("a = 4611686018427387904", 4, "decimal point"),
        ("a = 1e999", 4, "too large"),
        ("a = 12abc", 4, "expected a number"),
        ("a = DATE 'soon'", 9, "'soon' is not a date: expected YYYY-MM-DD, such as DATE '2026-01-31'"),
        ("a = TIMESTAMP '2026-01-01 00:00:00.1234567'", 14, "is not a timestamp: expected YYYY-MM-DD hh:mm:ss"),
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


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("ward = ‘ICU’", "expected straight quotes", 7),
        ("ward IN (“ICU”)", "expected straight quotes", 9),
        ("ward IS NOT 'ICU'", "expected NULL after IS (compare other values with = and <>), found 'ICU'", 12),
        ("ward = 1 ICU", 'the end of the expression, found "ICU"', 9),
        ("price > 1,000,000 AND x", "write numbers without a thousands separator: 1000000", 9),
        ("name = 'O'Neil'", "a quote inside a string is written ''", 10),
        ("city IN 'Rome'", "IN takes a list in parentheses: IN ('Rome')", 8),
        ("city NOT IN [5]", "NOT IN takes a list in parentheses: NOT IN (5)", 12),
        ("tags HAS ANY city", "HAS ANY takes a list in parentheses: HAS ANY ('a', 'b')", 13),
        ("items.price[0] > 5", "items.price[...] takes a condition on members, not a position", 12),
        ("items[-1] > 5", "items[...] takes a condition on members, not a position", 6),
        ("day = DATE '2026-13-01'", "'2026-13-01' is not a date", 11),
        ("name MATCHES '(?=a)b'", "'(?=a)b' is not a regular expression: RE2 has no lookahead", 13),
        ("name MATCHES '(?<!a)b'", "RE2 has no lookbehind", 13),
        ("name MATCHES '(a)\\1'", "RE2 has no backreferences", 13),
        ("price > 5 AND 7", "7 is not a condition; compare it with an attribute", 15),
        ("ip IN CIDR ('10.0.0.0/8', 'x')", "expected a network of IP addresses", 26),
    ],
)
def test_what_people_mean_is_told(text, message, position):
    with pytest.raises(tw.ParseError) as raised:
        tw.parse(text)
    assert (message in raised.value.message, raised.value.position) == (True, position)


DEEP = {
    "sum": "a" + " + a" * TOO_DEEP + " > 1",
    "parentheses": "(" * TOO_DEEP + "a" + ")" * TOO_DEEP + " > 1",
    "signs": "-(" * TOO_DEEP + "a" + ")" * TOO_DEEP + " > 1",
    "functions": "abs(" * TOO_DEEP + "a" + ")" * TOO_DEEP + " > 1",
    "brackets": "a[" * TOO_DEEP + "b" + "]" * TOO_DEEP,
}


@pytest.mark.parametrize("kind", DEEP)
def test_nesting_is_limited(kind):
    with pytest.raises(tw.ParseError, match="nested at most"):
        tw.parse(DEEP[kind])


def test_brackets_in_brackets_are_read_in_linear_time():
    inner = " AND ".join(f"a + {n} > 0" for n in range(9_000))
    begin = time.process_time()
    for depth in (1, 6):
        tw.parse("i[" * depth + inner + "]" * depth)
    assert time.process_time() - begin < 8


@pytest.mark.parametrize("text", ["price > 5 -- cheap", "a --3 > 1", "-- all", "a > --1"])
def test_there_are_no_comments(text):
    with pytest.raises(tw.ParseError, match="comments with -- are not supported"):
        tw.parse(text)
