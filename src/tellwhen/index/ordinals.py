"""The position of every slot in listings: ordinals that survive replacement, compaction and saving."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tellwhen.containers.growing import Growing
from tellwhen.kernels.arrays import I32, I64

SLOTS_PER_CHUNK = 1_024
UNSORTED_SLOTS_MIN = 4_096
"""Sort all slots again once 4,096 slots, and an eighth of all, are newer than the sorted ones."""


class Ordinals:
    """Ordinals by slot.

    An id gets the next ordinal when it is added, and keeps the ordinal when it is replaced, although the slot changes.
    Listings are sorted by ordinal. A reader who lists page by page and continues behind the last ordinal misses no id
    that was in the index all the time.

        slot       0 1 2 3      "b" in slot 1 was replaced by slot 3
        id         a b c b
        ordinal    0 1 2 1

    No array is stored while every ordinal equals its slot.
    """

    def __init__(self, by_slot: Growing | None = None, next_ordinal: int = 0) -> None:
        self._by_slot = by_slot
        self.next = next_ordinal
        """The ordinal of the next new id. No ordinal is assigned twice, even if its id is removed."""
        self._sorted = np.empty(0, dtype=np.int32)  # the first slots, sorted by ordinal; extended by listings

    def __getitem__(self, slot: int) -> int:
        return slot if self._by_slot is None else int(self._by_slot.data[slot])

    def get_many(self, slots: I32) -> I64:
        return slots.astype(np.int64) if self._by_slot is None else self._by_slot.data[slots]

    def extend(self, ordinals: Sequence[int]) -> None:
        """Append the ordinals of the next slots: for new ids those from `next` on, for replaced ids older ones."""
        if self._by_slot is None:
            if ordinals[:1] == [self.next] and ordinals[-1] - ordinals[0] == len(ordinals) - 1:
                # All ordinals are new, so each of them still equals its slot.
                self.next += len(ordinals)
                return
            self._by_slot = Growing(np.int64, np.arange(self.next))
        if len(ordinals) == 1:
            self._by_slot.append(ordinals[0])
        else:
            self._by_slot.extend(np.array(ordinals, dtype=np.int64))
        self.next = max(self.next, max(ordinals, default=0) + 1)

    def extend_with_new(self, count: int) -> None:
        """Append new ordinals for the next `count` slots."""
        if self._by_slot is not None:
            self._by_slot.extend(np.arange(self.next, self.next + count))
        self.next += count

    def overwrite(self, first: int, ordinals: I64, next_ordinal: int) -> None:
        """Set the ordinals of the last slots, from slot `first` on, and the next ordinal."""
        if self._by_slot is None:
            self._by_slot = Growing(np.int64, np.arange(self.next))
        self._by_slot.data[first : first + len(ordinals)] = ordinals
        self.next = next_ordinal
        self._sorted = np.empty(0, dtype=np.int32)

    def align(self, count: int, next_ordinal: int) -> None:
        """Restore the state with `count` slots, after an undone change."""
        if self._by_slot is not None:
            self._by_slot.reserve(max(0, count - self._by_slot.count))
            self._by_slot.count = count
        self.next = next_ordinal

    def select(self, slots: I32) -> Ordinals:
        """Return the ordinals of some slots, which become slots 0, 1, 2, ..."""
        return Ordinals(Growing(np.int64, self.get_many(slots)), self.next)

    def iter_slots(self, count: int, after: int = -1) -> Iterator[I32]:
        """Yield the slots below `count` with ordinals above `after`, sorted by ordinal, in chunks.

        Slots of removed and replaced subscriptions are included.
        """
        by_slot = self._by_slot
        if by_slot is None:
            for first in range(after + 1, count, SLOTS_PER_CHUNK):
                yield np.arange(first, min(first + SLOTS_PER_CHUNK, count), dtype=np.int32)
            return
        ordinals = by_slot.data
        older = self._sort_older_slots(ordinals, count)
        newer = np.arange(len(older), count, dtype=np.int32)
        newer = newer[ordinals[newer] > after]
        newer = newer[np.argsort(ordinals[newer], kind="stable")]
        position = bisect_right(older, after, key=lambda slot: ordinals[slot])
        while position < len(older) or len(newer):
            chunk = older[position : position + SLOTS_PER_CHUNK]
            position += len(chunk)
            newer_count = len(newer)
            if position < len(older):
                newer_count = int(np.searchsorted(ordinals[newer], ordinals[chunk[-1]], side="right"))
            chunk = np.concatenate([chunk[chunk < count], newer[:newer_count]])
            newer = newer[newer_count:]
            yield chunk[np.argsort(ordinals[chunk], kind="stable")]

    def _sort_older_slots(self, ordinals: I64, count: int) -> I32:
        """Return the first slots, sorted by ordinal: all slots but the newest ones (see UNSORTED_SLOTS_MIN)."""
        if count - len(self._sorted) > max(UNSORTED_SLOTS_MIN, len(self._sorted) // 8):
            # Ordinals of published slots never change: the result stays valid for later states.
            self._sorted = np.argsort(ordinals[:count], kind="stable").astype(np.int32)
        return self._sorted

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to save: none while every ordinal equals its slot."""
        if self._by_slot is None:
            return {}
        return {"ordinal": self._by_slot.view, "next_ordinal": np.array([self.next])}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray], count: int) -> Ordinals:
        """Return saved ordinals; those of an older file are the slots."""
        if "ordinal" not in arrays:
            return cls(None, count)
        return cls(Growing(np.int64, arrays["ordinal"]), int(arrays["next_ordinal"][0]))
