"""Payloads stay with their subscriptions through every change, are returned, and are filtered by."""

import copy
import os
import random
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tellwhen as tw
from support import set_thresholds

PAYLOADS = [
    None, {}, {"tenant": 7}, {"tenant": 7.0, "plan": "gold"}, {"tenant": True}, {"tenant": 1}, {"tenant": "7"},
    {"tenant": None}, {"tenant": 8, "tags": ["a", "b"]}, {"plan": {"deep": [1, None]}},
    {"plan": "gold", "naïve": "žluť"},
]  # fmt: skip


WHERES = [
    {"tenant": 7}, {"tenant": True}, {"tenant": 1}, {"tenant": "7"}, {"tenant": None}, {"tenant": [7, 8]},
    {"tenant": []}, {"tenant": 7, "plan": "gold"}, {"plan": ("gold", None)}, {"nobody": 1}, {"tenant": np.int64(8)}, {},
    "tenant >= 7", "tenant IN (1, 7) OR plan = 'gold'", "NOT tenant = 7", "tenant IS NULL", "tags HAS ALL ('a', 'b')",
    "tags = 'b' AND tenant + 1 = 9", "plan.deep = 1", '"naïve" STARTS WITH \'ž\'', "nobody = 1",
    "coalesce(nobody, 1) = 1", tw.col("tenant") < 8, "TRUE", "FALSE", "length(tags) = 2 XOR tenant = 7",
]  # fmt: skip


