"""Listings keep the position of a subscription through replacement, compaction, saving and undone changes."""

from __future__ import annotations

import copy
import pickle
import random
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.index.ordinals import SLOTS_PER_CHUNK, Ordinals
from tellwhen.persistence import directory


def list_page(index: tw.Index, after: int, limit: int) -> list[tuple[int, object]]:
    """One page: ordinals and ids."""
    state = index._contents.state
    slots = [slot for chunk in state.iter_listing(after) for slot in chunk.tolist()][:limit]
    return [(state.ids.ordinals[slot], state.ids[slot]) for slot in slots]


def test_replacing_keeps_the_position_in_listings_and_not_in_matches() -> None:
    index = tw.Index().add_many(dict.fromkeys("abcd", "x > 1"))
    index.add("b", "x > 2", replace=True)
    assert list(index) == list("abcd")
    assert [id_ for id_, _ in index.iter_texts()] == list("abcd") == [id_ for id_, _ in index.items()]
    assert list(index.iter_texts(start="b")) == [("b", "x > 2"), ("c", "x > 1"), ("d", "x > 1")]
    assert index.match({"x": 5}) == ["a", "c", "d", "b"]  # added last
    assert index.to_arrow().column("id").to_pylist() == ["a", "c", "d", "b"]


def test_an_id_that_was_removed_and_added_again_is_last() -> None:
    index = tw.Index().add_many(dict.fromkeys("abc", "x > 1"))
    assert list(index.remove("a").add("a", "x > 1")) == ["b", "c", "a"]


def test_one_batch_may_add_and_replace_the_same_id() -> None:
    index = tw.Index().add("a", "x > 1")
    index.add_many([("b", "x = 1"), ("a", "x = 2"), ("c", "x = 1"), ("b", "x = 3"), ("a", "x = 4")], replace=True)
    assert list(index.iter_texts()) == [("a", "x = 4"), ("b", "x = 3"), ("c", "x = 1")]
    assert index.match({"x": 1}) == ["c"]


@pytest.mark.parametrize("with_replacement", [False, True])
def test_listings_survive_saving_and_copying(tmp_path: Path, with_replacement: bool) -> None:
    index = tw.Index().add_many(dict.fromkeys(range(100), "x > 1"))
    if with_replacement:
        index.add(3, "x > 2", replace=True).remove(99)
    index.save(tmp_path / "saved")
    names = set(directory.load(tmp_path / "saved")[0]["ids"])
    assert ({"ordinal", "next_ordinal"} <= names) == with_replacement  # files without a replacement are as before
    for other in (tw.Index.load(tmp_path / "saved"), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        assert list_page(other, -1, 200) == list_page(index, -1, 200)
        other.add("new", "x > 1")
        index_next = 100  # also after 99 was removed
        assert list_page(other, 98, 9) == ([] if with_replacement else [(99, 99)]) + [(index_next, "new")]


def test_an_index_that_was_saved_without_ordinals_is_listed_by_slot(tmp_path: Path) -> None:
    index = tw.Index().add_many(dict.fromkeys("abcd", "x > 1")).add("b", "x > 2", replace=True)
    shard = index._shard
    arrays, meta = shard.split()
    for name in ("ordinal", "next_ordinal"):
        del arrays["ids"][name]
    directory.save(tmp_path / "old", arrays, meta)
    assert list(tw.Index.load(tmp_path / "old")) == ["a", "c", "d", "b"]


def test_a_refused_change_leaves_no_gap() -> None:
    index = tw.Index().add("a", "x > 1")
    for _ in range(3):
        with pytest.raises(tw.ParseError):
            index.add_many([("b", "x > 1"), ("a", "x > 1"), ("c", "x >")], replace=True)
    index.add("a", "x > 2", replace=True).add("d", "x > 1")
    assert list_page(index, -1, 9) == [(0, "a"), (1, "d")]


def test_chunks_of_sorted_and_new_slots_are_merged() -> None:
    rng = np.random.default_rng(0)
    ordinals = Ordinals()
    count = 3 * SLOTS_PER_CHUNK
    ordinals.extend(list(range(count)))
    current = np.arange(count)
    for change in range(12_000):
        id_ = int(rng.integers(count))
        ordinals.extend([id_])
        current[id_] = count + change
        if change % 1_500 == 0:
            total = count + change + 1
            after = int(rng.integers(-1, count))
            slots = np.concatenate(list(ordinals.iter_slots(total, after)) or [np.empty(0, np.int32)])
            live = slots[np.isin(slots, current)]
            np.testing.assert_array_equal(live, current[after + 1 :])
            # A reader of an earlier moment sees what was there then.
            slots = np.concatenate(list(ordinals.iter_slots(count, after)) or [np.empty(0, np.int32)])
            np.testing.assert_array_equal(slots, np.arange(after + 1, count))


@pytest.mark.parametrize("seed", range(5))
def test_random_changes_against_a_dict(seed: int, tmp_path: Path) -> None:
    """A dict keeps the position of a key that is replaced, as listings do."""
    rng = random.Random(seed)
    index, expected, positions = tw.Index("scan"), {}, {}
    next_ordinal = 0
    for step in range(150):
        action = rng.randrange(8)
        ids = [rng.randrange(60) for _ in range(rng.choice([1, 1, 5, 20]))]
        if action <= 4:
            rows = [(id_, f"x > {step}") for id_ in ids]
            index.add_many(rows, replace=True)
            for id_, text in rows:
                if id_ not in expected:
                    positions[id_] = next_ordinal
                    next_ordinal += 1
                expected[id_] = text
        elif action == 5:
            for id_ in ids:
                index.discard(id_)
                expected.pop(id_, None)
        elif action == 6:
            index.rebuild()  # without the removed slots
        else:
            index.save(tmp_path / "index")
            index = tw.Index.load(tmp_path / "index")
        assert list(index.iter_texts()) == list(expected.items())
        assert list_page(index, -1, 99) == [(positions[id_], id_) for id_ in expected]


@pytest.mark.slow
def test_no_page_skips_what_was_there_throughout_while_it_is_replaced() -> None:
    """Half of the ids are replaced all the time, by which the shard is compacted in the background; none is lost."""
    count = 30_000
    index = tw.Index().add_many((number, "x > 1") for number in range(count))
    ended = threading.Event()

    def replace(seed: int) -> None:
        rng = random.Random(seed)
        while not ended.is_set():
            index.add_many([(rng.randrange(count), "x > 2") for _ in range(10)], replace=True)
            time.sleep(0.001)

    threads = [threading.Thread(target=replace, args=(seed,)) for seed in range(2)]
    shards = [index._shard]
    for thread in threads:
        thread.start()
    try:
        deadline = time.monotonic() + 60
        while len(shards) < 3 and time.monotonic() < deadline:
            found, after = [], -1
            while page := list_page(index, after, 1_000):
                found += [id_ for _, id_ in page]
                after = page[-1][0]
            assert found == list(range(count))
            if index._shard is not shards[-1]:
                shards.append(index._shard)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert len(shards) == 3
