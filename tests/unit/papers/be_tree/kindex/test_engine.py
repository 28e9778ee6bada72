"""`kindex`: inequality, subscriptions over too many spaces, and events with several values."""

import pytest

import tellwhen as tw
from support import register_variant
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.engines.base import REGISTRY
from tellwhen.papers.be_tree.kindex.engine import KIndex, KIndexWeak

pytestmark = pytest.mark.late


@pytest.mark.parametrize("engine", [KIndex, KIndexWeak])
def test_weak_and_strong_inequality(engine):
    """BE-Tree 7.2: under the weak semantics an inequality is also true where the attribute is missing."""
    assert REGISTRY["kindex"] is KIndex
    store = Store()
    texts = ["a <> 3 AND b = 1", "a NOT IN (3, 5)", "a <> 3 AND c NOT IN (1)", "b = 1", "a > 4 AND a < 7 AND a <> 5"]
    store.append(store.compile(tw.parse(text) for text in texts))
    made = engine(store)
    made.insert(store.find_alive())
    made.rebuild()
    weak = engine is KIndexWeak
    for event, strong, more in [
        ({"b": 1}, {3}, {0, 1, 2}),
        ({"a": 3, "b": 1}, {3}, set()),
        ({"a": 5}, set(), {2}),
        ({"a": 6}, {1, 4}, {2}),
        ({"a": 4, "c": 1}, {1}, set()),
        ({"a": 4, "c": 2}, {1, 2}, set()),
        ({}, set(), {1, 2}),
    ]:
        events, _ = encode([event], store.attributes, tw.Schema())
        assert set(made.reader().match(events).slot.tolist()) == (strong | more if weak else strong), event


@pytest.mark.slow
def test_ranges_over_too_many_spaces_are_tested_one_by_one(registry):
    index = tw.Index(register_variant(KIndex, spaces_max=20)).add_many([(i, f"a = {i}") for i in range(50)])
    index.add_many([("wide", "a >= 5 AND b = 1"), ("narrow", "a BETWEEN 5 AND 9 AND b = 1")]).rebuild()
    assert index._shard.engine._index.unindexed.tolist() == [50]
    assert set(index.match({"a": 7, "b": 1})) == {7, "wide", "narrow"}
    assert set(index.match({"a": 40, "b": 1})) == {40, "wide"}


@pytest.mark.parametrize("built", [False, True])
def test_events_with_several_values(built):
    index = tw.Index("kindex").add("both", "tag = 'red' AND tag = 'large'").add("apart", "price >= 10 AND price <= 4")
    index.add_many({k: f"price = {k}" for k in range(3)})
    if built:
        index.rebuild()
    assert index.match({"tag": ["red", "large"]}) == ["both"]
    assert index.match({"tag": ["red", "blue"]}) == []
    assert index.match({"price": tw.Interval(1, 20)}) == ["apart", 1, 2]
    events = [{"price": 1}, {"price": tw.Interval(1, 20)}, {"tag": "red"}, {"tag": ["large", "red"]}]
    found = index.match_many(events).to_pydict()
    assert sorted(zip(found["event_id"], map(str, found["subscription_id"]), strict=True)) == [
        (0, "1"), (1, "1"), (1, "2"), (1, "apart"), (3, "both"),
    ]  # fmt: skip


def test_a_subscription_over_too_many_spaces_is_left_out_as_a_whole(registry):
    index = tw.Index(register_variant(KIndex, spaces_max=20)).add_many([(i, f"a = {i}") for i in range(50)])
    index.add("either", "a >= 5 OR b = 1").rebuild()
    assert index.match({"a": 100, "b": 1}) == ["either"]
    assert index.match({"b": 1}) == ["either"]
    assert index.match({"a": 7, "b": 2}) == [7, "either"]
