"""Which slot has this id? A hash table in two arrays: a dict of a million ids would take 130 MB."""

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

GOLDEN = 0x9E3779B97F4A7C15
"""Hashes are multiplied by 2^64 over the golden ratio. The hash of an integer is the integer: ids in a row would fill
the table without a gap, and whoever came there would have to walk to its end."""


def unknown(id_: Id, slot_of: Callable[[Id], int | None]) -> UnknownId:
    """The error for an id that no subscription has. In files and addresses, 7 and '7' are easily confused."""
    other: Id | None = None
    if isinstance(id_, int):
        other = str(id_)
    elif INTEGER.fullmatch(id_):
        other = int(id_)
    if other is None or slot_of(other) is None:
        return UnknownId(f"there is no subscription {id_!r}")
    kind = "a string" if isinstance(other, str) else "an integer"
    return UnknownId(f"there is no subscription {id_!r}, but {other!r}, whose id is {kind}")


class SlotsById:
    """The live slots by id.

    Other threads may look up ids while one thread changes them: the two arrays are replaced together, an entry of the
    table is written atomically, and the new slot of an id is entered behind the old one before that is removed.
    """

    __slots__ = ("_arrays", "_count", "_hashes", "_ids", "_used")

    def __init__(self, ids: Ids, alive: I32) -> None:
        self._ids = ids
        self._hashes = Growing(np.uint32)  # by slot
        self._arrays = np.zeros(64, dtype=np.int32), self._hashes.data  # the table, and the hashes
        self._count = 0  # live slots
        self._used = 0  # places of the table that are not free, tombstones included
        self.add([ids[slot] for slot in alive.tolist()], alive)

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        return self._arrays[0].nbytes + self._hashes.view.nbytes

    def get(self, id_: Id) -> int | None:
        """The slot of an id, if there is one."""
        while True:
            arrays = self._arrays
            slot = self._found(id_, *arrays)
            if slot is not None or self._arrays is arrays:
                return slot
            # The arrays were replaced meanwhile, perhaps because this very id got another slot.

    def _found(self, id_: Id, table: I32, hashes: np.ndarray) -> int | None:
        mask, known = len(table) - 1, len(hashes)
        wanted = hash(id_) * GOLDEN >> 32 & MASK_32
        at = wanted & mask
        while (entry := int(table[at])) != FREE:
            # A slot beyond the hashes was entered after they were taken.
            if 0 < entry <= known and hashes[entry - 1] == wanted and self._ids[entry - 1] == id_:
                return entry - 1
            at = (at + 1) & mask
        return None

    def __contains__(self, id_: Id) -> bool:
        return self.get(id_) is not None

    def add(self, ids: Iterable[Id], slots: I32) -> None:
        """Enter ids with their slots. If an id has another slot already, that one must be removed next."""
        missing = len(self._ids) - self._hashes.count
        self._hashes.extend(np.zeros(missing, dtype=np.uint32))
        hashes = np.fromiter((hash(id_) for id_ in ids), dtype=np.int64, count=len(slots)).view(np.uint64)
        self._hashes.data[slots] = hashes * np.uint64(GOLDEN) >> np.uint64(32)
        table, _ = self._arrays
        if 3 * (self._used + len(slots)) > 2 * len(table):
            table = self._grown(len(slots))
        self._arrays = table, self._hashes.data
        put_slots(table, self._hashes.data, slots)
        self._count += len(slots)
        self._used += len(slots)

    def _grown(self, extra: int) -> I32:
        """A table with room for `extra` more slots, without tombstones."""
        before, _ = self._arrays
        live = before[before > FREE] - np.int32(1)
        size = 1 << (2 * (len(live) + extra)).bit_length()
        table = np.zeros(max(64, size), dtype=np.int32)
        put_slots(table, self._hashes.data, live)
        self._used = len(live)
        return table

    def remove(self, slots: I32) -> None:
        """Remove slots that are in the table."""
        forget_slots(self._arrays[0], self._hashes.data, slots)
        self._count -= len(slots)