def equal(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def passes(payload, where):
    """The rule, once more."""
    if isinstance(where, str | tw.Expr):
        return (tw.parse(where) if isinstance(where, str) else where).evaluate(payload or {}) is True
    for name, wanted in where.items():
        values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        if not any(equal((payload or {}).get(name), value) for value in values):
            return False
    return True


@pytest.fixture(params=["auto", "betree", "scan"])
def index(request):
    rng = random.Random(3)
    index = tw.Index(request.param)
    index.add_many([
        (i, f"x > {rng.randint(0, 9)} OR y = {rng.randint(0, 3)}", rng.randint(0, 5), None, PAYLOADS[i % len(PAYLOADS)])
        for i in range(200)
    ])  # fmt: skip
    return index


@pytest.mark.parametrize("where", WHERES)
def test_where_filters_whatever_is_asked(index, where):
    event = {"x": 6, "y": 2}
    everything = index.match_with_payloads(event)
    assert len(everything) > 100
    assert all(payload == (PAYLOADS[id_ % len(PAYLOADS)] or {}) for id_, payload in everything)
    wanted = [id_ for id_, payload in everything if passes(payload, where)]
    assert index.match(event, where=where) == wanted
    assert index.count(event, where=where) == len(wanted)
    assert index.has_match(event, where=where) == bool(wanted)
    assert index.top_k(event, 7, where=where) == [
        one for one in index.top_k(event, 200) if one[0] in set(wanted)
    ][:7]  # fmt: skip
    assert index.top_k(event, 7, where=where, relaxed=True) == [
        one for one in index.top_k(event, 200, relaxed=True) if passes(PAYLOADS[one[0] % len(PAYLOADS)], where)
    ][:7]  # fmt: skip
    events = [event, {"x": 1}, {}, event]
    many = index.match_many(events, where=where).to_pydict()
    found = sorted(zip(many["event_id"], many["subscription_id"], strict=True))
    one_by_one = [(number, id_) for number, event in enumerate(events) for id_ in index.match(event, where=where)]
    assert found == sorted(one_by_one)
    assert index.count_many(events, where=where)["count"].to_pylist() == [
        index.count(event, where=where) for event in events
    ]
    ranked = index.top_k_many(events, 3, where=where).to_pylist()
    assert [(row["subscription_id"], row["score"]) for row in ranked if row["event_id"] == 0] == index.top_k(
        event, 3, where=where
    )


def test_payloads_stay_with_their_subscriptions(tmp_path):
    rng = random.Random(1)
    index, kept = tw.Index(), {}
    for _ in range(40):
        some = {f"i{rng.randrange(60)}": rng.choice(PAYLOADS) for _ in range(10)}
        index.add_many([(id_, f"x > {rng.randrange(5)}", None, None, one) for id_, one in some.items()], replace=True)
        kept |= some
        gone = rng.sample(sorted(kept), 3)
        index.remove_many(gone)
        kept = {id_: one for id_, one in kept.items() if id_ not in gone}
        with pytest.raises(tw.ParseError):
            index.add_many([("new", "x > 1", None, None, {"tenant": 1}), ("bad", "x >")])
        for one in (index, copy.deepcopy(index)):
            assert {id_: one.get_payload(id_) for id_ in one} == {id_: payload or {} for id_, payload in kept.items()}
        wanted = [id_ for id_ in index.match({"x": 9}) if passes(kept[id_], {"tenant": 7})]
        assert index.match({"x": 9}, where={"tenant": 7}) == wanted
    index.save(tmp_path / "i")
    loaded = tw.Index.load(tmp_path / "i")
    assert loaded.match_with_payloads({"x": 9}) == index.match_with_payloads({"x": 9})
    assert loaded.add("more", "x > 0", payload={"tenant": 7}).match({"x": 9}, where={"tenant": 7})[-1] == "more"


def test_a_change_taken_back_leaves_no_payload_behind(monkeypatch):
    set_thresholds(monkeypatch, batch=1)
    index = tw.Index().add("a", "x > 1", payload={"n": 1})
    with pytest.raises(tw.ParseError):
        index.add_many([("b", "x > 1", None, None, {"n": 2}), ("bad", "x >")])
    index.add_many({"c": "x > 1", "d": "x > 1"})
    assert index.match_with_payloads({"x": 2}) == [("a", {"n": 1}), ("c", {}), ("d", {})]
    assert index.match({"x": 2}, where={"n": 2}) == []


def test_columns_of_payloads():
    index = tw.Index().add_many([
        ("a", "x > 1", None, None, {"n": 1, "s": "x", "m": 1}), ("b", "x > 1", None, None, {"n": 2.5, "m": "one"}),
        ("c", "x > 1"),
    ])  # fmt: skip
    table = index.match_many([{"x": 2}], payload=["n", "s", "m", "none"])
    assert table.sort_by("subscription_id").drop_columns(["event_id"]).to_pydict() == {
        "subscription_id": ["a", "b", "c"], "n": [1, 2.5, None], "s": ["x", None, None], "m": ["1", '"one"', None],
        "none": [None] * 3,
    }  # fmt: skip
    assert index.match_with_payloads({"x": 2}, fields=["n", "no"])[1] == ("b", {"n": 2.5, "no": None})
    with pytest.raises(tw.ArgumentError, match="fields must be a list of payload keys, not 'n'"):
        index.match_with_payloads({"x": 2}, fields="n")
    texts = index.match_many([{"x": 2}], payload=True).sort_by("subscription_id")["payload"].to_pylist()
    assert texts == ['{"n":1,"s":"x","m":1}', '{"n":2.5,"m":"one"}', "{}"]
    empty = index.match_many([], payload=["n"])
    assert empty.column_names == ["event_id", "subscription_id", "n"]


def tables():
    ids, texts = ["a", "b", "c"], ["x > 1", "x > 2", "x > 3"]
    payloads = [{"tenant": 7, "plan": "gold"}, {"tenant": 8, "plan": None}, None]
    yield "struct", pa.table({"id": ids, "expression": texts, "payload": payloads})
    yield "map", pa.table({
        "id": ids, "expression": texts,
        "payload": pa.array([[("tenant", 7)], [("tenant", 8)], None], pa.map_(pa.string(), pa.int64())),
    })  # fmt: skip
    yield "json", pa.table({"id": ids, "expression": texts, "payload": ['{"tenant": 7}', '{"tenant":8}', None]})
    yield "pandas", pd.DataFrame({"id": ids, "expression": texts, "payload": payloads})
    yield "polars", pl.DataFrame({"id": ids, "expression": texts, "payload": payloads})


@pytest.mark.parametrize("table", [pytest.param(table, id=name) for name, table in tables()])
def test_tables_of_subscriptions_have_payloads(table):
    index = tw.Index().add_many(table)
    assert index.match({"x": 9}, where={"tenant": 8}) == ["b"]
    assert index.get_payload("a")["tenant"] == 7
    assert not any(index.get_payload("c").values())


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([1], "the payload must be a mapping"),
        ("{", "the text of a JSON object; found '{': Expecting"),
        ("[1]", "the payload must be a mapping"),
        ('{"a": NaN}', "NaN is no value in JSON"),
        ({1: 2}, "the names in a payload are strings, not 1"),
        ({"a": float("nan")}, "has a value that JSON does not have"),
        ({"a": pd.Timestamp(0)}, "make it text or a number"),
        ({"a": "\ud800"}, "has a value that JSON does not have"),
        ({"a": "x" * 1_100_000}, "at most 1,048,576 bytes"),
    ],
)
def test_what_is_no_payload(payload, message):
    index = tw.Index()
    with pytest.raises(tw.PayloadError, match=message) as error:
        index.add("a", "x > 1", payload=payload)
    assert str(error.value).startswith("subscription 'a': ")
    assert len(index) == 0
    (rejected,) = index.add_valid([("a", "x > 1", 0, None, payload), ("b", "x > 1")])
    assert (rejected.id, list(index)) == ("a", ["b"])


