"""Does `auto` find the faster index of a segment, and is nothing lost on the way?"""

import itertools
import pickle
import random

import numpy as np
import pytest
from bench.loading import store_subscriptions

import tellwhen as tw
from support import make_seed_params, register_variant, verify_index, wait_for_upkeep
from tellwhen.engines import create
from tellwhen.engines.atree.kernels.match import match_tree
from tellwhen.engines.auto.engine import SETTLED_MIN, Auto, AutoLimits
from tellwhen.engines.auto.guessed_events import guess_events
from tellwhen.engines.auto.index_choice import (
    SAMPLE_SPEEDUP_MIN,
    SPEEDUP_MIN,
    TRIAL_SECONDS_MIN,
    IndexTimer,
    TrialLimits,
)
from tellwhen.engines.shared.calls import CallReader
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.testing.engine_checks import check_engine
from tellwhen.workloads import ABEGen, Targeting

pytestmark = pytest.mark.late


COMPILED_LIMITS = AutoLimits(uncompiled_settled_min=SETTLED_MIN)
"""Limits as if the kernels were compiled, whether they are or not."""


@pytest.fixture
def auto(registry):
    """The name of `auto` with the limits of compiled kernels."""
    return register_variant(Auto, limits=COMPILED_LIMITS)


@pytest.mark.parametrize("seed", make_seed_params(2, 20))
def test_graphs_in_segments_are_right(seed):
    check_engine("auto:pending=4,layout=2", seed, rounds=4)


def rules(count):
    return {i: f"(a = {i % 50} OR b < {i % 7}) AND (c = {i % 90} OR d > {i % 11})" for i in range(count)}


def set_times(monkeypatch, cover, graph, sample=None):
    """Give the indexes these seconds per event, and on a sample these."""
    asked = []

    def seconds(_, reader):
        index = reader._call.index.arrays
        slots = {*index.words.tolist()} if isinstance(reader, CallReader) else {*index.postings.slot.tolist()}
        is_sample = sample is not None and len(slots) < 6_000
        asked.append("sample" if is_sample else "all")
        return (sample if is_sample else (cover, graph))[isinstance(reader, CallReader)]

    monkeypatch.setattr(IndexTimer, "_measure_seconds_per_event", seconds)
    return asked


@pytest.mark.parametrize(
    ("cover", "graph", "is_graph"),
    [
        (1.0, 1.0 / SPEEDUP_MIN, True),
        (1.0, 1.01 / SPEEDUP_MIN, False),
        (1.0, 2.0, False),
        (0.9 * TRIAL_SECONDS_MIN, 0.0001 * TRIAL_SECONDS_MIN, False),
    ],
)
def test_the_faster_index_is_kept(monkeypatch, auto, cover, graph, is_graph):
    set_times(monkeypatch, cover, graph)
    index = tw.Index(auto).add_many(rules(SETTLED_MIN)).rebuild()
    assert index.inspect.get_stats()[auto]["in atree"] == (SETTLED_MIN if is_graph else 0)
    assert ("in a graph in which equal parts are one node (atree)" in str(index.inspect.describe_engine())) == is_graph
    assert len(index.match({"a": 3, "d": 100})) == len(range(3, SETTLED_MIN, 50))


def test_a_small_segment_is_not_timed(monkeypatch, auto):
    asked = set_times(monkeypatch, 1.0, 0.1)
    index = tw.Index(auto).add_many(rules(SETTLED_MIN - 1)).rebuild()
    assert index.inspect.get_stats()[auto]["in atree"] == 0
    assert asked == []


@pytest.mark.parametrize(
    ("sample", "is_tried"), [(1.0 / SAMPLE_SPEEDUP_MIN - 0.01, True), (1.0 / SAMPLE_SPEEDUP_MIN + 0.01, False)]
)
def test_of_a_large_segment_a_sample_is_tried_first(monkeypatch, registry, sample, is_tried):
    auto = register_variant(Auto, limits=COMPILED_LIMITS._replace(trials=TrialLimits(sampled_slots=1_000)))
    asked = set_times(monkeypatch, 1.0, 0.5, sample=(1.0, sample))
    # Of this many different slots the sample has less than half.
    index = wait_for_upkeep(tw.Index(auto).add_many(rules(12_000)))
    assert asked == ["all", "sample", "sample", *(["all", "all"] if is_tried else [])]
    assert index.inspect.get_stats()[auto]["in atree"] == (12_000 if is_tried else 0)


