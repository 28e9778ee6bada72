"""Are results the same in batches, by the caller's ids, and as counts? And what events lack: is it told?"""

import datetime as dt
import enum
import logging
import random
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tellwhen as tw
from tellwhen.engines.shared.threads import match_in_threads

EVENTS = [{"id": f"e{i}", "x": i % 7, "deep": {"id": i}} for i in range(50)]


@pytest.fixture
def index():
    return tw.Index().add_many({f"s{i}": f"x > {i % 6} OR y = {i}" for i in range(20)})


def pairs(table):
    columns = table.to_pydict()
    return sorted(zip(columns["event_id"], columns["subscription_id"], strict=True))


def forms(events):
    flat = [{"id": event["id"], "x": event["x"]} for event in events]
    yield "dicts", events
    yield "a generator", (event for event in events)
    yield "arrow", pa.Table.from_pylist(flat)
    yield "chunks", pa.concat_tables([pa.Table.from_pylist(flat[:20]), pa.Table.from_pylist(flat[20:])])
    yield "pandas", pd.DataFrame(flat)
    yield "polars", pl.DataFrame(flat)


@pytest.mark.parametrize("form", range(6))
@pytest.mark.parametrize("few", [1, 7, 1 << 20])
def test_events_are_called_by_their_ids(index, monkeypatch, form, few):
    monkeypatch.setattr("tellwhen.index.matching.ROWS_PER_BATCH", few)
    monkeypatch.setattr("tellwhen.index.matching.FIRST_EVENTS", few)
    monkeypatch.setattr("tellwhen.encode.batches.EVENTS_PER_BATCH", 16)
    wanted = sorted((event["id"], id_) for event in EVENTS for id_ in index.match(event))
    ask = [lambda: list(forms(EVENTS))[form][1]][0]
    assert pairs(index.match_many(ask(), event_id="id")) == wanted
    batches = list(index.match_batches(ask(), event_id="id"))
    assert sorted(one for batch in batches for one in pairs(batch)) == wanted
    assert len(batches) > (1 if few < 100 else 0)
    counts = index.count_many(ask(), event_id="id").to_pydict()
    assert dict(zip(counts["event_id"], counts["count"], strict=True)) == {
        event["id"]: len(index.match(event)) for event in EVENTS
    }
    best = index.top_k_many(ask(), 2, event_id="id").to_pylist()
    assert [row["event_id"] for row in best] == [event["id"] for event in EVENTS for _ in index.top_k(event, 2)]


def test_ids_inside_of_objects(index):
    assert pairs(index.match_many(EVENTS, event_id="deep.id")) == pairs(index.match_many(EVENTS))


def test_batches_are_bounded(monkeypatch):
    monkeypatch.setattr("tellwhen.index.matching.ROWS_PER_BATCH", 1_000)
    monkeypatch.setattr("tellwhen.index.matching.FIRST_EVENTS", 4)
    index = tw.Index().add_many(dict.fromkeys(range(100), "x > 0"))
    sizes = [batch.num_rows for batch in index.match_batches([{"x": 1}] * 333)]
    assert sum(sizes) == 33_300
    assert max(sizes) == 1_000


def test_batches_are_of_one_moment(monkeypatch):
    monkeypatch.setattr("tellwhen.index.matching.FIRST_EVENTS", 1)
    monkeypatch.setattr("tellwhen.index.matching.ROWS_PER_BATCH", 1)
    index = tw.Index().add("a", "x > 0")
    batches = index.match_batches([{"x": 1}] * 3)
    found = [next(batches)]
    index.add("b", "x > 0").remove("a")
    assert [batch["subscription_id"].to_pylist() for batch in [*found, *batches]] == [["a"]] * 3


def test_counts_by_subscription(index):
    counts = index.count_by_subscription(EVENTS).to_pydict()
    assert counts["subscription_id"] == list(index)
    wanted = [sum(index[id_].evaluate({"x": event["x"]}) is True for event in EVENTS) for id_ in index]
    assert counts["count"] == wanted
    index.add("never", "x > 1000").remove("s0")
    counts = index.count_by_subscription(EVENTS).to_pydict()
    assert (counts["subscription_id"], counts["count"][-1]) == (list(index), 0)


def test_nothing_at_all(index):
    for events in ([], pa.table({"id": pa.array([], pa.string()), "x": pa.array([], pa.int64())})):
        assert index.match_many(events).num_rows == 0
        assert index.match_many(events, event_id="id").num_rows == 0
        assert index.count_many(events).num_rows == 0
        assert index.top_k_many(events, event_id="id").num_rows == 0
        assert sum(index.count_by_subscription(events)["count"].to_pylist()) == 0
    assert tw.Index().count_by_subscription([{"x": 1}]).num_rows == 0


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([{"id": 1, "x": 1}, {"x": 1}], "event 1 has no id"),
        ([{"id": 1, "x": 9}, {"id": "a", "x": 9}], "the values of id must have one type"),
        (pa.table({"x": [1]}), "there is no column id for event_id; there are x"),
        (pa.table({"x": [1, 1], "id": [1, None]}), "event 1 has no id"),
        ([{"id": 1, "x": 1}, 7], "event 1: an event is a mapping"),
    ],
)
def test_events_that_cannot_be_called(index, events, message):
    with pytest.raises(tw.EventError, match=message):
        index.match_many(events, event_id="id")


