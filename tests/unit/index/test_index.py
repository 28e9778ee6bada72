"""The facade does what its user expects."""

import copy
import datetime as dt
import decimal
import enum
import pickle
import time
from collections.abc import Mapping

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tellwhen as tw
from support import limit_index, set_thresholds, verify_index
from tellwhen.encode.events import encode
from tellwhen.engines.shared import selectivity
from tellwhen.index.limits import CompactionLimits, IndexLimits
from tellwhen.profile import Profile
from tellwhen.testing.engine_checks import check_engine, to_pairs

pytestmark = pytest.mark.late


BOOK = {"genre": "classics", "era": "1920s", "price": 26, "ranking": 2, "format": "hardcover"}


@pytest.fixture
def index(engine):
    index = tw.Index(engine)
    index.add(
        "mall-42",
        "genre = 'classics' AND era IN ('1920s','1940s') AND price BETWEEN 20 AND 40 "
        "AND ranking < 5 AND format NOT IN ('paperback')",
    )
    index.add("ops-7", (tw.col("source") == "mobile") & ((tw.col("type") == "error") | (tw.col("level") == "critical")))
    return index


def test_the_example(index):
    assert index.match(BOOK) == ["mall-42"]
    assert index.match({"source": "mobile", "level": "critical"}) == ["ops-7"]
    assert index.match({}) == []
    assert index.match_many([BOOK, {}, {"source": "mobile", "type": "error"}]).to_pydict() == {
        "event_id": [0, 2],
        "subscription_id": ["mall-42", "ops-7"],
    }
    assert "true       ├─ price BETWEEN 20 AND 40" in str(index.explain("mall-42", BOOK))
    index.remove("mall-42")
    assert len(index) == 1
    assert "ops-7" in index
    assert "mall-42" not in index
    assert str(index["ops-7"]) == "source = 'mobile' AND (type = 'error' OR level = 'critical')"
    assert index.match(BOOK) == []


def test_adding(index):
    with pytest.raises(tw.DuplicateId, match="replace=True"):
        index.add("ops-7", "a = 1")
    assert index.match({"a": 1}) == []
    index.add("ops-7", "a = 1", replace=True)
    assert index.match({"a": 1}) == ["ops-7"]
    assert index.match({"source": "mobile", "type": "error"}) == []
    index.add_many([("x", "b = 1"), ("x", "b = 2")], replace=True)
    assert index.match({"b": 1}) == []
    assert index.match({"b": 2}) == ["x"]
    assert len(index) == 3
    index.add("json", {"attribute": "c", "operator": "=", "value": 1})
    index.add("bare", tw.col("flag"))
    assert index.match({"c": 1, "flag": True}) == ["json", "bare"]
    index.add_many({})
    index.add_many(iter([]))
    assert len(index) == 5


def test_all_or_nothing(index):
    before = list(index)
    for wrong, error in [
        ([("a", "x = 1"), ("b", "x = ")], tw.ParseError),
        ([("a", "x = 1"), ("a", "x = 2")], tw.DuplicateId),
        ([("a", "x = 1"), ("mall-42", "x = 2")], tw.DuplicateId),
        ([("a", "x = 1"), (1.5, "x = 2")], tw.IdError),
        ([("a", "x = 1"), (True, "x = 2")], tw.IdError),
        ([("a", "x = 1"), (2**64, "x = 2")], tw.IdError),
        ([("a", "x = 1"), (-(2**63), "x = 2")], tw.IdError),
        ([("a", "x = 1"), ("\ud800", "x = 2")], tw.IdError),
        ([("a", "x = 1"), ("b", 5)], tw.ExpressionError),
        ([("a", "x = 1"), ("b", None)], tw.ExpressionError),
        ([("a", "x = 1"), "b"], tw.ExpressionError),
        ([("a", "x = 1"), ("b", "x IN (0.5, 4611686018427387903)")], tw.ParseError),
    ]:
        with pytest.raises(error):
            index.add_many(wrong)
        assert list(index) == before
        assert index.match({"x": 1}) == []
        assert index.match(BOOK) == ["mall-42"]
    with pytest.raises(tw.ParseError, match="subscription 'b'"):
        index.add("b", "x = ")
    for wrong in (None, 5, "ab", b"ab"):
        with pytest.raises(tw.ExpressionError, match="subscriptions must be a mapping"):
            index.add_many(wrong)
    assert list(index) == before
    index.add("a", "x = 1")
    assert index.match({"x": 1}) == ["a"]


