"""Ids find their slots, also after removals and with equal hashes."""

import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.index.ids import Ids
from tellwhen.index.slots import SlotsById

pytestmark = pytest.mark.late


def test_slots_are_found_after_many_changes():
    rng = random.Random(5)
    ids, known = Ids(), {}
    slots = SlotsById(ids, np.zeros(0, np.int32))
    for step in range(400):
        fresh = {rng.choice([k, f"id {k}", -k]): None for k in rng.choices(range(3000), k=rng.randint(1, 20))}
        first = len(ids)
        ids.extend(list(fresh))
        now = np.arange(first, len(ids), dtype=np.int32)
        slots.add(fresh, now)
        removed = [known[id_] for id_ in fresh if id_ in known]
        slots.remove(np.array(removed, dtype=np.int32))
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
    """The search for an unknown id ends at the next gap."""
    ids = Ids()
    ids.extend([k * step for k in range(20_000)])
    slots = SlotsById(ids, np.arange(20_000, dtype=np.int32))
    table, _ = slots._arrays
    free = np.flatnonzero(table == 0)
    assert np.diff(free).max() < 200
    assert all(slots.get(k * step) == k for k in range(0, 20_000, 97))


def test_ids_with_equal_hashes_are_different():
    """hash(-1) equals hash(-2), and many numbers have the same last 32 bits."""
    index = tw.Index().add(-1, "x = 1").add(-2, "x = 2").add(5, "x = 5").add(5 + (1 << 32), "x = 6").add("5", "x = 7")
    assert [str(index[id_]) for id_ in (-1, -2, 5, 5 + (1 << 32), "5")] == [
        "x = 1", "x = 2", "x = 5", "x = 6", "x = 7",
    ]  # fmt: skip
    assert (1 << 61) - 1 not in index
    index.remove(-1)
    assert -1 not in index
    assert -2 in index