def test_nobody_waits_for_kernels_of_a_small_graph(monkeypatch, registry):
    set_times(monkeypatch, 1.0, 0.1)
    auto = register_variant(Auto, limits=AutoLimits(uncompiled_settled_min=3_000))
    monkeypatch.setattr("tellwhen.engines.auto.engine.is_compiled_or_cached", lambda kernel: kernel is not match_tree)
    assert tw.Index(auto).add_many(rules(2_999)).rebuild().inspect.get_stats()[auto]["in atree"] == 0
    assert tw.Index(auto).add_many(rules(3_000)).rebuild().inspect.get_stats()[auto]["in atree"] == 3_000


def test_it_is_found_in_the_background_and_saved(monkeypatch, auto, tmp_path):
    set_times(monkeypatch, 1.0, 0.1)
    index = wait_for_upkeep(tw.Index(auto).add_many(rules(12_000)))
    assert index.inspect.get_stats()[auto]["in atree"] == 12_000
    event = {"a": 3, "b": 2, "c": 8, "d": 5}
    index.remove(3).add("new", "a = 3 AND c = 8")
    want = index.match(event)
    assert "new" in want
    index.save(tmp_path / "index")
    again = tw.Index.load(tmp_path / "index")
    assert again.inspect.get_stats()[auto]["in atree"] == 12_000
    assert again.match(event) == want
    assert not again._shard.engine.is_due()
    verify_index(again)


def test_a_copy_knows_what_is_not_settled(monkeypatch, auto):
    set_times(monkeypatch, 1.0, 0.1)
    index = tw.Index(auto)
    with monkeypatch.context() as idle:
        idle.setattr(
            "tellwhen.index.state.Contents.start_due_upkeep", lambda self: None
        )  # it is copied before the background has begun
        copied = pickle.loads(pickle.dumps(index.add_many(rules(12_000))))
    assert copied.inspect.get_stats()[auto]["in atree"] == 0
    assert wait_for_upkeep(copied.add("new", "a = 1")).inspect.get_stats()[auto]["in atree"] == 12_000


def test_typical_events_decide_again(monkeypatch, auto):
    set_times(monkeypatch, 1.0, 0.1)
    index = tw.Index(auto).add_many(rules(5_000)).rebuild()
    assert index.inspect.get_stats()[auto]["in atree"] == 5_000
    set_times(monkeypatch, 1.0, 2.0)
    index.optimize_for([{"a": 1, "c": 2}])
    assert index.inspect.get_stats()[auto]["in atree"] == 0


@pytest.mark.parametrize("layout", [1, 2])
def test_a_merge_of_long_expressions_keeps_the_memory_limit(layout):
    rng = random.Random(1)

    def draw_term():
        return f"(a{rng.randrange(400)} = {rng.randrange(999)} AND b{rng.randrange(40)} > {rng.randrange(999)})"

    long = {k: " OR ".join(draw_term() for _ in range(200)) for k in range(60)}
    taken = sum(tw.Index("auto:pending=1000").add_many(long).inspect.get_stats()["bytes"].values())
    limit = taken + 100_000
    index = tw.Index(f"auto:pending=4,layout={layout}", memory_limit=limit).add_many(long)
    assert sum(wait_for_upkeep(index).inspect.get_stats()["bytes"].values()) <= limit
    index.add("more", "x = 1")


def test_what_a_merge_has_overtaken_is_dropped():
    store, slots = store_subscriptions(ABEGen(total=5_000), 5_000)
    engine = create("auto:layout=2", store)
    engine.insert(slots[:4_600])
    engine.run_upkeep()
    engine.insert(slots[4_600:])
    first = engine.upkeep()
    first.run()
    assert first.finish()
    work = engine.upkeep()
    work.run()
    engine._merge_now(len(engine._segments))
    assert not work.finish()
    engine.run_upkeep()
    engine.verify()
    assert engine.stats()["in atree"] == engine.stats()["subscriptions"] == 5_000


@pytest.mark.parametrize(("layout", "atree"), [(1, 0), (2, 300)])
def test_the_option_decides(layout, atree):
    index = tw.Index(f"auto:layout={layout},pending=4").add_many(rules(300)).rebuild()
    assert index.inspect.get_stats()["auto"]["in atree"] == atree