def test_removing(index):
    with pytest.raises(KeyError):
        index.remove("nobody")
    with pytest.raises(tw.UnknownId, match="'nobody'"):
        index.remove_many(["ops-7", "nobody"])
    assert "ops-7" in index
    with pytest.raises(KeyError):
        index["nobody"]
    with pytest.raises(KeyError):
        index.explain("nobody", {})
    for wrong in ("ops-7", b"o", 5, None):
        with pytest.raises(tw.IdError, match="remove_many takes ids"):
            index.remove_many(wrong)
    index.remove_many(["ops-7", "ops-7"])
    assert len(index) == 1


def test_ids_of_both_kinds(engine):
    index = tw.Index(engine).add(7, "a = 1").add("7", "a = 1").add(np.int64(8), "a = 1").add(-(2**63) + 1, "a = 1")
    assert index.match({"a": 1}) == [7, "7", 8, -(2**63) + 1]
    assert index.match_many([{"a": 1}])["subscription_id"].to_pylist() == [7, "7", 8, -(2**63) + 1]
    ints = tw.Index(engine).add(7, "a = 1")
    assert ints.match_many([{"a": 1}]).schema.field("subscription_id").type == pa.int64()
    strings = tw.Index(engine).add("", "a = 1")
    assert strings.match_many([{"a": 1}]).schema.field("subscription_id").type == pa.large_string()
    assert strings.match_many([]).num_rows == 0
    assert strings.match({"a": 1}) == [""]


def test_events_that_are_none(index):
    for wrong in (5, "text", None, [1]):
        with pytest.raises(tw.EventError):
            index.match(wrong)
    with pytest.raises(tw.EventError):
        index.match({1: 2})
    for wrong in ({"a": 1}, "text", 5):
        with pytest.raises(tw.EventError):
            index.match_many(wrong)
    with pytest.raises(tw.EventError, match="event 1: "):
        index.match_many([{"a": 1}, 5])
    with pytest.raises(tw.EventError, match="event 20000: "):
        index.match_many([{}] * 20_000 + [{1: 2}])
    with pytest.raises(tw.EventError, match="a low or a high end"):
        tw.Interval(None, None)
    with pytest.raises(tw.EventError):
        tw.Interval(2, 1)
    looped = {"x": 1}
    looped["self"] = looped
    assert index.match(looped) == []
    looped["other"] = looped
    with pytest.raises(tw.EventError, match="objects"):
        index.match(looped)


def test_values_python_offers(engine):
    index = tw.Index(engine).add("n", "x = 3").add("f", "x = 0.5").add("t", "x = DATE '2026-01-01'").add("b", "x")
    assert index.match({"x": np.int32(3)}) == ["n"]
    assert index.match({"x": np.float32(0.5)}) == ["f"]
    assert index.match({"x": decimal.Decimal("3.0")}) == ["n"]
    assert index.match({"x": decimal.Decimal("0.5")}) == ["f"]
    assert index.match({"x": np.datetime64("2026-01-01")}) == ["t"]
    assert index.match({"x": np.bool_(True)}) == ["b"]
    assert index.match({"x": dt.datetime(2026, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))}) == ["t"]
    assert index.match({"x": np.array([3, 4])}) == ["n"]
    assert index.match({"x": (0.5, 3)}) == ["n", "f"]


def test_values_that_are_odd(engine):
    class Genre(str, enum.Enum):  # noqa: UP042 - whose str() is its name, not its text
        CRIME = "crime"

    index = tw.Index(engine).add("s", tw.col("x") == Genre.CRIME).add("n", "x > 5").add("null", "x IS NULL")
    index.add("t", "x > DATE '2026-01-01'")
    for value, want in [
        (Genre.CRIME, ["s"]),
        (decimal.Decimal("sNaN"), ["null"]),
        (pd.NA, ["null"]),
        (np.datetime64("NaT"), ["null"]),
        (np.datetime64("2026-01-01T00:00:00.000000001"), ["t"]),
        (np.datetime64("10000-01-01"), ["t"]),
        (np.timedelta64(50, "ns"), []),
        (np.longdouble(9), ["n"]),
        (np.str_("crime"), ["s"]),
        (pd.Timestamp(np.datetime64(2**62, "s")), []),
    ]:
        assert index.match({"x": value}) == want, value
        assert [id_ for id_ in index if index[id_].evaluate({"x": value})] == want
    huge = 10**5000
    assert index.match({"x": huge}) == ["n"]
    assert "cannot be shown" in str(index.explain("n", {"x": huge}))
    for use in (index.remove, index.__getitem__, lambda id_: index.add(id_, "x"), lambda id_: tw.Interval(id_, 1)):
        with pytest.raises(tw.TellwhenError):
            use(huge)
    for wrong in ([1], True, 1.0):
        assert wrong not in index
        with pytest.raises(tw.IdError):
            index.remove(wrong)
    for wrong in (5, {"a": ["int"]}, ["ab"]):
        with pytest.raises(tw.SchemaError):
            tw.Index(engine, schema=wrong)
    with pytest.raises(tw.EngineError):
        tw.Index(["auto"])
    with pytest.raises(tw.LimitError, match="as text"):
        index.add("large", tw.col("x").isin(["z" * 60_000 + str(i) for i in range(600)]))


