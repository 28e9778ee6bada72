"""`kindex`: inequality, subscriptions over too many spaces, and events with several values."""

import numpy as np
import pytest

import tellwhen as tw
from support import register_variant
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.papers.be_tree.kindex.engine import KIndex, KIndexWeak
from tellwhen.papers.be_tree.kindex.kernels import find_first_nearby, insert_in_order

pytestmark = pytest.mark.late


def build_engine(engine, texts):
    store = Store()
    store.append(store.compile(tw.parse(text) for text in texts))
    made = engine(store)
    made.insert(store.find_alive())
    made.rebuild()
    made.verify()
    return made


def match(engine, event):
    events, _ = encode([event], engine.source.attributes, tw.Schema())
    return set(engine.reader().match(events).slot.tolist())


@pytest.mark.parametrize("engine", [KIndex, KIndexWeak])
def test_inequality(engine):
    """Lists that exclude find conjunctions without the attributes of inequalities; none of them may be a match."""
    texts = ["a <> 3 AND b = 1", "a NOT IN (3, 5)", "a <> 3 AND c NOT IN (1)", "b = 1", "a > 4 AND a < 7 AND a <> 5"]
    made = build_engine(engine, texts)
    sizes = np.diff(made._index.size_start).tolist()
    assert sizes == ([0, 3, 2] if engine is KIndex else [2, 3])
    for event, wanted in [
        ({"b": 1}, {3}),
        ({"a": 3, "b": 1}, {3}),
        ({"a": 4, "b": 1}, {0, 1, 3}),
        ({"a": 5}, set()),
        ({"a": 6}, {1, 4}),
        ({"a": 4, "c": 1}, {1}),
        ({"a": 4, "c": 2}, {1, 2}),
        ({"a": 5, "c": 2}, {2}),
        ({"c": 2}, set()),
        ({}, set()),
    ]:
        assert match(made, event) == wanted, event


def test_a_list_excludes_few_values_where_others_allow_many():
    texts = [f"a <> {k}" for k in range(50)]
    postings = [len(build_engine(engine, texts)._index.postings) for engine in (KIndex, KIndexWeak)]
    spaces = 101  # of the 50 values, between them, and outside; in the other engine the list of size 0 has 50 postings
    assert postings == [50 * (spaces - 1), 50 + 50]


@pytest.mark.parametrize("engine", [KIndex, KIndexWeak])
def test_skips_of_all_lengths(engine):
    """A rare predicate makes cursors in long lists skip 1, 2, 3, ... postings, up to the ends of the lists."""
    rng = np.random.default_rng(1)
    subscriptions = []
    for k in range(3_000):
        parts = ["common = 1", f"other <> {k % 3}"]
        parts += ["rare = 1"] if rng.random() < 3 / (1 + k % 500) else []
        parts += [f"n BETWEEN {k % 7} AND {k % 11}"] if k % 2 else []
        subscriptions.append(parts)
    made = build_engine(engine, [" AND ".join(parts) for parts in subscriptions])
    for event in ({"common": 1, "other": 2, "rare": 1, "n": 5}, {"common": 1, "other": 1, "n": 2}, {"other": 0}):
        true = {f"{name} = {value}" for name, value in event.items()}
        true |= {f"other <> {k}" for k in range(3) if event["other"] != k}
        true |= {f"n BETWEEN {a} AND {b}" for a in range(7) for b in range(11) if a <= event.get("n", -1) <= b}
        assert match(made, event) == {k for k, parts in enumerate(subscriptions) if true.issuperset(parts)}


def test_each_cursor_goes_to_its_place():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        order = np.append(rng.integers(0, 9), np.sort(rng.integers(0, 9, rng.integers(0, 12))))
        wanted = sorted(order.tolist())
        insert_in_order(order, 0, len(order))
        assert order.tolist() == wanted


def test_a_galloping_search_finds_what_a_binary_search_finds():
    keys = np.array([1, 1, 4, 5, 6, 9, 12, 13, 20, 21, 22, 30, 31], dtype=np.int32)
    for start in range(len(keys) + 1):
        for end in range(start, len(keys) + 1):
            for point in range(33):
                wanted = start + np.searchsorted(keys[start:end], point)
                assert find_first_nearby(keys, start, end, point) == wanted, (start, end, point)


CHANGES = {
    "slot": lambda i: i._replace(slot=i.slot[::-1].copy()),
    "size": lambda i: i._replace(size_start=np.array([0, 0, 2, len(i.slot)])),
    "order": lambda i: i._replace(postings=i.postings[::-1].copy()),
    "lost": lambda i: i._replace(list_start=np.append(i.list_start[:-1], i.list_start[-1] - 1)),
    "moved": lambda i: i._replace(list_start=np.maximum(i.list_start, 1) - (np.arange(len(i.list_start)) == 0)),
    "domain": lambda i: i._replace(excluded_domain=i.excluded_domain + 1),
    "unindexed": lambda i: i._replace(unindexed=np.array([0], dtype=np.int32)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_finds_a_change(change):
    made = build_engine(KIndexWeak, ["a = 1 AND b > 2", "a = 2", "c <> 1", "a = 1 AND b <= 2 AND c <> 1"])
    made._index = CHANGES[change](made._index)
    with pytest.raises(AssertionError):
        made.verify()


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