def test_what_is_timed_is_not_counted():
    """Scratch is shared: what one index counts there may not be added to what another has met."""
    index = tw.Index("auto:layout=1").add_many(rules(2_000)).rebuild()
    event = {"a": 3, "b": 2, "c": 8, "d": 5}
    index.match(event)
    once = index.inspect.describe_engine().observed_candidates
    other = tw.Index("cover").add_many(rules(3_000))
    for _ in range(3):
        other.match(event)
        index.match(event)
    assert index.inspect.describe_engine().observed_candidates == once > 0


def test_counting_begins_again_with_a_graph(monkeypatch, auto):
    set_times(monkeypatch, 1.0, 2.0)
    index = tw.Index(auto).add_many(rules(2_000)).rebuild()
    index.match({"a": 3, "b": 2, "c": 8, "d": 5})
    assert index.inspect.describe_engine().matched_events == 1
    set_times(monkeypatch, 1.0, 0.1)
    engine = index._shard.engine
    engine._segments = tuple(segment._replace(is_settled=False) for segment in engine._segments)
    index.add("new", "a = 1")  # which has the background look for work
    assert wait_for_upkeep(index).inspect.get_stats()[auto]["in atree"] == 2_000
    assert index.inspect.describe_engine().matched_events == 0


def test_a_removed_subscription_is_not_counted_as_pending():
    index = tw.Index("auto:pending=100").add_many(rules(20)).remove(3)
    assert [part.subscriptions for part in index.inspect.describe_engine().parts] == [19]
    assert [
        part.subscriptions for part in tw.Index("cover").add_many(rules(20)).remove(3).inspect.describe_engine().parts
    ][-1] == 19


@pytest.mark.slow
@pytest.mark.parametrize(("work", "is_graph"), [(ABEGen(total=20_000), True), (Targeting(), False)])
def test_the_clock_decides(registry, work, is_graph):
    auto = register_variant(Auto, limits=COMPILED_LIMITS._replace(trials=TrialLimits(seconds_min=0.0)))
    store, slots = store_subscriptions(work, 20_000)
    engine = create(auto, store)
    engine.insert(slots)
    engine.run_upkeep()
    assert engine.stats()["in atree"] == (20_000 if is_graph else 0)


# guessed events


def guess(*texts, count=64):
    index = tw.Index("scan").add_many(enumerate(texts))
    store = index._shard.store
    names = [(domain.attribute, domain.kind) for domain in store.attributes.domains]
    events = guess_events(store.snapshot(), np.arange(len(texts), dtype=np.int32), store.is_presence(), count)
    found = []
    for begin, end in itertools.pairwise(events.start.tolist()):
        assert np.all(np.diff(events.domain[begin:end]) > 0)
        found.append({names[d]: p for d, p in zip(events.domain[begin:end], events.low[begin:end], strict=True)})
    assert np.array_equal(events.low, events.high)
    assert not np.isin(events.low, (LOWEST, HIGHEST)).any()
    return found, index


def test_a_value_that_is_asked_for_occurs():
    found, index = guess("x = 5", "x = 7", "x IN (9, 11)")
    values = {event["x", "int"] for event in found}
    points = index._shard.store.snapshot().predicates.low
    assert values == set(points.tolist())


def test_between_the_ends_of_ranges_all_values_are_likely():
    found, _ = guess("x > 100", "x < 500", "x BETWEEN 200 AND 300")
    values = np.array([event["x", "int"] for event in found]) / 2
    assert len(set(values.tolist())) > 30
    assert np.all(values % 1 == 0)
    assert values.min() >= 100
    assert values.max() <= 500


def test_an_event_has_the_attributes_of_a_few_subscriptions():
    found, _ = guess(*(f"a{i} = 1 AND b{i} = 2" for i in range(100)))
    assert {len(event) for event in found} <= {2, 4, 6}


def test_events_of_odd_subscriptions_are_guessed():
    found, _ = guess("TRUE", "x IS NULL", "y IS NOT NULL", "z LIKE '%a%'", "NOT s = 'q'", "FALSE")
    assert all(("x", "presence") in event and ("y", "presence") in event for event in found)
    assert guess("TRUE")[0] == [{}] * 64


def test_guesses_are_the_same_every_time():
    assert guess("x > 1 AND y < 5", "z = 'a'")[0] == guess("x > 1 AND y < 5", "z = 'a'")[0]
