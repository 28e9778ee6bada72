"""Every form of a row gives the same record; errors name the subscription once; faulty rows are returned."""

import enum

import pandas as pd
import polars as pl
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


@pytest.mark.parametrize("row", ["ab", b"ab", 7, None, (), ("a",), ("a", "x", 1, None, None, 0)])
def test_other_shapes_are_refused(row):
    with pytest.raises(tw.ExpressionError, match="a subscription is a tuple of an id"):
        read_subscription(row)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "a subscription lacks id and expression; found an empty dict"),
        ({"id": "a"}, "a subscription lacks expression; found id"),
        ({"id": "a", "expresion": "x"}, "a subscription lacks expression; found id, expresion"),
        ({1: "a"}, "a subscription lacks id and expression; found 1"),
        (
            {"id": "a", "expression": "x", "prio": 1},
            "a subscription has the unknown key 'prio'; allowed: id, expression, score, weights, payload",
        ),
        ({"id": "a", "expression": "x", 5: 1}, "unknown key 5"),
    ],
)
def test_a_dict_of_other_keys_is_refused(row, message):
    with pytest.raises(tw.ExpressionError) as caught:
        read_subscription(row)
    assert message in str(caught.value)


@pytest.mark.parametrize("source", ["ab", b"ab", 7, None])
def test_what_holds_no_subscriptions_is_refused(source):
    with pytest.raises(tw.ExpressionError, match="subscriptions must be a mapping from ids"):
        iter_subscriptions(source)


def test_a_table_needs_its_columns():
    with pytest.raises(tw.ExpressionError, match="lacks the column 'expression'; its columns are: id, text"):
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
        (("a", 7), tw.ExpressionError, "the expression must be text, an Expr or a JSON mapping, not the int 7"),
        (("a", "x > 1", "high"), tw.ScoreError, "a score is a number"),
        (("a", "x > 1", 1, {"z": 1}), tw.ScoreError, "weights name 'z', which the expression does not use"),
        (
            ("a", "x > 1", 1, None, 5),
            tw.PayloadError,
            "the payload must be a mapping, or the text of a JSON object; found 5",
        ),
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


ROWS = {"id": ["a", "b", "c"], "expression": ["x > 1", "x > 2", "x > 3"], "score": [1.0, None, 5.0], "more": [1, 2, 3]}


WEIGHTS = pa.array([[("x", 2.0)], None, []], pa.map_(pa.string(), pa.float64()))


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        lambda rows: pa.RecordBatch.from_pydict(rows),
        lambda rows: pa.table(rows).to_reader(),
        pd.DataFrame,
        pl.DataFrame,
        pl.LazyFrame,
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy"],
)
def test_a_table_of_subscriptions(make):
    index = tw.Index().add_many(make(ROWS))
    assert index.top_k({"x": 9}) == [("c", 5.0), ("a", 1.0), ("b", 0.0)]
    assert index.match({"x": 3}) == ["a", "b"]


def test_weights_in_a_table():
    table = pa.table(ROWS).append_column("weights", WEIGHTS)
    assert tw.Index().add_many(table).get_subscription("a").weights == {"x": 2.0}
    structs = pa.table(ROWS).append_column("weights", pa.array([{"x": 2.0}, None, {"x": None}]))
    assert tw.Index().add_many(structs).get_subscription("a").weights == {"x": 2.0}


@pytest.mark.parametrize(
    "frame", [pa.table({"id": [1]}), pd.DataFrame({"key": [1], "expression": ["x = 1"]}), pa.table({})]
)
def test_a_table_without_its_columns(frame):
    with pytest.raises(tw.ExpressionError, match="the table of subscriptions lacks the column"):
        tw.Index().add_many(frame)


def test_a_frame_of_values_of_several_types():
    frame = pd.DataFrame({"id": ["a", 2], "expression": ["x > 1", {"attribute": "x", "operator": ">", "value": 2}]})
    assert tw.Index().add_many(frame).match({"x": 3}) == ["a", 2]


FAULTY = [
    ("good", "x > 1"),
    ("broken", "x > 'one"),
    ("good", "x > 5"),
    ("typed", "x = 'one'"),
    (1.5, "x > 1"),
    ("scored", "x > 1", "high"),
    ("weighed", "x > 1", 1, {"y": 1}),
    ("json", '{"and": []}'),
    ("missing", None),
    "nothing",
    ("old", "x > 2"),
    ("fine", "x > 3"),
]


def test_faulty_rows_are_returned_and_the_others_added():
    index = tw.Index(schema={"x": "int"}).add("old", "x = 0")
    rejected = index.add_valid(FAULTY)
    assert index.match({"x": 9}) == ["good", "fine"]
    assert index.match({"x": 0}) == ["old"]
    reasons = {str(one.id): one.reason for one in rejected}
    assert [one.id for one in rejected] == [
        "broken", "good", "typed", 1.5, "scored", "weighed", "json", "missing", None, "old"
    ]  # fmt: skip
    assert rejected[0][:4] == ("broken", "x > 'one", 4, "this string is never closed; a quote inside is written ''")
    assert (rejected[4].score, rejected[5].score, rejected[5].weights) == ("high", 1, {"y": 1})
    assert repr(rejected[0]).endswith("written ''\")")  # what it did not have is not shown
    assert "score='high'" in repr(rejected[4])
    assert "the id 'good' occurs twice in this call" in reasons["good"]
    assert "declared int" in reasons["typed"]
    assert "a score is a number" in reasons["scored"]
    assert "weights name 'y'" in reasons["weighed"]
    assert "there is a subscription 'old' already" in reasons["old"]
    assert not any(one.reason.startswith("subscription ") for one in rejected)
    again = index.add_valid(FAULTY, replace=True)
    assert len(again) == len(rejected) - 2
    assert index.match({"x": 9}) == ["good", "old", "fine"]


def test_odd_columns_are_told_row_by_row():
    for weights in (["q"], [5], [True], [[1]], [["ab"]]):
        table = pa.table({"id": ["a"], "expression": ["x = 1"], "weights": weights})
        (rejected,) = tw.Index().add_valid(table)
        assert rejected.id == "a"
    for ids in (pa.array([2**62], pa.timestamp("s")), pa.array([0], pa.timestamp("s", "Nope/Zone"))):
        assert len(tw.Index().add_valid(pa.table({"id": ids, "expression": ["x = 1"]}))) == 1
    (rejected,) = tw.Index().add_valid([("a: b", "x >")])
    assert rejected.reason.startswith("expected a constant")
    mixed = pd.DataFrame({"id": ["a", 2], "expression": ["x > 1", "x > 2"], "score": [1.0, None]})
    assert tw.Index().add_many(mixed).top_k({"x": 3}) == [("a", 1.0), (2, 0.0)]
    with pytest.raises(tw.ExpressionError, match="lacks the column 'expression'"):
        tw.Index().add_many(mixed.drop(columns="expression"))


def test_dicts_as_subscriptions():
    rows = [{"id": "a", "expression": "x > 1", "payload": {"n": 1}}, {"id": "b", "expression": "x >"}, {"id": "c"}]
    index = tw.Index()
    found = index.add_valid([*rows, {"id": "d", "expression": None}])
    assert [(one.id, one.expression) for one in found] == [("b", "x >"), ("c", None), ("d", None)]
    assert index.match_with_payloads({"x": 2}) == [("a", {"n": 1})]