def test_a_payload_that_holds_itself():
    payload = {}
    payload["self"] = payload
    with pytest.raises(tw.PayloadError, match="nested at most 64 deep"):
        tw.Index().add("a", "x > 1", payload=payload)


def test_payloads_of_odd_columns():
    def kept(column):
        index = tw.Index().add_many(pa.table({"id": [1, 2], "expression": ["x > 1"] * 2, "payload": column}))
        return [index.get_payload(1), index.get_payload(2)]

    inner = pa.map_(pa.string(), pa.int64())
    assert kept(pa.array([{"a": [("k", 1)]}, {"a": []}], pa.struct([("a", inner)]))) == [{"a": {"k": 1}}, {"a": {}}]
    assert kept(pa.array([[("o", [("k", 1)])], None], pa.map_(pa.string(), inner))) == [{"o": {"k": 1}}, {}]
    assert kept(pa.array([{"a": 1}, {"b": 2}])) == [{"a": 1}, {"b": 2}]
    for column in (pa.array([["ab", "cd"], ["ef"]]), pa.array([1, 2]), pa.array([b"{}", b""])):
        with pytest.raises(tw.PayloadError, match="subscription 1: the payload must be a mapping"):
            kept(column)


def test_long_texts_in_columns():
    index = tw.Index().add_many([(n, "x = 1", 0, None, {"t": "z" * 3_000 + str(n)}) for n in range(100)])
    table = index.match_many(pa.table({"x": np.ones(50, np.int64)}), payload=["t"])
    assert pa.types.is_large_string(table.schema.field("t").type)


def test_names_that_nobody_has_leave_nothing_behind(caplog):
    index = tw.Index().add_many([(n, "x = 1", 0, None, {"n": n}) for n in range(100)])
    for n in range(50):
        assert index.match({"x": 1}, where={f"no{n}": 1}) == []
        assert len(index.match({"x": 1}, where={f"no{n}": None})) == 100
    assert "payload columns" in index.inspect.get_stats()["bytes"]
    assert index.inspect.get_stats()["bytes"]["payload columns"] == 0
    assert index.match({"x": 1}, where={"n": "7"}) == []
    assert "where= asks for n = '7', which no payload has, but for example 99" in caplog.records[-1].message
    assert index.add("new", "x = 1", payload={"no3": 1}).match({"x": 1}, where={"no3": 1}) == ["new"]


@pytest.mark.parametrize("where", [7, ["tenant"], {7: 1}, {"tenant": {"a": 1}}, {"tenant": [[1]]}])
def test_what_is_no_filter(where):
    index = tw.Index().add("a", "x > 1", payload={"tenant": 7})
    for ask in (index.match, index.count, index.has_match, index.top_k):
        with pytest.raises(tw.ArgumentError, match="where"):
            ask({"x": 2}, where=where)
    with pytest.raises(tw.ArgumentError, match="where"):
        index.match_many([{"x": 2}], where=where)


def test_a_name_that_no_payload_has_is_told_once(caplog):
    index = tw.Index().add("a", "x > 1", payload={"tenant": 7})
    for _ in range(3):
        assert index.match({"x": 2}, where={"tenat": 7}) == []
    assert [record.message for record in caplog.records if "payload" in record.message] == [
        "tellwhen: where= asks for tenat, which no payload has; did you mean tenant?; logged once"
    ]


