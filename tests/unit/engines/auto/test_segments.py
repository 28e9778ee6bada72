"""Does `auto` keep everything while its segments are merged in the background, and does nobody wait for that?"""

import gc
import itertools
import logging
import random
import subprocess
import sys
import threading
import time
import weakref

import pytest

import tellwhen as tw
from support import limit_index, register_variant, set_thresholds, verify_index, wait_for_upkeep
from tellwhen.engines.auto.engine import Auto, AutoLimits
from tellwhen.engines.auto.segments import MERGE_RATIO, count_groups_to_merge
from tellwhen.engines.auto.upkeep import Merge
from tellwhen.index.limits import CompactionLimits
from tellwhen.index.maintenance import background
from tellwhen.index.maintenance.compaction import Compaction
from tellwhen.index.shard import Shard
from tellwhen.language.schema import Schema
from tellwhen.testing.engine_checks import check_matches, random_event, random_expression
from tellwhen.warehouse.opening import copy_subscriptions

pytestmark = pytest.mark.late


def sizes(index):
    return index.inspect.get_stats()["auto"]["segments"]


def test_small_segments_are_merged_into_larger_ones():
    index, known = tw.Index("auto", pending=4), {}
    rng = random.Random(3)
    for i in range(300):
        known[i] = random_expression(rng, depth=2)
        index.add(i, known[i])
        if i % 20 == 0:
            wait_for_upkeep(index)
            found = sizes(index)
            assert all(large >= MERGE_RATIO * small for large, small in itertools.pairwise(found)), found
            assert sum(found) + index.inspect.get_stats()["auto"]["pending"] == len(index) == i + 1
    check_matches(wait_for_upkeep(index), known, [random_event(rng) for _ in range(20)])
    verify_index(index)


@pytest.mark.parametrize(
    ("known", "fresh", "merged"),
    [
        ([], 5, 0),
        ([100], 5, 0),
        ([100], 25, 0),
        ([100], 26, 1),
        ([100, 10], 3, 1),
        ([100, 20], 6, 2),
        ([400, 90, 3], 1, 1),
    ],
)
def test_what_is_merged(known, fresh, merged):
    assert count_groups_to_merge(known, fresh) == merged


def test_nobody_waits_for_a_merge(merge_gate):
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(6))
    assert merge_gate.arrivals.acquire(timeout=60)
    # It is under way, and does not go on: changes are made and seen meanwhile.
    index.add("new", "x = 1 AND y = 2").remove(1)
    assert index.match({"x": 1, "y": 2}) == [4, "new"]
    assert index.match_many([{"x": 1}])["subscription_id"].to_pylist() == [4]
    assert sizes(index) == []
    merge_gate.permits.release(10)
    assert sizes(wait_for_upkeep(index)) == [6]
    assert index.inspect.get_stats()["auto"] | {"bytes": 0} == {
        "subscriptions": 6, "removed": 1, "pending": 1, "segments": [6], "in atree": 0, "bytes": 0,
    }  # fmt: skip
    assert index.match({"x": 1, "y": 2}) == [4, "new"]


def test_labels_move_while_a_merge_is_made(merge_gate, monkeypatch):
    """It was begun with the old labels."""
    set_thresholds(monkeypatch, stride=8)
    known = {i: tw.parse(f"s = 'm{i:03}' OR s < 'b{i:03}'") for i in range(8)}
    index = tw.Index("auto", pending=4).add_many(known)
    assert merge_gate.arrivals.acquire(timeout=60)
    before = index._shard.store.attributes
    for i in range(8, 40):  # into the same gap
        known[i] = tw.parse(f"s >= 'm0005{i:03}' AND s STARTS WITH 'm0'")
        index.add(i, known[i])
    assert index._shard.store.attributes is not before
    merge_gate.permits.release(1000)
    events = (
        [{"s": f"m{i:03}"} for i in range(12)] + [{"s": f"m0005{i:03}"} for i in range(50)] + [{"s": "a"}, {"s": "z"}]
    )
    check_matches(wait_for_upkeep(index), known, events)
    verify_index(index)
    assert sizes(index)


@pytest.mark.parametrize("layout", [1, 2])
def test_labels_of_segments_move(monkeypatch, layout):
    set_thresholds(monkeypatch, stride=8)
    index, known = tw.Index("auto", pending=1, layout=layout), {}
    rng = random.Random(5)
    words = [f"w{rng.randrange(10**6):06}" for _ in range(150)]
    for i, word in enumerate(words):
        operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "STARTS WITH"])
        known[i] = tw.parse(f"s {operator} '{word[: rng.randint(2, 7)]}' AND (t = '{rng.choice(words)}' OR s > 'w5')")
        index.add(i, known[i])
        if i % 7 == 0:
            wait_for_upkeep(index)
    events = [{"s": rng.choice(words)[: rng.randint(3, 7)], "t": [rng.choice(words), "q"]} for _ in range(100)]
    check_matches(wait_for_upkeep(index), known, events)


