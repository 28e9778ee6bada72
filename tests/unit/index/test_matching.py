"""Tables of matches: their rows, order and batches."""

import random

import numpy as np
import pyarrow as pa
import pytest

import tellwhen as tw
from support import limit_index
from tellwhen.engines.shared.threads import match_in_threads
from tellwhen.index.limits import BatchLimits


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("engine", ["auto", "scan", "counting"])
def test_matches_of_many_events_are_in_the_order_of_match(engine, threads):
    rng = random.Random(3)
    index = tw.Index(engine)
    for n in rng.sample(range(3_000), 3_000):
        index.add(n, f"x > {rng.randrange(50)} AND y IN ({rng.randrange(3)}, 7)", payload={"half": n % 2})
    for n in rng.sample(range(3_000), 500):
        index.add(n, f"x < {rng.randrange(50)}", payload={"half": n % 2}, replace=True)
    events = [{"x": rng.randrange(50), "y": rng.randrange(3)} for _ in range(300)]
    for where in (None, {"half": 1}):
        expected = [(e, id_) for e, event in enumerate(events) for id_ in index.match(event, where=where)]
        for form in (events, pa.Table.from_pylist(events)):
            rows = index.match_many(form, where=where, threads=threads).to_pydict()
            assert list(zip(rows["event_id"], rows["subscription_id"], strict=True)) == expected


EVENTS = [{"id": f"e{i}", "x": i % 7, "deep": {"id": i}} for i in range(50)]


@pytest.fixture
def index():
    return tw.Index().add_many({f"s{i}": f"x > {i % 6} OR y = {i}" for i in range(20)})


def test_batches_are_bounded():
    index = limit_index(batches=BatchLimits(rows_per_batch=1_000, first_events=4))().add_many(
        dict.fromkeys(range(100), "x > 0")
    )
    sizes = [batch.num_rows for batch in index.match_batches([{"x": 1}] * 333)]
    assert sum(sizes) == 33_300
    assert max(sizes) == 1_000


def test_batches_are_of_one_moment():
    index = limit_index(batches=BatchLimits(rows_per_batch=1, first_events=1))().add("a", "x > 0")
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


def test_batches_are_bounded_after_events_that_match_nothing(monkeypatch):
    batches = BatchLimits(rows_per_batch=1_000, rows_per_batch_max=2_000, first_events=8, possible_matches_max=5_000)
    index = limit_index(batches=batches)().add_many({n: f"x > {n % 7}" for n in range(100)})
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


def test_numbers_of_many_matches_are_right():
    index = tw.Index().add_many({i: f"x > {i % 50}" for i in range(3_000)})
    events = pa.table({"x": np.arange(2_000) % 60, "id": np.arange(2_000) + 5})
    counts = index.count_many(events, event_id="id").to_pydict()
    rows = index.match_many(events, event_id="id").group_by("event_id").aggregate([([], "count_all")]).to_pydict()
    assert dict(zip(rows["event_id"], rows["count_all"], strict=True)) == {
        id_: count for id_, count in zip(counts["event_id"], counts["count"], strict=True) if count
    }


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ("events.parquet", "not the str 'events.parquet'; to read a file, use pyarrow.parquet.read_table"),
        ({"x": 1}, "not the dict {'x': 1}; put a single event into a list, or use match() or top_k()"),
        (5, "events must be a list of dicts or a table, not the int 5"),
        ([5], "an event is a mapping from attribute names to values, not the int 5"),
    ],
)
def test_what_holds_no_events_is_named(events, message):
    with pytest.raises(tw.EventError) as caught:
        tw.Index().match_many(events)
    assert str(caught.value).endswith(message)