def test_declared_types(engine):
    schema = {"price": "float", "day": "date", "at": "timestamp", "ok": "bool", "n": "int", "s": "string"}
    index = tw.Index(engine, schema=schema)
    for wrong in ("price = 'x'", "day = 5", "ok = 1", "n = TRUE", "s = 1", "NOT (n = 1 OR s > DATE '2026-01-01')"):
        with pytest.raises(tw.SchemaError, match="subscription 1: "):
            index.add(1, wrong)
    with pytest.raises(tw.SchemaError, match="price: unknown type <class 'str'>; write the type as text: 'string'"):
        tw.Schema({"price": str})
    with pytest.raises(tw.SchemaError, match="unknown type"):
        tw.Index(engine, schema={"a": "number"})
    index.add(1, "day < DATE '2026-01-01'").add(2, "at >= TIMESTAMP '2026-01-01 12:00:00'").add(
        3, "price = 3 AND n > 0.5"
    )
    assert index.match({"day": "2025-12-31", "at": "2026-01-01T14:00:00+02:00"}) == [1, 2]
    assert index.match({"day": "someday", "at": dt.datetime(2027, 1, 1), "price": 3, "n": 1}) == [2, 3]
    assert index.explain(1, {"day": "2025-12-31"}).value is True
    assert index.match({"day": ["2027-01-01", "2024-01-01"]}) == [1]


def test_an_explanation_shows_values_as_one_would_write_them():
    index = tw.Index(schema={"t": "timestamp"}).add("a", "t > TIMESTAMP '2026-01-01 00:00:00' OR x = 1")
    for value, text in [
        (np.int64(3), "3"),
        (np.True_, "TRUE"),
        (np.datetime64("2026-01", "M"), "DATE '2026-01-01'"),
        (np.datetime64("2026-01-01T10:00:00.5", "ms"), "TIMESTAMP '2026-01-01 10:00:00.500'"),
        (dt.date(2026, 1, 1), "DATE '2026-01-01'"),
        (tw.Interval(1, None), "at least 1"),
        (tw.Interval(None, dt.date(2026, 1, 1)), "at most DATE '2026-01-01'"),
        (tw.Interval(1, 2.5), "from 1 to 2.5"),
        (["a", None, np.float64(0.5)], "['a', NULL, 0.5]"),
        (list(range(100_000)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
    ]:
        assert str(index.explain("a", {"x": value})).splitlines()[-1].endswith(f" x is {text}")
    shown = str(index.explain("a", {"t": "2026-01-02T10:00:00.123456789+02:00"})).splitlines()[1]
    assert shown.endswith(" t is TIMESTAMP '2026-01-02 10:00:00.123456789+02:00'")


def test_unknown_engine():
    with pytest.raises(tw.EngineError, match="there are .*auto, .*betree, .*scan"):
        tw.Index("warp")


def test_over_budget_is_refused_by_name():
    text = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))
    index = tw.Index("counting", strict=True).add("fine", "a = 1 OR b = 1")
    with pytest.raises(
        tw.BudgetError, match="more than 64 terms .* engines that take any expression: .*auto, .*cover, .*scan"
    ):
        index.add_many([("also", "c = 1"), ("complex", text)])
    assert len(index) == 1
    assert index.match({"c": 1}) == []
    with pytest.raises(tw.BudgetError):
        index.add("long", " AND ".join(f"a{i} = 1" for i in range(256)))
    event = {f"a{i}": 1 for i in range(300)} | {"b0": 1}
    with pytest.raises(tw.EngineError, match="auto has no option 'strict'"):
        tw.Index("auto", strict=True)
    auto = tw.Index("auto").add("complex", text).add("long", " AND ".join(f"a{i} = 1" for i in range(256)))
    assert auto.match(event) == ["complex", "long"]
    assert auto.match({"a0": 1}) == []


