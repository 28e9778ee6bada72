"""How many bytes may an index take? A change that needs more is refused, and a merge that may need more is not made."""

from __future__ import annotations

from tellwhen.errors import ArgumentError, LimitError, abbreviate
from tellwhen.index.shard import Shard

INDEX_BYTES, INDEX_SHARE = 512, 2
"""Bytes that a subscription may take in a new index, besides the store: 512 or, if it is long, twice what it takes in
the store. Most take less."""

REMOVED_SHARE = 0.05
"""An index that is full is compacted if more than this share of it is removed."""


class MemoryLimit:
    """The bytes that the arrays of an index may take; None for any number."""

    def __init__(self, limit: int | None) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | None) or (limit is not None and limit < 1):
            raise ArgumentError(f"memory_limit is a number of bytes, not {abbreviate(limit)}")
        self.bytes = limit

    def taken(self, shard: Shard) -> int:
        """The bytes that the shard takes; 0 if there is no limit, since counting them takes time."""
        return 0 if self.bytes is None else sum(shard.bytes().values())

    def refuse_growth(self, shard: Shard, before: int = 0) -> None:
        """Raise an error if the shard takes too many bytes, and more than `before`."""
        needed = self.taken(shard)
        if self.bytes is not None and needed > max(self.bytes, before):
            raise LimitError(
                f"with {len(shard.engines):,} subscription{'' if len(shard.engines) == 1 else 's'} the index would "
                f"take {needed:,} bytes, more than its memory_limit of {self.bytes:,}; nothing was changed. "
                f"texts=False saves {sum(array.nbytes for array in shard.texts.arrays().values()):,} of them"
            )

    def refuse_more(self, shard: Shard, more: int) -> None:
        """Raise an error if the shard would take too many bytes with these in addition."""
        if self.bytes is not None and more and self.taken(shard) + more > self.bytes:
            raise LimitError(
                f"the scores would take {more:,} bytes, for which the memory_limit of {self.bytes:,} leaves no room; "
                f"nothing was changed"
            )

    def is_worth_compacting(self, shard: Shard) -> bool:
        """Is it too large, with a good part of it removed?"""
        is_sparse = shard.store.removed > REMOVED_SHARE * len(shard.store)
        return self.bytes is not None and is_sparse and self.taken(shard) > self.bytes

    def has_room_to_build(self, shard: Shard) -> bool:
        """Can a new index be built beside what there is? If not, new subscriptions stay pending, and matching is
        slower."""
        if self.bytes is None:
            return True
        taken = shard.bytes()
        needed = max(INDEX_BYTES * len(shard.engines), INDEX_SHARE * taken["store"])
        return sum(taken.values()) + needed <= self.bytes
