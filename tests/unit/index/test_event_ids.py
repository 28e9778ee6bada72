"""Results identify events by position, or by an attribute whose values must have one type."""

import datetime as dt
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tellwhen as tw
from support import limit_index
from tellwhen.index.limits import BatchLimits

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
def test_events_are_called_by_their_ids(index, form, few):
    batches = BatchLimits(rows_per_batch=few, first_events=few, events_per_block=16)
    index = limit_index(batches=batches)().merge(index)
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


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([{"id": 1, "x": 1}, {"x": 1}], "event 1 has no value of 'id', the attribute named by event_id"),
        ([{"id": 1, "x": 9}, {"id": "a", "x": 9}], "the values of id must have one type"),
        (pa.table({"x": [1]}), "event_id='id' is not a column of the table; its columns are: x"),
        (pa.table({"x": [1, 1], "id": [1, None]}), "event 1 has no value of 'id', the attribute named by event_id"),
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
def test_no_id_becomes_another_one(first, later):
    index = limit_index(batches=BatchLimits(events_per_block=4))().add("s", "x = 1")
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
        with pytest.raises(tw.EventError, match="event_id='deep.no' is not a column"):
            ask(table, event_id="deep.no")
    nothing = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(tw.EventError, match="event 1 has no value of 'id', the attribute named by event_id"):
        index.match_many(pa.table({"id": nothing, "x": [1, 1]}), event_id="id")