def test_a_change_that_is_taken_back_loses_no_segment(monkeypatch):
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(100))
    wait_for_upkeep(index).add("p", "x = 9")
    before = index._shard.engine._segments
    with monkeypatch.context() as broken:
        broken.setattr("tellwhen.index.shard.Shard._delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.add("p", "x = 1", replace=True)
    assert index._shard.engine._segments is before
    assert index.match({"x": 9}) == ["p"]
    assert len(index.match({"x": 1})) == 33
    index.add("q", "x = 9")
    assert index.match({"x": 9}) == ["p", "q"]


def test_a_merge_that_a_change_has_overtaken_is_dropped(merge_gate):
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(20))
    assert merge_gate.arrivals.acquire(timeout=60)
    index.rebuild()
    assert sizes(index) == [20]
    index.remove(4).add("late", "x = 1")
    merge_gate.permits.release(1000)
    assert sizes(wait_for_upkeep(index)) == [20]
    assert index.match({"x": 1}) == [1, 7, 10, 13, 16, 19, "late"]
    verify_index(index)


def test_a_merge_that_fails_loses_nothing(monkeypatch, caplog):
    with monkeypatch.context() as broken:
        broken.setattr(Merge, "run", lambda _: 1 / 0)
        with caplog.at_level(logging.ERROR):
            index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(20))
            for thread in list(background._running):
                thread.join(60)
        assert "the upkeep of an index failed" in caplog.text
        assert len(index.match({"x": 1})) == 7
    assert sizes(wait_for_upkeep(index.add("next", "x = 1"))) == [21]
    assert len(index.match({"x": 1})) == 8


def test_removed_ones_are_dropped():
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(400))
    wait_for_upkeep(index).remove_many(range(0, 400, 2))
    assert sum(sizes(wait_for_upkeep(index))) == 200
    assert index.inspect.get_stats()["auto"]["removed"] == 0
    wait_for_upkeep(index.remove_many(list(index)))
    assert sizes(index) == []
    assert index.match({"x": 1}) == []


def test_an_index_that_nobody_needs_is_freed_while_it_is_merged(merge_gate):
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(20))
    assert merge_gate.arrivals.acquire(timeout=60)
    gone = weakref.ref(index)
    del index
    gc.collect()
    assert gone() is None
    merge_gate.permits.release(10)
    for thread in list(background._running):
        thread.join(60)
    assert not background._running


def test_a_process_ends_while_an_index_is_merged():
    code = "import tellwhen as tw\nindex = tw.Index('auto', pending=1)\nfor i in range(300): index.add(i, f'x = {i}')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    messages = [line for line in done.stderr.splitlines() if not line.startswith("tellwhen: compiling")]
    assert (done.returncode, messages) == (0, [])


def test_a_copy_made_while_an_index_is_merged_is_whole(merge_gate, tmp_path):
    index = tw.Index("auto", pending=4).add_many((i, f"x = {i % 3}") for i in range(20))
    assert merge_gate.arrivals.acquire(timeout=60)
    index.save(tmp_path / "i")
    merge_gate.permits.release(100)
    loaded = tw.Index.load(tmp_path / "i")
    assert loaded.match({"x": 1}) == index.match({"x": 1}) == list(range(1, 20, 3))
    wait_for_upkeep(wait_for_upkeep(index).add("more", "x = 1")).save(tmp_path / "i")
    assert tw.Index.load(tmp_path / "i").match({"x": 1}) == [*range(1, 20, 3), "more"]


def test_many_at_a_time_are_indexed_at_once(registry):
    auto = register_variant(Auto, limits=AutoLimits(index_at_once=50))
    index = tw.Index(auto).add_many((i, f"x = {i % 3}") for i in range(51))
    assert index.inspect.get_stats()[auto]["segments"] == [51]
    assert index._contents.upkeep_thread is None


@pytest.mark.parametrize("count", [49, 50, 51])
def test_a_store_that_was_filled_from_elsewhere_is_indexed_whatever_its_size(monkeypatch, registry, count):
    """The engine indexes many at once by itself, the shard has it index the others."""
    set_thresholds(monkeypatch, pending=1)
    auto = register_variant(Auto, limits=AutoLimits(index_at_once=50))
    shard = make_filled_shard(auto, ((i, f"x = {i % 3}") for i in range(count)))
    assert shard.engines.stats()["segments"] == [count]


