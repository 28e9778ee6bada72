"""Values of a wrong type are counted by attribute and logged once."""

import datetime as dt
import enum
import logging
import random
import uuid

import pyarrow as pa
import pytest

import tellwhen as tw

pytestmark = pytest.mark.late


def test_mismatches_are_counted(engine):
    index = tw.Index(engine).add("a", "x = 1 AND y = 'a'")
    index.match({"x": "one", "y": 5, "unknown": 3})
    index.match({"x": 1, "y": [1, "a", None]})
    index.match_many([{"x": "two", "nested": {"y": 1}}])
    index.match_many(pa.table({"x": ["three", None], "y": ["a", "b"]}))
    assert index.inspect.get_stats()["mismatches"] == {"x": 3, "y": 2}


class Colour(enum.Enum):
    RED = 1


ODD = [uuid.UUID(int=1), Colour.RED, b"red", object(), 1j, dt.timedelta(1), dt.time(1), range(3)]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_odd_values_are_seen(value, caplog):
    index = tw.Index().add("a", "c = 'red' OR c = 1")
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for _ in range(3):
            assert index.match({"c": value}) == []
    assert index.inspect.get_stats()["mismatches"] == {"c": 3}
    (message,) = [record.message for record in caplog.records]
    assert f"({type(value).__name__}) in an event, and subscriptions compare it with a number or a string" in message
    assert dict(index.inspect.check_attributes([{"c": value}]).mismatches) == {"c": 1}


@pytest.mark.parametrize(
    "column",
    [pa.array([b"red", b"x"]), pa.array([dt.timedelta(1)] * 2), pa.array([dt.time(1)] * 2), pa.array([True, False])],
    ids=str,
)
def test_odd_columns_are_seen(column, caplog):
    index = tw.Index().add("a", "c = 'red' OR c = 1")
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for _ in range(3):
            assert index.match_many(pa.table({"c": column})).num_rows == 0
    assert index.inspect.get_stats()["mismatches"] == {"c": 6}
    assert sum("c is a column of" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_computed_value_that_is_undefined_is_counted_in_every_form(seed):
    rng = random.Random(seed)
    expressions = ["a + b > 3", "a / b > 1", "lower(s) = 'x'", "a < b", "length(s) > 0", "CAST(s AS int) = 1"]
    expressions += rng.sample(["s + 1 > 2", "s > 5", "a = 'x'", "lower(a) = 'q'", "s = 'x'", "b > 3"], 3)
    rows = [
        {"a": rng.choice([1, 0, None, 7]), "b": rng.choice([0, 2, None, 5]), "s": rng.choice(["X", "1", None, ""])}
        for _ in range(60)
    ]
    one, many = tw.Index().add_many(dict(enumerate(expressions))), tw.Index().add_many(dict(enumerate(expressions)))
    one.match_many(rows)
    many.match_many(pa.Table.from_pylist(rows))
    assert one.inspect.get_stats()["mismatches"] == many.inspect.get_stats()["mismatches"]
    assert one.inspect.get_stats()["mismatches"]


def test_a_value_of_a_wrong_type_is_counted_once():
    index = tw.Index().add_many(
        {"a": "load > 1", "b": "load * 2 > 1", "c": "errors > load * 100", "d": "lower(load) = 'x'"}
    )
    for events in ([{"load": "0.5", "errors": 1}], pa.table({"load": ["0.5"], "errors": [1]})):
        one = tw.Index().merge(index)
        one.match_many(events)
        assert one.inspect.get_stats()["mismatches"] == {"load": 1}
