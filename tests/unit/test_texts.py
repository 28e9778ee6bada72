"""Ids find their slots whatever comes and goes, texts may be left out, and a memory limit is kept."""

import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.index.ids import Ids
from tellwhen.index.slots import SlotsById

pytestmark = pytest.mark.late


def test_an_index_without_texts_matches_and_does_not_show(tmp_path):
    index = tw.Index(texts=False).add_many((i, f"x = {i % 3}") for i in range(300)).remove(4)
    assert index.match({"x": 1})[:2] == [1, 7]
    for loaded in index, tw.Index.load(_saved(index, tmp_path)):
        assert len(loaded) == 299
        assert 5 in loaded
        assert list(loaded)[:5] == [0, 1, 2, 3, 5]
        for look in (lambda: loaded[5], lambda: list(loaded.iter_texts()), lambda: loaded.explain(5, {"x": 1})):  # noqa: B023
            with pytest.raises(tw.MissingTextsError, match="stores no texts"):
                look()
        assert loaded.add("new", "x = 9").match({"x": 9}) == ["new"]
        loaded.remove("new")
    assert tw.Index().inspect.get_stats().keys() == index.inspect.get_stats().keys()


def _saved(index, path):
    index.save(path / "i")
    return path / "i"


def test_ids_are_found_whatever_came_and_went():
    rng = random.Random(5)
    ids, known = Ids(), {}
    slots = SlotsById(ids, np.zeros(0, np.int32))
    for step in range(400):
        fresh = {rng.choice([k, f"id {k}", -k]): None for k in rng.choices(range(3000), k=rng.randint(1, 20))}
        first = len(ids)
        ids.extend(list(fresh))
        now = np.arange(first, len(ids), dtype=np.int32)
        slots.add(fresh, now)
        gone = [known[id_] for id_ in fresh if id_ in known]
        slots.remove(np.array(gone, dtype=np.int32))
        known |= dict(zip(fresh, now.tolist(), strict=True))
        if step % 3 == 0:
            for id_ in rng.sample(sorted(known, key=str), k=min(len(known), 25)):
                slots.remove(np.array([known.pop(id_)], dtype=np.int32))
        assert len(slots) == len(known)
        for id_ in rng.choices(range(3000), k=20):
            assert slots.get(id_) == known.get(id_)
            assert (f"id {id_}" in slots) == (f"id {id_}" in known)
    assert all(slots.get(id_) == slot for id_, slot in known.items())
    again = SlotsById(ids, np.array(sorted(known.values()), dtype=np.int32))
    assert all(again.get(id_) == slot for id_, slot in known.items())


@pytest.mark.parametrize("step", [1, 2, 64, 4096, -1, 1 << 32])
def test_ids_in_a_row_leave_gaps(step):
    """Who looks for an id that is not there walks to the next gap."""
    ids = Ids()
    ids.extend([k * step for k in range(20_000)])
    slots = SlotsById(ids, np.arange(20_000, dtype=np.int32))
    table, _ = slots._arrays
    free = np.flatnonzero(table == 0)
    assert np.diff(free).max() < 200
    assert all(slots.get(k * step) == k for k in range(0, 20_000, 97))


def test_ids_with_equal_hashes_are_told_apart():
    """hash(-1) is hash(-2), and many numbers are equal in their last 32 bits."""
    index = tw.Index().add(-1, "x = 1").add(-2, "x = 2").add(5, "x = 5").add(5 + (1 << 32), "x = 6").add("5", "x = 7")
    assert [str(index[id_]) for id_ in (-1, -2, 5, 5 + (1 << 32), "5")] == [
        "x = 1", "x = 2", "x = 5", "x = 6", "x = 7",
    ]  # fmt: skip
    assert (1 << 61) - 1 not in index
    index.remove(-1)
    assert -1 not in index
    assert -2 in index


@pytest.mark.slow
def test_a_memory_limit_is_kept(tmp_path):
    texts = [(i, f"x = {i} AND y = 'word {i}'") for i in range(12_000)]
    size = tw.Index().add_many(texts).inspect.get_stats()["bytes"]
    limit = (size["store"] + size["ids and texts"]) // 2
    index = tw.Index(memory_limit=limit).add_many(texts[:3000])  # stays pending: there is no room to merge it
    with pytest.raises(tw.LimitError, match="more than its memory_limit of .*; nothing was changed. texts=False saves"):
        index.add_many(texts[3000:])
    assert len(index) == 3000
    assert index.match({"x": 2999, "y": "word 2999"}) == [2999]
    assert index.match({"x": 3000, "y": "word 3000"}) == []
    index.remove(5).add_many(texts[3000:3100])
    for i in range(3100, 12_000):  # one by one, until it is full
        try:
            index.add(*texts[i])
        except tw.LimitError:
            break
    assert 3500 < len(index) < 9000
    assert index.match({"x": i - 1, "y": f"word {i - 1}"}) == [i - 1]
    assert index.match({"x": i, "y": f"word {i}"}) == []
    assert sum(index.inspect.get_stats()["bytes"].values()) <= limit
    index.remove(7)  # what makes it smaller is never refused
    index.save(tmp_path / "i")
    with pytest.raises(tw.LimitError):
        tw.Index.load(tmp_path / "i", memory_limit=limit).add_many(texts[i:])
    with pytest.raises(tw.LimitError, match="more than its memory_limit of 1,000"):
        tw.Index.load(tmp_path / "i", memory_limit=1000)
    for wrong in "2 GB", 1.5, True, 0, -1:
        with pytest.raises(tw.ArgumentError, match="memory_limit must be a number of bytes"):
            tw.Index(memory_limit=wrong)


def test_no_change_but_a_removal_may_go_beyond_the_limit_and_removals_make_room():
    def size(index):
        return sum(index.inspect.get_stats()["bytes"].values())

    limit = 150_000
    index = tw.Index("auto", pending=10, memory_limit=limit)
    count = 0
    with pytest.raises(tw.LimitError):
        while True:
            index.add(count, f"u = {count} AND c = 'DE{count}'")
            count += 1
    with pytest.raises(tw.LimitError, match="nothing was changed"):
        index.rebuild()
    with pytest.raises(tw.LimitError):
        index.optimize_for([{"u": k} for k in range(50)])
    assert size(index) <= limit
    assert index.profile.events == 0
    index.remove_many(range(count // 4))
    index.add("more", "u = 1")
    assert size(index) <= limit
    assert index.match({"u": 1}) == ["more"]
    assert index.match({"u": count - 1, "c": f"DE{count - 1}"}) == [count - 1]
