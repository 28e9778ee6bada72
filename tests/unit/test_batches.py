"""Are many subscriptions taken in every form, faulty ones told from the others, and events seen that do not fit?"""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tellwhen as tw

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
    with pytest.raises(tw.ExpressionError, match="columns id and expression"):
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
    assert "given twice" in reasons["good"]
    assert "declared int" in reasons["typed"]
    assert "a score is a number" in reasons["scored"]
    assert "no attribute y to weigh" in reasons["weighed"]
    assert "there is a subscription 'old' already" in reasons["old"]
    assert not any(one.reason.startswith("subscription ") for one in rejected)
    again = index.add_valid(FAULTY, replace=True)
    assert len(again) == len(rejected) - 2
    assert index.match({"x": 9}) == ["good", "old", "fine"]


def test_what_is_too_complex_for_a_strict_engine():
    wide = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(9))
    index = tw.Index("betree", strict=1).add("kept", "a0 = 1")
    rejected = index.add_valid({"wide": wide, "kept": wide, "new": "a1 = 1"}, replace=True)
    assert [one.id for one in rejected] == ["wide", "kept"]
    assert "too complex for betree" in rejected[0].reason
    assert index.match({"a0": 1, "a1": 1}) == ["kept", "new"]
    assert len(index) == 2


def test_an_id_that_comes_twice_in_a_strict_engine():
    wide = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(9))
    for rows in ([("x", "y = 1"), ("x", wide)], [("x", wide), ("x", "y = 1")]):
        index = tw.Index("betree", strict=1)
        assert len(index.add_valid(rows, replace=True)) == 1
        assert dict(index.iter_texts()) == {"x": "y = 1"}


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
    with pytest.raises(tw.ExpressionError, match="there is no expression"):
        tw.Index().add_many(mixed.drop(columns="expression"))


def test_nothing_else_is_an_answer_to_errors():
    with pytest.raises(tw.ArgumentError, match="'raise' or 'quarantine'"):
        tw.Index().add_many({}, errors="ignore")


def test_dicts_as_subscriptions():
    rows = [{"id": "a", "expression": "x > 1", "payload": {"n": 1}}, {"id": "b", "expression": "x >"}, {"id": "c"}]
    index = tw.Index()
    found = index.add_valid([*rows, {"id": "d", "expression": None}])
    assert [(one.id, one.expression) for one in found] == [("b", "x >"), ("c", None), ("d", None)]
    assert index.match_with_payloads({"x": 2}) == [("a", {"n": 1})]


def test_a_strict_schema(tmp_path):
    schema = tw.Schema({"price": "float", "items.price": "int", "s": "string"}, strict=True)
    index = tw.Index(schema=schema)
    index.add_many(
        {"a": "price * 2 > 5", "b": "items[price > 5]", "c": "lower(s) = 'x' OR s HAS NONE ('q')", "d": "items IS NULL"}
    )
    for bad, message in {
        "prise > 5": "prise is not declared; did you mean price?",
        "price + qty > 5": "qty is not declared; declare it in the schema",
        "items[qty > 5]": "items.qty is not declared",
        "price > 5 OR NOT (s = 'x' AND t IS NULL)": "t is not declared",
        "s HAS ANY ('x') OR tags HAS NONE ('y')": "tags is not declared",
    }.items():
        with pytest.raises(tw.SchemaError, match=message.replace("?", r"\?")):
            index.add("bad", bad)
        (found,) = tw.validate({"bad": bad}, schema=schema).get_findings("error")
        assert message in found.reason
    index.save(tmp_path / "i")
    loaded = tw.Index.load(tmp_path / "i")
    assert (loaded.schema, len(loaded)) == (schema, 4)
    with pytest.raises(tw.SchemaError, match="did you mean price"):
        loaded.add("bad", "prise > 5")
    assert repr(schema).endswith(", strict=True)")
    assert schema != tw.Schema(schema.types)
    with pytest.raises(tw.SchemaError, match="strict must be True or False"):
        tw.Schema({}, strict="yes")