def make_filled_shard(engine, subscriptions):
    """A shard whose store was filled from elsewhere."""
    source = wait_for_upkeep(tw.Index().add_many(subscriptions))._shard
    shard = Shard.empty(engine, Schema())
    shard.store.attributes = source.store.attributes
    copy_subscriptions(shard, source, source.store.find_alive())
    shard.index_all(index_at_once=50)
    return shard


def test_so_is_what_is_over_the_budget_of_a_named_engine(monkeypatch):
    monkeypatch.setattr(Auto, "limits", AutoLimits(index_at_once=50))
    set_thresholds(monkeypatch, pending=1)
    too_complex = " AND ".join(f"(a{k} = 1 OR b{k} = 2)" for k in range(20))
    few = [(f"complex {i}", f"x = {i} AND {too_complex}") for i in range(5)]
    shard = make_filled_shard("betree", [*((i, f"x = {i}") for i in range(60)), *few])
    assert shard.engines.stats()["over budget"]["segments"] == [5]


def test_threads_match_while_another_adds_and_the_index_grows():
    index = tw.Index("auto", pending=8)
    stop, wrong = threading.Event(), []

    def look():
        while not stop.is_set():
            seen = len(index)
            ids = index.match({"x": 1})
            if ids != sorted(ids) or len(ids) < seen:
                wrong.append((seen, ids))

    watches = [threading.Thread(target=look) for _ in range(2)]
    for watch in watches:
        watch.start()
    for i in range(600):
        index.add(i, f"x = 1 AND (y{i % 50} IS NULL OR z = {i})")
    stop.set()
    for watch in watches:
        watch.join()
    assert not wrong
    assert wait_for_upkeep(index).match({"x": 1}) == list(range(600))


def test_an_expression_that_is_over_budget_is_beside_the_named_engine(tmp_path):
    complex_ = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12))
    index = tw.Index("counting").add("easy", "a0 = 1").add("complex", complex_).add("other", f"c = 1 OR ({complex_})")
    event = {f"a{i}": 1 for i in range(12)}
    assert index.match(event) == ["easy", "complex", "other"]
    assert index.inspect.get_stats()["counting"]["subscriptions"] == 3
    assert index.inspect.get_stats()["counting"]["over budget"]["subscriptions"] == 2
    assert index.rebuild().match(event) == ["easy", "complex", "other"]
    index.save(tmp_path / "i")
    loaded = tw.Index.load(tmp_path / "i")
    assert loaded.remove("complex").match(event) == ["easy", "other"]
    assert loaded.add("complex", "a0 = 2 OR a1 = 1").match(event) == ["easy", "other", "complex"]
    assert repr(loaded) == "<Index of 3 subscriptions, engine counting>"


def test_all_threads_or_one_give_the_same():
    index = tw.Index().add_many((i, f"x = {i % 7} OR y > {i}") for i in range(100))
    events = [{"x": i % 9, "y": i % 50} for i in range(1000)]
    alone = index.match_many(events, threads=1)
    assert index.match_many(events).equals(alone)
    assert index.match_many(events, threads=5).equals(alone)
    for wrong in 0, True, 1.5:
        with pytest.raises(tw.TellwhenError, match="threads must be a whole number of at least 1"):
            index.match_many(events, threads=wrong)


def test_waiting_for_the_lock_is_fair():
    """A thread that makes one change after the other lets the one go on that keeps the index up."""
    index = tw.Index("auto", pending=8)
    begin = time.perf_counter()
    count = 0
    while not sizes(index) and time.perf_counter() - begin < 60:
        index.add(count, f"x = {count % 5}")
        count += 1
    assert sizes(index)


@pytest.fixture
def pause_compactions(monkeypatch):
    """Compactions that wait, once they have begun, until they are let go."""
    begun, go_on = threading.Semaphore(0), threading.Semaphore(0)
    run = Compaction.run

    def run_when_released(compaction):
        begun.release()
        assert go_on.acquire(timeout=60)
        run(compaction)

    monkeypatch.setattr(Compaction, "run", run_when_released)
    yield begun, go_on
    go_on.release(1000)


BackgroundIndex = limit_index(compaction=CompactionLimits(removed_slots_min=50, inline_subscriptions_max=0))
"""Indexes that compact in the background, and soon."""


def sparse(engine="auto"):
    """An index that is being compacted, and what it has."""
    known = {i: tw.parse(f"x = {i % 7} AND s < 'word {i}'") for i in range(200)}
    index = BackgroundIndex(engine).add_many(known)
    for i in range(0, 200, 3):
        index.remove(i)
        del known[i]
    for i in range(1, 200, 3):
        known[i] = tw.parse(f"x = {i % 5} AND t = 'other {i}'")
        index.add(i, known[i], replace=True)
    return index, known


