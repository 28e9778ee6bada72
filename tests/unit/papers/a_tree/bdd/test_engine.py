"""The diagram of `bdd`: its worked example, what shares a root, and what happens where a budget ends."""

import random
from itertools import pairwise, product

import numpy as np
import pytest
from bench.loading import encode_events, store_subscriptions

import tellwhen as tw
from support import make_seed_params, verify_index
from tellwhen.encode.events import encode
from tellwhen.engines import create
from tellwhen.engines.shared import calls
from tellwhen.papers.a_tree.bdd.arrays import TERMINALS
from tellwhen.papers.a_tree.bdd.diagram import Capacity
from tellwhen.testing.engine_checks import check_engine, to_pairs
from tellwhen.workloads import ABEGen

pytestmark = pytest.mark.late

FIGURE_3 = "(P1 = 1 OR P2 = 1 OR P3 = 1) AND P4 = 1 AND (P5 = 1 OR P6 = 1)"


def build_index(expressions, **options):
    return tw.Index("bdd", **options).add_many(dict(enumerate(expressions))).rebuild()


def stats(index):
    verify_index(index)
    return index._shard.engine.stats()


def event(true):
    return {f"P{k}": int(k in true) for k in range(1, 7)}


def test_figure_3():
    index = build_index([FIGURE_3])
    assert stats(index)["nodes"] == 6
    nodes = index._shard.engine._index.nodes
    assert sorted(nodes.predicate[TERMINALS:].tolist()) == [0, 1, 2, 3, 4, 5]  # each is tested once
    for values in product((False, True), repeat=6):
        one, two, three, four, five, six = values
        wanted = (one or two or three) and four and (five or six)
        assert bool(index.match(event({k for k, value in enumerate(values, 1) if value}))) == wanted


@pytest.mark.parametrize("down", [0, 1])
def test_a_diagram_is_matched_from_below_or_from_its_roots(down):
    index = build_index([FIGURE_3, "P4 = 1 AND P5 = 1", "P6 = 1", "TRUE"], down=down)
    assert index.match(event({1, 4, 5})) == [0, 1, 3]
    assert index.match(event({4, 5})) == [1, 3]
    assert index.match(event({2, 4, 6})) == [0, 2, 3]
    assert index.match(event({})) == [3]
    assert stats(index)["roots"] == 3
    assert bool(len(index._shard.engine._index.upward.records)) != bool(down)


@pytest.mark.parametrize("seed", make_seed_params(1, 6))
def test_walking_down_finds_the_same(seed):
    check_engine("bdd:down=1", seed, rounds=3)


def test_equal_functions_share_a_root():
    index = build_index(
        [
            FIGURE_3,
            "P4 = 1 AND (P6 = 1 OR P5 = 1) AND (P3 = 1 OR P1 = 1 OR P2 = 1)",
            "(P4 = 1 AND P5 = 1 OR P4 = 1 AND P6 = 1) AND (P1 = 1 OR P2 = 1 OR P3 = 1 OR P1 = 1 AND P4 = 1)",
            "P4 = 1 AND P5 = 1",
        ]
    )
    assert stats(index)["roots"] == 2
    assert index.match(event({2, 4, 6})) == [0, 1, 2]
    assert index.match(event({2, 4, 5})) == [0, 1, 2, 3]
    assert index.match(event({2, 5})) == []


def test_parts_are_shared():
    """The second expression is a node of the first one's diagram, and adds none."""
    alone = stats(build_index([FIGURE_3]))["nodes"]
    both = build_index([FIGURE_3, "P1 = 1 OR P2 = 1 OR P3 = 1"])
    assert stats(both)["nodes"] == alone
    assert stats(both)["roots"] == 2
    assert both.match(event({3})) == [1]


def test_a_predicate_and_its_negation_are_two_variables():
    index = build_index(["x = 1 AND NOT x = 1", "x = 1 OR NOT x = 1", "x = 1 XOR y = 1", "TRUE", "FALSE"])
    assert stats(index)["nodes"] > 0
    assert index.match({"x": 1}) == [1, 3]
    assert index.match({"x": 2, "y": 1}) == [1, 2, 3]
    assert index.match({"x": [1, 2]}) == [1, 3]  # NOT x = 1 must hold for all values
    assert index.match({}) == [3]  # nothing is true without a predicate, save TRUE
    assert index._shard.engine.find_always_tested().tolist() == [3]


def test_only_what_is_true_is_looked_at():
    index = build_index([f"a = {k} AND b = 1" for k in range(1_000)])
    arrays, _ = encode([{"a": 7, "b": 2}, {"a": 7, "b": 1}, {"b": 2}], index._shard.store.attributes, tw.Schema())
    candidates, parents = index._shard.engine.reader()._call.count_effort(arrays)
    assert candidates == 1
    assert parents <= 2 * 1_000  # of b = 1