def test_many_matches_grow_the_output(engine):
    index = tw.Index(engine).add_many((i, f"x >= {i % 7}") for i in range(5000))
    assert index.match({"x": 6}) == list(range(5000))
    assert index.match({"x": -1}) == []  # so that the next output is small at first
    got = to_pairs(index.match_many([{"x": i % 7} for i in range(40)]))
    assert sorted(got) == [(e, i) for e in range(40) for i in range(5000) if e % 7 >= i % 7]


def test_a_small_threshold_for_everything(engine, monkeypatch):
    """Compaction and merging at every change: a small index does neither otherwise."""
    # `check_engine` creates indexes of its own.
    monkeypatch.setattr(tw.Index, "_limits", IndexLimits(compaction=CompactionLimits(removed_slots_min=2)))
    set_thresholds(monkeypatch, pending=0)
    check_engine(engine, seed=77, rounds=10)


def test_stats(index):
    stats = index.inspect.get_stats()
    assert stats["subscriptions"] == 2
    assert stats["bytes"]["engine"] > 0
    assert repr(index).startswith("<Index of 2 subscriptions, engine ")
    assert {info.name for info in tw.list_engines()} >= {"auto", "scan", "counting"}
    assert all(info.summary for info in tw.list_engines())


def test_an_iterator_that_changes_the_index_is_refused(engine):
    index = tw.Index(engine).add("old", "x = 1")

    def subscriptions():
        yield "a", "x = 1"
        index.add("b", "x = 1")

    with pytest.raises(tw.StateError, match="in the middle of a change"):
        index.add_many(subscriptions())
    assert index.match({"x": 1}) == ["old"]
    index.add("c", "x = 1")
    assert index.match({"x": 1}) == ["old", "c"]


def test_an_interval_that_touches_a_predicate_a_thousand_times(engine):
    """Counters of one byte must not overflow."""
    index = tw.Index(engine).add_many((i, f"x IN ({', '.join(map(str, range(1000)))})") for i in range(5))
    index.add("both", f"x IN ({', '.join(map(str, range(1000)))}) AND y = 1").rebuild()
    assert index.match({"x": tw.Interval(0, 999)}) == [0, 1, 2, 3, 4]
    assert index.match({"x": list(range(1000)), "y": 1}) == [0, 1, 2, 3, 4, "both"]


def test_intervals_in_a_tree_of_seven_leaves(engine):
    spans = {"a": "x BETWEEN 0 AND 5", "wide": "x BETWEEN 1 AND 7", "c": "x BETWEEN 2 AND 9", "d": "x BETWEEN 3 AND 9"}
    index = tw.Index(engine).add_many(spans).rebuild()
    assert index.match({"x": tw.Interval(0, 4)}) == ["a", "wide", "c", "d"]
    assert index.match({"x": decimal.Decimal("1e3000000")}) == []


def test_attributes_that_come_and_go_are_forgotten(engine):
    index = limit_index(compaction=CompactionLimits(removed_slots_min=50))(engine).add(
        "stays", "x IS NULL AND s CONTAINS 'a' AND s ENDS WITH 'b' AND NOT s LIKE '%c%d%'"
    )
    for i in range(500):
        index.add(i, f"a{i} IS NULL AND b{i} = {i} AND s CONTAINS 'c{i}' AND t{i} = 'x'")
        index.remove(i)
        assert index.match({"s": "ab"}) == ["stays"]
        assert index.match({"s": "a c d b"}) == []
    stats = index.inspect.get_stats()
    assert stats["domains"] < 300
    assert stats["attributes"] < 200
    assert len(index._shard.store.attributes.presence_domains) < 60


@pytest.mark.slow
def test_many_watched_attributes_cost_little(engine):
    index = tw.Index(engine).add_many((i, f"a{i} IS NULL AND x = 1") for i in range(4000)).rebuild()
    assert len(index.match({"x": 1, "a7": 1, "a9": None, "a11": [None]})) == 3999
    start = time.process_time()  # other processes may keep the cores busy
    for _ in range(20):
        index.match({"x": 2})
    assert (time.process_time() - start) / 20 < 0.01


