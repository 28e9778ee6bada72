"""The reader of subscriptions: every form of a row gives the same record, and errors name the subscription once."""

import enum

import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen.index.subscriptions import (
    Rejected,
    SubscriptionRow,
    iter_subscriptions,
    parse_subscription,
    read_subscription,
)
from tellwhen.language.schema import Schema

FULL = SubscriptionRow("a", "x > 1 AND y = 2", 1.5, {"y": 3.0}, {"tenant": 7})


def parse_all(source):
    return [parse_subscription(row, Schema()) for row in iter_subscriptions(source)]


@pytest.mark.parametrize(
    "source",
    [
        [FULL],
        [tuple(FULL)],
        [list(FULL)],
        [FULL._asdict()],
        iter([FULL]),
        pa.Table.from_pylist([FULL._asdict()]),
        pa.Table.from_pylist([FULL._asdict() | {"payload": '{"tenant": 7}'}]),
        pa.table(
            [["a"], ["x > 1 AND y = 2"], [1.5], pa.array([[("y", 3.0)]], pa.map_(pa.string(), pa.float64())),
             pa.array([[("tenant", 7)]], pa.map_(pa.string(), pa.int64()))],
            names=SubscriptionRow._fields,
        ),
    ],
)  # fmt: skip
def test_every_form_of_a_row_gives_the_same_record(source):
    (parsed,) = parse_all(source)
    assert (parsed.id, parsed.text, parsed.expression) == ("a", FULL.expression, tw.parse(FULL.expression))
    assert (parsed.worth.score, parsed.worth.weights, parsed.payload) == (1.5, {"y": 3.0}, '{"tenant":7}')


@pytest.mark.parametrize("source", [{"a": "x > 1"}, [("a", "x > 1")], pa.table({"id": ["a"], "expression": ["x > 1"]})])
def test_score_weights_and_payload_are_optional(source):
    (parsed,) = parse_all(source)
    assert (parsed.worth.score, parsed.worth.weights, parsed.payload) == (0.0, None, "")


def test_null_fields_of_structs_are_absent():
    rows = [FULL._asdict(), {"id": "b", "expression": "x > 1", "weights": {"x": 2.0}, "payload": {"city": "Rome"}}]
    first, second = parse_all(pa.Table.from_pylist(rows))
    assert (first.worth.weights, second.worth.weights) == ({"y": 3.0}, {"x": 2.0})
    assert (first.payload, second.payload) == ('{"tenant":7}', '{"city":"Rome"}')


@pytest.mark.parametrize(
    "row", ["ab", b"ab", 7, None, (), ("a",), ("a", "x", 1, None, None, 0), {"id": "a"}, {"id": "a", "expresion": "x"}]
)
def test_other_shapes_are_refused(row):
    with pytest.raises(tw.ExpressionError, match="a subscription is a tuple of an id"):
        read_subscription(row)


@pytest.mark.parametrize("source", ["ab", b"ab", 7, None])
def test_what_holds_no_subscriptions_is_refused(source):
    with pytest.raises(tw.ExpressionError, match="add_many takes a mapping"):
        iter_subscriptions(source)


def test_a_table_needs_its_columns():
    with pytest.raises(tw.ExpressionError, match="there is no expression, but id, text"):
        iter_subscriptions(pa.table({"id": [1], "text": ["x > 1"]}))


class Color(enum.StrEnum):
    RED = "red"


def test_ids_become_plain():
    parsed = parse_subscription((Color.RED, "x > 1"), Schema())
    assert type(parsed.id) is str
    assert parsed.id == "red"


@pytest.mark.parametrize(
    ("row", "error", "reason"),
    [
        (("a", "x >"), tw.ParseError, "expected a constant"),
        (("a", None), tw.ExpressionError, "the expression is missing"),
        (("a", 7), tw.ExpressionError, ""),
        (("a", "x > 1", "high"), tw.ScoreError, "a score is a number"),
        (("a", "x > 1", 1, {"z": 1}), tw.ScoreError, "its expression has no attribute z"),
        (("a", "x > 1", 1, None, 5), tw.PayloadError, "a payload is a mapping"),
        (("a", "x > 'one'"), tw.SchemaError, ""),
    ],
)
def test_an_error_names_its_subscription_and_a_rejected_row_does_not_repeat_it(row, error, reason):
    with pytest.raises(error) as caught:
        parse_subscription(row, Schema.coerce({"x": "float"}))
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"subscription 'a': {reason}")
    rejected = Rejected.from_row(row, caught.value)
    assert rejected.id == "a"
    assert rejected.reason == str(caught.value).split(", at position")[0].removeprefix("subscription 'a': ")


def test_a_position_is_kept():
    with pytest.raises(tw.ParseError) as caught:
        parse_subscription(("a", "x >"), Schema())
    assert (caught.value.text, caught.value.position) == ("x >", 3)
    assert Rejected.from_row(("a", "x >"), caught.value).position == 3


def test_a_parsed_expression_is_not_parsed_again_but_checked():
    expression = tw.parse("x > 1")
    assert parse_subscription(("a", "not an expression"), Schema(), expression).expression is expression
    with pytest.raises(tw.SchemaError, match="subscription 'a': "):
        parse_subscription(("a", "x > 1"), Schema.coerce({"x": "string"}), expression)
