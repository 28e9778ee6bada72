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


def log_mismatches(caplog, rules, *matched, schema=None):
    """Return what the index logs about the events, without the sentence that ends every message."""
    index = tw.Index(schema=schema).add_many(dict(enumerate(rules)))
    caplog.clear()
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for events in matched:
            if isinstance(events, dict):
                index.match(events)
            else:
                index.match_many(events)
    end = ". Further cases are only counted, in index.inspect.get_stats()['mismatches']"
    messages = [record.message for record in caplog.records if "compiling" not in record.message]
    return [message.removeprefix("tellwhen: ").removesuffix(end) for message in messages]


DAY = dt.date(2026, 3, 7)
NO_VALUE = "doctor = due has no value in an event: doctor is 'dr-03' (a string), due is DATE '2026-03-07' (a time)"
INPUT = "in an event, so the values that subscriptions compute from it are undefined"


@pytest.mark.parametrize(
    ("rules", "events", "message"),
    [
        (["doctor = due"], {"doctor": "dr-03", "due": DAY}, NO_VALUE),
        (["doctor = due"], [{"doctor": "dr-03"}, {"doctor": "dr-03", "due": DAY}], NO_VALUE),
        (["doctor = due"], pa.table({"doctor": ["dr-03"], "due": [DAY]}), NO_VALUE),
        (["a / b > 1"], [{"a": 4, "b": 2}, {"a": 5, "b": 0}],
         "a / b has no value in an event: a is 5 (a number), b is 0 (a number)"),
        (["p.a / p.b > 1"], pa.table({"p": [{"a": 4, "b": 2}, {"a": 5, "b": 0}]}),
         "p.a / p.b has no value in an event: p.a is 5 (a number), p.b is 0 (a number)"),
        (["a / b > 1"], pa.table({"m": pa.array([[("a", "1"), ("b", "0")]], pa.map_(pa.string(), pa.string()))}),
         "a / b has no value, or one of a wrong type, in an event"),
        (["coalesce(s, t, 7) > 3"], {"s": "odd"},
         "coalesce(s, t, 7) is 'odd' (a string) in an event, and subscriptions compare it with a number"),
        (["coalesce(s, t, 7) > 3"], {"s": [1, "x"]},
         "coalesce(s, t, 7) is 'x' (a string) in an event, and subscriptions compare it with a number"),
        (["a + b > 1"], [{"a": 4, "b": 2}, {"a": 4, "b": "2"}], f"b is '2' (a string) {INPUT}"),
        (["s = 'x'", "s + 1 > 2"], {"s": "abc"}, f"s is 'abc' (a string) {INPUT}"),
        (["items[p > 1]"], [{"items": [{"p": 1}]}, {"items": [5]}], f"items is 5 (a number) {INPUT}"),
        (["x = 1"], {"x": tw.Interval(DAY, None)},
         "x is at least DATE '2026-03-07' (an interval) in an event, and subscriptions compare it with a number"),
        (["a < b"], {"a": [1, 2], "b": "z"},
         "a < b has no value in an event: a is [1, 2] (a list), b is 'z' (a string)"),
    ],
)  # fmt: skip
def test_a_warning_has_an_example(caplog, rules, events, message):
    assert log_mismatches(caplog, rules, events) == [message]


def test_events_of_an_iterator_are_no_examples(caplog):
    (message,) = log_mismatches(caplog, ["a < b"], iter([{"a": 1, "b": "x"}]))
    assert message == "a < b has no value, or one of a wrong type, in an event"


def test_examples_are_read_by_the_schema(caplog):
    event = {"doctor": "dr-03", "due": "2026-03-07"}
    (message,) = log_mismatches(caplog, ["doctor = due"], event, schema={"due": "timestamp"})
    assert message.endswith("due is TIMESTAMP '2026-03-07 00:00:00' (a time)")


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_at_most_20_attributes_are_logged(caplog, is_one_batch):
    events = [{f"a{n}": "x"} for n in range(30)]
    messages = log_mismatches(caplog, [f"a{n} = 1" for n in range(30)], *([events] if is_one_batch else events))
    assert [message.partition(" ")[0] for message in messages] == [*(f"a{n}" for n in range(20)), "more"]
    assert messages[-1].startswith("more than 20 attributes have values that subscriptions cannot compare")