def test_a_failed_change_leaves_nothing_behind(engine):
    index = tw.Index(engine).add("old", "x = 'm' AND y IS NULL")
    before = index.inspect.get_stats() | {"mismatches": None}
    with pytest.raises(tw.ParseError):
        index.add_many(
            [(i, f"x = 'n{i}' AND z{i} IS NULL AND q MATCHES 'a+{i}'") for i in range(2000)] + [("b", "x =")]
        )
    after = index.inspect.get_stats() | {"mismatches": None}
    assert {key: after[key] for key in ("attributes", "domains", "predicates")} == {
        key: before[key] for key in ("attributes", "domains", "predicates")
    }
    index.add("new", "x > 'm' AND z1 IS NULL AND q MATCHES 'b'")
    assert index.match({"x": "m"}) == ["old"]
    assert index.match({"x": "z", "q": "abc"}) == ["new"]


BOTH = {f"s{k}": f"rare = {k} AND common = {k}" for k in range(200)}


COMMON = {f"c{k}": f"common = {k}" for k in range(9)}


def access_attributes(index):
    """The attributes of the access predicates in use."""
    shard = index._shard
    cluster = shard.engine._index.cluster
    predicates = np.flatnonzero(np.diff(cluster)[:-1])
    domains = shard.store.attributes.domains
    return {domains[domain].attribute for domain in shard.store.snapshot().predicates.domain[predicates].tolist()}


def test_observed_events_change_the_access_predicates():
    index = tw.Index("propagation").add_many(BOTH | COMMON).rebuild()
    assert access_attributes(index) == {"rare", "common"}
    assert len([k for k in range(200) if index.match({"common": k, "rare": k})]) == 200
    index.optimize_for([{"rare": k % 3, "common": k} for k in range(2_000)])
    before = access_attributes(index)
    assert "common" in before
    assert index._shard.engine._index.cluster[-1] == len(index)
    index.optimize_for([{"common": 1}] * 5)
    assert index.match({"common": 1, "rare": 1}) == ["s1", "c1"]


def ranks(index, *texts):
    """The ranks by selectivity of predicates that subscriptions of their own have, the most selective first."""
    with index._contents.lock_shard() as shard:  # typical events are encoded by one thread at a time
        subscriptions = shard.store.snapshot().subscriptions
        rank = selectivity.rank_predicates(shard.store, subscriptions.code)
        return [rank[subscriptions.code[subscriptions.start[shard.slots.get(text)]]] for text in texts]


EITHER = {text: text for text in ("rare = 1", "common = 1")}


def test_the_ranking_follows_what_is_observed():
    index = tw.Index().add_many(EITHER).optimize_for([{"rare": 1, "common": k} for k in range(10)])
    assert ranks(index, "common = 1", "rare = 1") == [0, 1]
    index.optimize_for([{"rare": k, "common": 1} for k in range(100)])  # added to what was observed before
    assert ranks(index, "rare = 1", "common = 1") == [0, 1]
    assert index.profile == Profile.from_events(
        [{"rare": 1, "common": k} for k in range(10)] + [{"rare": k, "common": 1} for k in range(100)]
    )


SLOW_CHOOSERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("opindex", "pstbloom")]


@pytest.mark.parametrize("chooser", ["betree", "propagation", *SLOW_CHOOSERS])
def test_engines_choose_by_the_profile(chooser, tmp_path):
    subscriptions = {k: f"x = {k} AND y = {k}" for k in range(300)}
    events = [{"x": 1, "y": k} for k in range(10)] + [{"x": 1}] * 90

    def candidates(index):
        shard = index._shard
        return shard.engine.reader().count_candidates(encode(events, shard.store.attributes, shard.store.schema)[0])

    index = tw.Index(chooser).add_many(subscriptions).rebuild()
    guessed = candidates(index)
    chosen = candidates(index.optimize_for(events))
    assert chosen < guessed / 2
    assert candidates(tw.Index(chooser, profile=index.profile).add_many(subscriptions).rebuild()) == chosen
    index.save(tmp_path / "idx")
    assert candidates(tw.Index.load(tmp_path / "idx").rebuild()) == chosen


