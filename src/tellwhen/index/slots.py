"""Slots by id: a hash table of two arrays, since a dict of a million ids would take 130 MB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from tellwhen.containers.growing import Growing
from tellwhen.errors import UnknownId
from tellwhen.index.ids import Id, Ids
from tellwhen.index.kernels.slot_table import FREE, forget_slots, put_slots
from tellwhen.kernels.arrays import I32

INTEGER = re.compile(r"-?[0-9]{1,18}")

MASK_32 = 0xFFFFFFFF

TABLE_SIZE_MIN = 64

HASH_MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio, by which hashes are multiplied.

Python's hash of an integer is the integer itself. Without the multiplication, successive ids would fill the table
without a gap, and a search that starts there would have to visit all of them.
"""


def make_unknown_id_error(id_: Id, get_slot: Callable[[Id], int | None]) -> UnknownId:
    """Return the error for an unknown id, with a hint if the id is 7 and some subscription has '7', or vice versa."""
    other: Id | None = None
    if isinstance(id_, int):
        other = str(id_)
    elif INTEGER.fullmatch(id_):
        other = int(id_)
    if other is None or get_slot(other) is None:
        return UnknownId(f"there is no subscription {id_!r}")
    kind = "a string" if isinstance(other, str) else "an integer"
    return UnknownId(f"there is no subscription {id_!r}, but {other!r}, whose id is {kind}")


class SlotsById:
    """The live slots by id.

    Other threads may look up ids while one thread changes them. For this, the two arrays are replaced together, and an
    entry of the table is written atomically. When an id gets a new slot, the new entry is written behind the old entry,
    and only then the old entry is removed.
    """

    __slots__ = ("_arrays", "_count", "_hashes", "_ids", "_used")

    def __init__(self, ids: Ids, alive: I32) -> None:
        self._ids = ids
        self._hashes = Growing(np.uint32)  # by slot
        self._arrays = np.zeros(TABLE_SIZE_MIN, dtype=np.int32), self._hashes.data  # the table, and the hashes
        self._count = 0  # live slots
        self._used = 0  # entries of the table that are not free, tombstones included
        self.add([ids[slot] for slot in alive.tolist()], alive)

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """The size of the arrays."""
        return self._arrays[0].nbytes + self._hashes.view.nbytes

    def get(self, id_: Id) -> int | None:
        """Return the slot of an id; None if no live subscription has the id."""
        while True:
            arrays = self._arrays
            slot = self._find(id_, *arrays)
            if slot is not None or self._arrays is arrays:
                return slot
            # The arrays were replaced during the search, perhaps because this very id got another slot.

    def _find(self, id_: Id, table: I32, hashes: np.ndarray) -> int | None:
        mask, known = len(table) - 1, len(hashes)
        id_hash = hash(id_) * HASH_MULTIPLIER >> 32 & MASK_32
        position = id_hash & mask
        while (entry := int(table[position])) != FREE:
            # A slot behind the end of the hashes was added after `get` has read the arrays.
            if 0 < entry <= known and hashes[entry - 1] == id_hash and self._ids[entry - 1] == id_:
                return entry - 1
            position = (position + 1) & mask
        return None

    def __contains__(self, id_: Id) -> bool:
        return self.get(id_) is not None

    def add(self, ids: Iterable[Id], slots: I32) -> None:
        """Add ids with their slots. If an id already has an older slot, the caller removes the older slot next."""
        missing = len(self._ids) - self._hashes.count
        self._hashes.extend(np.zeros(missing, dtype=np.uint32))
        hashes = np.fromiter((hash(id_) for id_ in ids), dtype=np.int64, count=len(slots)).view(np.uint64)
        self._hashes.data[slots] = hashes * np.uint64(HASH_MULTIPLIER) >> np.uint64(32)
        table, _ = self._arrays
        if 3 * (self._used + len(slots)) > 2 * len(table):
            table = self._grow_table(len(slots))
        self._arrays = table, self._hashes.data
        put_slots(table, self._hashes.data, slots)
        self._count += len(slots)
        self._used += len(slots)

    def _grow_table(self, extra: int) -> I32:
        """Return a copy of the table with room for `extra` more slots, without tombstones."""
        old_table, _ = self._arrays
        live = old_table[old_table > FREE] - np.int32(1)
        size = 1 << (2 * (len(live) + extra)).bit_length()
        table = np.zeros(max(TABLE_SIZE_MIN, size), dtype=np.int32)
        put_slots(table, self._hashes.data, live)
        self._used = len(live)
        return table

    def remove(self, slots: I32) -> None:
        """Remove slots, all of which are in the table."""
        forget_slots(self._arrays[0], self._hashes.data, slots)
        self._count -= len(slots)