EVENTS = [{"x": i % 7, "s": f"word {i}", "t": f"other {i % 90}"} for i in range(60)]


@pytest.mark.parametrize("engine", ["auto", "betree", "counting"])
def test_an_index_forgets_the_removed_while_others_go_on(engine, pause_compactions):
    begun, go_on = pause_compactions
    index, known = sparse(engine)
    assert begun.acquire(timeout=60)
    before = index._shard
    for round_ in range(3):  # more than are caught up with at the end
        for i in range(100):
            known[f"new {round_} {i}"] = tw.parse(f"s = 'fresh {i}' OR x > {i}")
            index.add(f"new {round_} {i}", known[f"new {round_} {i}"])
        for id_ in [id_ for id_ in known if isinstance(id_, int)][:20]:
            index.remove(id_)
            del known[id_]
        known["new 0 1"] = tw.parse(f"x = {round_}")
        index.add("new 0 1", known["new 0 1"], replace=True)
        check_matches(index, known, EVENTS)
        go_on.release()
        if round_ < 2:
            assert begun.acquire(timeout=60)
    go_on.release(100)
    wait_for_upkeep(index)
    assert index._shard is not before
    assert len(index._shard.store) < len(before.store)
    check_matches(index, known, [*EVENTS, {"s": "fresh 7"}])
    assert {id_: index[id_] for id_ in index} == known
    verify_index(index)


def test_a_compaction_that_other_events_have_overtaken_is_made_again(pause_compactions):
    begun, go_on = pause_compactions
    index, known = sparse()
    assert begun.acquire(timeout=60)
    index.optimize_for(EVENTS)
    go_on.release(100)
    wait_for_upkeep(index)
    check_matches(index, known, EVENTS)
    assert index.profile.events == len(EVENTS)


def test_a_compaction_that_another_one_has_overtaken_is_dropped(pause_compactions):
    begun, go_on = pause_compactions
    index, known = sparse()
    assert begun.acquire(timeout=60)
    index._contents.compaction_limits = CompactionLimits(removed_slots_min=50, inline_subscriptions_max=10_000)
    before = index._shard
    index.remove(2)  # it is compacted within the change
    del known[2]
    assert index._shard is not before
    known["new"] = tw.parse("x = 1")
    index.add("new", known["new"])
    go_on.release(100)
    check_matches(wait_for_upkeep(index), known, EVENTS)


def test_compaction_in_the_background_needs_no_texts():
    index = BackgroundIndex("auto", texts=False, pending=10).add_many((i, f"x = {i % 3}") for i in range(300))
    for i in range(250):
        index.remove(i).add(1000 + i, "x = 1").remove(1000 + i)
    assert wait_for_upkeep(index).match({"x": 1}) == list(range(250, 300, 3))
    assert len(index._shard.store) < 150


def test_a_change_is_made_though_no_thread_can_be_started(monkeypatch, caplog):
    def start(_):
        raise RuntimeError("can't start new thread")

    index = tw.Index("auto", pending=4)
    with monkeypatch.context() as full, caplog.at_level(logging.WARNING, logger="tellwhen"):
        full.setattr(threading.Thread, "start", start)
        for i in range(12):
            index.add(i, f"x = {i}")
    assert "no thread can be started" in caplog.text
    assert not background._running
    assert index.match({"x": 11}) == [11]
    assert sizes(wait_for_upkeep(index.add("next", "x = 1"))) == [13]


@pytest.mark.slow
def test_an_id_is_found_while_another_thread_replaces_and_removes():
    before = sys.getswitchinterval()
    index = BackgroundIndex("auto", pending=8).add("x", "v = 1").add_many({f"k{i}": f"a = {i}" for i in range(50)})
    stop, wrong = threading.Event(), []

    def look():
        i = 0
        while not stop.is_set():
            i += 1
            try:
                if (
                    "x" not in index
                    or not str(index["x"]).startswith("v = ")
                    or str(index[f"k{i % 50}"]) != f"a = {i % 50}"
                ):
                    wrong.append(i)
            except Exception as error:
                wrong.append(error)

    watches = [threading.Thread(target=look) for _ in range(2)]
    sys.setswitchinterval(1e-5)
    try:
        for watch in watches:
            watch.start()
        for i in range(1500):
            index.add("x", f"v = {i % 50}", replace=True)
            index.add(i, "z = 1")
            if i % 40 == 39:
                index.remove_many(range(i - 39, i + 1))
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for watch in watches:
            watch.join()
    assert not wrong, wrong[:3]