def test_an_index_begins_with_a_profile():
    profile = Profile.from_events([{"rare": 1, "common": k} for k in range(10)])
    index = tw.Index(profile=profile).add_many(EITHER)
    assert ranks(index, "common = 1", "rare = 1") == [0, 1]
    profile.add_events([{"rare": k, "common": 1} for k in range(100)])  # of the user, who goes on
    index.profile.add_events([{"rare": k, "common": 1} for k in range(100)])
    assert ranks(index.rebuild(), "common = 1", "rare = 1") == [0, 1]
    assert ranks(tw.Index(profile=profile).add_many(EITHER), "rare = 1", "common = 1") == [0, 1]
    assert tw.Index().profile == Profile()
    with pytest.raises(tw.TellwhenError, match="profile must be a tellwhen.Profile"):
        tw.Index(profile=[{"a": 1}])


@pytest.mark.parametrize("form", [list, iter, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_events_of_every_form_are_observed(form):
    events = [{"x": k, "s": f"w{k % 3}"} for k in range(9)]
    assert tw.Index().add("a", "x = 1").optimize_for(form(events)).profile == Profile.from_events(events)
    with pytest.raises(tw.EventError):
        tw.Index().optimize_for({"x": 1})


def test_the_profile_survives_saving_compaction_and_new_labels(tmp_path, engine):
    index_class = limit_index(compaction=CompactionLimits(removed_slots_min=0))
    index = index_class(engine).add_many({k: f"name = 'n{k}' AND x = {k}" for k in range(100)})
    events = [{"name": f"n{k}", "x": 95, "unknown": 1} for k in range(50, 100)]
    index.optimize_for(events)
    index.save(tmp_path / "idx")
    loaded = index_class.load(tmp_path / "idx")
    for one in (index, loaded):
        before = one._shard
        one.remove_many(range(90))
        assert one._shard is not before
        assert one.profile == Profile.from_events(events)
        one.add_many({"name = 'n95'": "name = 'n95'", "x = 95": "x = 95"})
        one.add_many({f"t{k}": f"name = 'n{k / 7:.15f}'" for k in range(500)})
        assert ranks(one, "name = 'n95'")[0] < ranks(one, "x = 95")[0]
        with one._contents.lock_shard() as shard:
            assert len(shard.store.typical().weight) == 50
        assert set(one.match({"name": "n95", "x": 95})) == {95, "name = 'n95'", "x = 95"}


def test_observe_is_whole_or_undone(monkeypatch, engine):
    index = tw.Index(engine).add("a", "x = 1").optimize_for([{"x": 1}])
    before = index.profile

    def faulty():
        yield {"x": 1}
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        index.optimize_for(faulty())
    assert index.profile == before
    monkeypatch.setattr(type(index._shard.engine), "rebuild", lambda engine: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        index.optimize_for([{"x": 2}])
    monkeypatch.undo()
    assert index.profile == before
    assert index._shard.store.typical().weight.tolist() == [1.0]
    assert index.match({"x": 1}) == ["a"]
    with pytest.raises(tw.ParseError):
        index.add_many([("b", "y = 1"), ("c", "y =")])
    assert index.optimize_for([{"y": 1}]).profile.event_frequency == {"x": 0.5, "y": 0.5}


def test_a_change_that_is_taken_back_leaves_no_points_of_it():
    index = tw.Index(profile=Profile.from_events([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])).add("a = 1", "a = 1")
    typical = index._shard.store.typical()
    assert typical.marginals(1).carried.tolist() == [1.0]
    with pytest.raises(tw.DuplicateId):
        index.add_many([("b", "b = 'x'"), ("a = 1", "a = 1")])
    index.add("never", "never = 1")  # has the number of the domain that was taken back
    assert ranks(index, "never", "a = 1") == [0, 1]
    assert index._shard.store.typical().marginals(2).carried.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("counting:max_cap=5", "counting has no option 'max_cap'; it has strict"),
        ("nothing:max_cap=5", "there is no engine 'nothing'"),
        (7, "there is no engine 7"),
        ("betree:", "expected an option and its value behind the colon"),
        ("betree:max_cap", "betree: max_cap must be a whole number, not ''"),
        ("betree:max_cap=1_0", "betree: max_cap must be a whole number, not '1_0'"),
        ("betree:max_cap=5,max_cap=7", "max_cap is given twice"),
        ("betree:min_size=0", "min_size must be at least 1 and at most"),
        ("betree:cap=5", "betree has no option 'cap'; it has max_cap"),
    ],
)
def test_bad_options(spec, says):
    with pytest.raises(tw.EngineError, match=says):
        tw.Index(spec)


def test_options_are_kept_and_shown(tmp_path):
    index = tw.Index("betree : max_cap = 7, min_size=2").add("a", "x = 1")
    assert repr(index) == "<Index of 1 subscription, engine betree:max_cap=7,min_size=2>"
    index.save(tmp_path / "idx")
    loaded = tw.Index.load(tmp_path / "idx")
    assert loaded.inspect.get_stats()["engine"] == "betree:max_cap=7,min_size=2"
    assert loaded._shard.engine.option["max_cap"] == 7


def test_an_index_is_a_mapping():
    index = tw.Index().add_many({"a": "x = 1", 2: "y LIKE 'b%'"})
    assert isinstance(index, Mapping)
    assert dict(index.items()) == {"a": tw.parse("x = 1"), 2: tw.parse("y LIKE 'b%'")}
    assert list(index.keys()) == ["a", 2]
    assert list(index.values()) == [index["a"], index[2]]
    assert index.get("a") == tw.parse("x = 1")
    assert index.get("b") is None
    assert index.get("b", "other") == "other"
    assert index.get(2.5) is None
    assert dict(index.iter_texts()) == {"a": "x = 1", 2: "y LIKE 'b%'"}
    assert "a" not in index.discard("a")
    assert len(index.discard("a")) == 1
    with pytest.raises(tw.IdError):
        index.discard(2.5)
    assert index != tw.Index()
    assert {index: 1}[index] == 1


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_a_copy_is_independent(engine, how):
    index = tw.Index(engine, schema={"n": "int"}).add_many((i, f"n = {i % 10} OR s = 'v{i}'") for i in range(200))
    index.match({"n": "x"})
    other = how(index)
    assert other.schema == index.schema
    assert other.inspect.get_stats()["mismatches"] == index.inspect.get_stats()["mismatches"] == {"n": 1}
    other.remove_many(range(100)).add("new", "n = 3")
    index.remove_many(range(150, 200)).add("old", "n = 3")
    assert other.match({"n": 3}) == [*range(103, 200, 10), "new"]
    assert index.match({"n": 3}) == [*range(3, 150, 10), "old"]
    verify_index(other)
    verify_index(index)


def test_options_as_keywords():
    index = tw.Index("psthash", access=3)
    assert repr(index) == "<Index of 0 subscriptions, engine psthash:access=3>"
    assert tw.Index("psthash:access=3")._shard.engine.option == index._shard.engine.option
    for options, error in [
        ({"acces": 3}, "has no option 'acces'; it has access"),
        ({"access": 9}, "must be at least 1 and at most 4"),
        ({"access": 2.5}, "whole number"),
        ({"access": True}, "whole number"),
        ({"access": "2"}, "whole number"),
    ]:
        with pytest.raises(tw.EngineError, match=error):
            tw.Index("psthash", **options)
    with pytest.raises(tw.EngineError, match="given twice"):
        tw.Index("psthash:access=2", access=3)


def test_scores_of_those_that_are_still_there():
    index = tw.Index().add("a", "x > 1", score=1).add("b", "x > 1", score=2)
    with pytest.raises(tw.UnknownId):
        index.set_scores({"a": 5, "gone": 7})
    assert index.get_subscription("a").score == 1
    assert index.set_scores({"a": 5, "gone": 7}, missing="ignore").top_k({"x": 2}) == [("a", 5.0), ("b", 2.0)]
    with pytest.raises(tw.ArgumentError, match="'raise' or 'ignore'"):
        index.set_scores({}, missing="no")


def test_items_are_of_one_moment():
    index = tw.Index().add_many({n: f"x = {n}" for n in range(10)})
    found = []
    for id_, expression in index.items():
        index.discard(9 - id_)
        found.append((id_, str(expression)))
    assert found == [(n, f"x = {n}") for n in range(10)]
    assert len(index) == 0
    assert [str(one) for one in tw.Index().add(1, "x = 1").values()] == ["x = 1"]
    assert (1, tw.parse("x = 1")) in tw.Index().add(1, "x = 1").items()


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


def test_nothing_else_is_an_answer_to_errors():
    with pytest.raises(tw.ArgumentError, match="'raise' or 'quarantine'"):
        tw.Index().add_many({}, errors="ignore")


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