def test_an_event_that_does_not_fit_the_output_is_matched_again(monkeypatch):
    monkeypatch.setattr(calls, "_matches_per_event", {})
    index = build_index(["a = 1 AND b = 1"] * 5_000 + ["b = 1", "c = 1", "a = 1 AND c = 1"])
    events = [{"a": [1, 2], "b": [1, 2]}, {"c": 1}, {"b": [1, 2]}]
    found = sorted(to_pairs(index.match_many(events)))
    assert [id_ for number, id_ in found if number == 0] == [*range(5_001)]
    assert [pair for pair in found if pair[0]] == [(1, 5_001), (2, 5_000)]


# budgets


def pairs(count):
    """An OR of ANDs whose diagram doubles with every pair: all first operands come before all second ones."""
    first = " AND ".join(f"x{k} = 1" for k in range(count))
    return f"({first} AND y = 0) OR {' OR '.join(f'(x{k} = 1 AND z{k} = 1)' for k in range(count))}"


def test_an_expression_over_budget_is_run():
    expressions = [pairs(14), FIGURE_3, pairs(4), " OR ".join(f"w{k} = 1" for k in range(300))]
    index = build_index(expressions, nodes=200)
    found = stats(index)
    assert found["listed"] == 2
    assert found["roots"] == 2
    assert index._shard.engine.find_always_tested().tolist() == [0, 3]
    assert index.match({"x3": 1, "z3": 1}) == [0, 2]
    assert index.match({"x13": 1, "z13": 1, "w299": 1}) == [0, 3]
    assert index.match({"x13": 1, "z12": 1} | event({1, 4, 5})) == [1]
    assert stats(build_index(expressions))["listed"] == 1


def test_what_was_over_budget_leaves_no_trace():
    """The nodes of an expression that was given up are dropped, and those that come later are right."""
    rng = random.Random(3)
    texts = [pairs(12) for _ in range(3)]
    for k in range(60):
        parts = [f"(a{rng.randrange(9)} = 1 OR x{rng.randrange(12)} = 1)" for _ in range(4)]
        texts.append(" AND ".join(parts))
        texts += [pairs(12)] * (k % 7 == 0)
    index, plain = build_index(texts, nodes=64), tw.Index("scan").add_many(dict(enumerate(texts)))
    assert stats(index)["listed"] == 3 + 9
    for _ in range(50):
        given = {f"{name}{k}": 1 for name in "axz" for k in range(12) if rng.random() < 0.4}
        assert sorted(index.match(given)) == sorted(plain.match(given))


def test_the_diagram_as_a_whole_has_a_budget():
    work = ABEGen(total=2_000)
    store, slots = store_subscriptions(work, 2_000)
    events = encode_events(work, 50, store)
    rivals = [create(spec, store) for spec in ("bdd:nodes=512,total=16384", "scan")]
    for rival in rivals:
        rival.insert(slots)
    rivals[0].verify()
    found = rivals[0].stats()
    assert 0 < found["nodes"] <= 16_384
    assert 0 < found["listed"] < 2_000
    assert list_matches(rivals[0], events) == list_matches(rivals[1], events)


def list_matches(engine, events):
    start, slot = engine.reader().match(events)
    return [sorted(slot[a:b].tolist()) for a, b in pairwise(start.tolist())]


@pytest.mark.parametrize("nodes", [64, 1 << 14])
def test_arrays_grow_and_garbage_is_collected(nodes):
    work = ABEGen(total=600)
    store, slots = store_subscriptions(work, 600)
    events = encode_events(work, 50, store)
    bulk, grown, fresh, scan = (create(name, store) for name in ("bdd", "bdd", "bdd", "scan"))
    for engine in (bulk, grown, fresh):
        engine.capacity = Capacity(nodes, cache=64)
    bulk.insert(slots)
    scan.insert(slots)
    for some in np.array_split(slots, 6):
        grown.insert(some)
        grown.verify()
    assert grown.stats()["nodes"] == bulk.stats()["nodes"]  # reduced diagrams of the same functions are equal
    assert list_matches(grown, events) == list_matches(bulk, events) == list_matches(scan, events)
    gone = slots[::3].copy()
    store.remove(gone)
    for engine in (grown, bulk, scan):
        engine.delete(gone)
    grown.verify()
    assert grown.stats()["removed"] == 0  # merged
    fresh.insert(store.find_alive())
    assert grown.stats()["nodes"] == fresh.stats()["nodes"]
    assert list_matches(grown, events) == list_matches(bulk, events) == list_matches(scan, events)


def test_long_and_deep_expressions():
    long = [f" {connective} ".join(f"v{k} = 1" for k in range(10_000)) for connective in ("AND", "OR")]
    deep = "d = 0"
    for k in range(98):
        deep = f"({deep}) {('AND', 'OR')[k % 2]} e{k} = 1"
    index = build_index([*long, deep], nodes=1 << 15)
    assert stats(index)["listed"] == 0
    assert index.match({"v9999": 1}) == [1]
    assert index.match({f"v{k}": 1 for k in range(10_000)}) == [0, 1]
    assert index.match({"e97": 1}) == [2]
    assert stats(build_index([*long, deep]))["listed"] == 2
