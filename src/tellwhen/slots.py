"""Which slot has this id? A hash table in two arrays: a dict of a million ids would take 130 MB."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tellwhen.containers.growing import Growing
from tellwhen.ids import Id, Ids
from tellwhen.kernels.arrays import I32
from tellwhen.kernels.slots import FREE, GONE, forget_slots, put_slots

MASK_32 = 0xFFFFFFFF


class SlotsById:
    """The live slots by id. Another thread may look while one changes: a table is replaced as a whole."""

    __slots__ = ("_count", "_hashes", "_ids", "_table", "_used")

    def __init__(self, ids: Ids, alive: I32) -> None:
        self._ids = ids
        self._hashes = Growing(np.uint32)  # by slot
        self._table = np.zeros(64, dtype=np.int32)
        self._count = 0  # live slots
        self._used = 0  # places of the table that are not free
        self.add([ids[slot] for slot in alive.tolist()], alive)

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        return self._table.nbytes + self._hashes.view.nbytes

    def _place(self, id_: Id) -> int:
        """Where its slot is in the table; -1 if it is not."""
        table, hashes = self._table, self._hashes.data
        mask = len(table) - 1
        wanted = hash(id_) & MASK_32
        at = wanted & mask
        while (entry := int(table[at])) != FREE:
            if entry != GONE and hashes[entry - 1] == wanted and self._ids[entry - 1] == id_:
                return at
            at = (at + 1) & mask
        return -1

    def get(self, id_: Id) -> int | None:
        """The slot of an id, if there is one."""
        at = self._place(id_)
        return None if at < 0 else int(self._table[at]) - 1

    def __contains__(self, id_: Id) -> bool:
        return self._place(id_) >= 0

    def add(self, ids: Iterable[Id], slots: I32) -> None:
        """Enter ids with their slots. If one was there with another slot, that one must be removed next."""
        missing = len(self._ids) - self._hashes.count
        self._hashes.extend(np.zeros(missing, dtype=np.uint32))
        self._hashes.data[slots] = [hash(id_) & MASK_32 for id_ in ids]
        if 3 * (self._used + len(slots)) > 2 * len(self._table):
            self._grow(len(slots))
        put_slots(self._table, self._hashes.data, slots)
        self._count += len(slots)
        self._used += len(slots)

    def _grow(self, extra: int) -> None:
        """A table with room for more, without the places of removed ones."""
        live = self._table[self._table > FREE] - np.int32(1)
        size = 1 << (2 * (len(live) + extra)).bit_length()
        table = np.zeros(max(64, size), dtype=np.int32)
        put_slots(table, self._hashes.data, live)
        self._table, self._used = table, len(live)

    def remove(self, slots: I32) -> None:
        """Forget slots that are there."""
        forget_slots(self._table, self._hashes.data, slots)
        self._count -= len(slots)