def test_filters_while_another_thread_adds():
    index = tw.Index().add_many([(i, "x > 1", None, None, {"n": i % 3}) for i in range(300)])
    stop, wrong = threading.Event(), []

    def look():
        while not stop.is_set():
            found = index.match({"x": 2}, where={"n": 1})
            if any(id_ % 3 != 1 for id_ in found) or len(found) < 100:
                wrong.append(found)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(300, 900):
        index.add(i, "x > 1", payload={"n": i % 3})
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(index.match({"x": 2}, where={"n": 1})) == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_filter_after_a_fork():
    index = tw.Index().add("a", "x > 1", payload={"n": 1})
    index._shard.payload_columns._lock.acquire()  # as if another thread were about it
    child = os.fork()
    if not child:
        os._exit(index.match({"x": 2}, where={"n": 1}) != ["a"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_one_name_of_many_payloads():
    index = (
        tw.Index()
        .add("a", "x = 1", payload={"who": "ann", "n": [1]})
        .add("b", "x = 1")
        .add(7, "x = 1", payload={"who": 7})
    )
    assert index.get_payload_values("who", ["b", 7, "a", "gone", 7]) == [None, 7, "ann", None, 7]
    assert index.get_payload_values("n", ["a", "b"]) == [[1], None]
    assert index.get_payload_values("nothing", ["a"]) == [None]
    assert index.get_payload_values("who", []) == []
    index.add("c", "x = 1", payload={"who": "eve"}).add("a", "x = 2", payload={"who": "new"}, replace=True).remove(7)
    assert index.get_payload_values("who", ["a", 7, "c"]) == ["new", None, "eve"]


def test_an_event_chooses_subscribers_as_they_choose_events():
    index = tw.Index()
    for id_, bid, advertiser in [("a", 3.5, "x"), ("b", 2, "y"), ("c", 1, "y"), ("d", 9, None)]:
        index.add(id_, "age > 20", score=bid, payload={"bid": {"max": bid}, "advertiser": advertiser})
    condition = "bid.max >= 2 AND advertiser <> 'x'"
    assert index.match({"age": 30}, where=condition) == ["b"]
    assert index.match({"age": 3}, where=condition) == []
    assert index.top_k({"age": 30}, 2, where="advertiser IS NOT NULL") == [("a", 3.5), ("b", 2.0)]
    # A payload may also have a key with a dot; it counts, as in an event.
    index.add("e", "age > 20", payload={"bid.max": 5, "bid": {"max": 1}, "advertiser": "z"})
    assert index.match({"age": 30}, where=condition) == ["b", "e"]
    assert index.match((tw.col("age") > 25).to_event(), where=tw.parse(condition)) == ["b", "e"]


def test_a_faulty_expression_on_payloads(caplog):
    index = tw.Index().add("a", "x > 1", payload={"tenant": 7})
    with pytest.raises(tw.ParseError):
        index.match({"x": 2}, where="tenant >")
    with pytest.raises(tw.ParseError):
        index.top_k({"x": 2}, where="tenant >")
    assert index.match({"x": 2}, where="tenat = 7") == []
    assert "where= asks for tenat, which no payload has; did you mean tenant?" in caplog.records[-1].message


def test_payload_expressions_while_subscriptions_are_added():
    index = tw.Index()
    for n in range(60):
        index.add(n, "x = 1", payload={"n": n, "kind": "ab"[n % 2]})
        expected = [m for m in range(n + 1) if m >= 10 and m % 2]
        assert index.match({"x": 1}, where="n >= 10 AND kind = 'b'") == expected
    index.remove(11)
    assert index.count({"x": 1}, where="n IN (11, 13)") == 1


def test_expressions_see_the_payloads_as_they_are():
    """1 equals 1.0, but is another text; None hides a member of the same name. The order of payloads has no effect."""
    payloads = [{"a": 1}, {"a": 1.0}, {"a": 0}, {"a": 0.0}, {"a": -0.0}, {"a": None, "o.x": None, "o": {"x": 1}}, {}]
    conditions = ["CAST(a AS STRING) = '1'", "a || '' = '1.0'", "CAST(a AS STRING) <> '0'", "a = 1", "o.x = 1"]
    for rows in (payloads, payloads[::-1]):
        index = tw.Index().add_many([(k, "x = 1", None, None, payload) for k, payload in enumerate(rows)])
        for where in [*conditions, "a IS NULL", "o.x IS NULL"]:
            right = [k for k, payload in enumerate(rows) if tw.parse(where).evaluate(payload) is True]
            assert index.match({"x": 1}, where=where) == right, where
        for value in (1, 0, None):
            right = [k for k, payload in enumerate(rows) if payload.get("a") == value]
            assert index.match({"x": 1}, where={"a": value}) == index.match({"x": 1}, where={"a": [value]}) == right
