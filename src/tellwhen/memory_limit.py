"""How many bytes may an index take? A change that needs more is refused, and a merge that may need more is not made."""

from __future__ import annotations

from tellwhen.errors import LimitError, TellwhenError, shown
from tellwhen.shard import Shard

INDEX_BYTES = 512
"""Bytes that a subscription may take in a new index, besides the store. Most take less."""


class MemoryLimit:
    """The bytes that the arrays of an index may take; None for any number."""

    def __init__(self, limit: int | None) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | None):
            raise TellwhenError(f"memory_limit is a number of bytes, not {shown(limit)}")
        self.bytes = limit

    def refuse_growth(self, shard: Shard, slots_before: int) -> None:
        """Raise an error if a change has added slots to the shard, and now it is too large."""
        if self.bytes is None or len(shard.store) <= slots_before:
            return
        needed = sum(shard.bytes().values())
        if needed > self.bytes:
            raise LimitError(
                f"with {len(shard.engines):,} subscriptions the index would take {needed:,} bytes, more than its "
                f"memory_limit of {self.bytes:,}; nothing was added. texts=False saves "
                f"{sum(array.nbytes for array in shard.texts.arrays().values()):,} of them"
            )

    def has_room_to_build(self, shard: Shard) -> bool:
        """Can a new index be built beside what there is? If not, new subscriptions stay pending, and matching is
        slower."""
        if self.bytes is None:
            return True
        return sum(shard.bytes().values()) + INDEX_BYTES * len(shard.engines) <= self.bytes