LATE = [
    (1, 2.5), (1, True), (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)), ("1", b"q"), (1, np.datetime64(1, "s")),
    (dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC)), ("a", "\ud800"), (1, 1 << 70), (1.5, 7),
    (1.0, float("nan")), ({"a": 1}, {"b": 2}), (1, uuid.UUID(int=3)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "later"), LATE)
def test_no_id_becomes_another_one(monkeypatch, first, later):
    monkeypatch.setattr("tellwhen.encode.batches.EVENTS_PER_BATCH", 4)
    index = tw.Index().add("s", "x = 1")
    for events in ([first, later], [first] * 4 + [later]):
        with pytest.raises(tw.EventError, match=r"must have one type|do not fit into one column"):
            index.match_many([{"id": id_, "x": 1} for id_ in events], event_id="id")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([b"a", b"b"], pa.binary_view()), [b"a", b"b"]),
        (pc.run_end_encode(pa.array([3, 3])), [3, 3]), (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array([1.5, 2.5]), [1.5, 2.5]),
    ],
    ids=lambda column: str(getattr(column, "type", "")),
)  # fmt: skip
def test_ids_in_columns_of_any_kind(column, wanted):
    index = tw.Index().add("s", "x = 1")
    table = pa.table({"id": column, "x": [1, 1], "deep": [{"id": 5}, {"id": 6}]})
    for ask in (index.match_many, index.count_many, index.top_k_many):
        assert ask(table, event_id="id")["event_id"].to_pylist() == wanted
        assert ask(table, event_id="deep.id")["event_id"].to_pylist() == [5, 6]
        with pytest.raises(tw.EventError, match="there is no column deep.no"):
            ask(table, event_id="deep.no")
    nothing = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(tw.EventError, match="event 1 has no id"):
        index.match_many(pa.table({"id": nothing, "x": [1, 1]}), event_id="id")


def test_batches_are_bounded_after_events_that_match_nothing(monkeypatch):
    monkeypatch.setattr("tellwhen.index.matching.ROWS_PER_BATCH", 1_000)
    monkeypatch.setattr("tellwhen.index.matching.ROWS_PER_BATCH_MAX", 2_000)
    monkeypatch.setattr("tellwhen.index.matching.FIRST_EVENTS", 8)
    monkeypatch.setattr("tellwhen.index.matching.POSSIBLE_MATCHES_MAX", 5_000)
    index = tw.Index().add_many({n: f"x > {n % 7}" for n in range(100)})
    found = []
    monkeypatch.setattr("tellwhen.index.matching.match_in_threads", noted(found))
    batches = list(index.match_batches(pa.table({"x": [-1] * 100 + [100] * 400})))
    assert sum(batch.num_rows for batch in batches) == 40_000
    assert max(batch.num_rows for batch in batches) <= 2_000
    assert max(found) <= 5_000


def noted(found):
    def match(*arguments):
        matches = match_in_threads(*arguments)
        found.append(len(matches.slot))
        return matches

    return match


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda index: index.match_many([], event_id=7), "event_id must be the name of an attribute"),
        (lambda index: index.match_batches([], payload="a"), "payload must be True, False or a list of payload keys"),
        (lambda index: index.match_many([], payload=[]), "payload must be True, False or a list of payload keys"),
        (lambda index: index.match_many([], payload=["event_id"]), "two columns of one name"),
        (lambda index: index.match_many([], payload=["a", "a"]), "two columns of one name"),
        (lambda index: index.count_many([], by="day"), "by must be 'event' or 'subscription'"),
        (lambda index: index.match_batches([], threads=0), "threads must be a whole number"),
    ],
)
def test_questions_that_cannot_be(index, ask, message):
    with pytest.raises(tw.ArgumentError, match=message):
        ask(index)


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


def test_a_renamed_column_is_seen(monkeypatch, caplog):
    monkeypatch.setattr("tellwhen.index.sampling.FIRST_COVERAGE_CHECK", 10)
    index = tw.Index().add_many({"a": "price * 2 < 20", "b": "city = 'Rome' AND rare = 1"})
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for n in range(200):
            index.match({"Price": n, "city": "Rome"})
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "subscriptions use price, which no recent event has; recent events have Price" in told[0]
    assert index.inspect.get_stats()["unseen"] == {"price": "Price", "rare": None}
    assert index.inspect.get_stats()["mismatches"] == {}
    for events in (pa.table({"citty": ["Rome"] * 20}), [{"citty": "Rome"}] * 20):
        other = tw.Index().add("b", "city = 'Rome'")
        caplog.clear()
        other.match_many(events)
        other.match_many(events)
        assert sum("recent events have citty" in record.message for record in caplog.records) == 1
    assert tw.Index().add("b", "city = 'Rome'").inspect.get_stats()["unseen"] == {}


def test_numbers_of_many_matches_are_right():
    index = tw.Index().add_many({i: f"x > {i % 50}" for i in range(3_000)})
    events = pa.table({"x": np.arange(2_000) % 60, "id": np.arange(2_000) + 5})
    counts = index.count_many(events, event_id="id").to_pydict()
    rows = index.match_many(events, event_id="id").group_by("event_id").aggregate([([], "count_all")]).to_pydict()
    assert dict(zip(rows["event_id"], rows["count_all"], strict=True)) == {
        id_: count for id_, count in zip(counts["event_id"], counts["count"], strict=True) if count
    }
