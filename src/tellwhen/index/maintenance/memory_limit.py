"""The memory limit of an index: a change that needs more is refused, and background work that may need more waits."""

from __future__ import annotations

from tellwhen.errors import ArgumentError, LimitError, abbreviate
from tellwhen.index.shard import Shard

BYTES_PER_SUBSCRIPTION, STORE_RATIO = 512, 2
"""Upper estimate of a new engine index: 512 bytes per subscription or, if that is more, twice the size of the store."""

REMOVED_SHARE_MIN = 0.05
"""Compact an index over its limit if more than a twentieth of its slots are removed."""


class MemoryLimit:
    """The maximum size of the arrays of an index in bytes; None for no limit."""

    def __init__(self, limit: int | None) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | None) or (limit is not None and limit < 1):
            raise ArgumentError(f"memory_limit must be a number of bytes, not {abbreviate(limit)}")
        self.bytes = limit

    def count_bytes(self, shard: Shard) -> int:
        """Return the size of the shard; 0 without a limit, since counting takes time."""
        return 0 if self.bytes is None else sum(shard.count_bytes().values())

    def refuse_growth(self, shard: Shard, bytes_before: int = 0) -> None:
        """Raise LimitError if the shard is above the limit, and larger than `bytes_before`."""
        needed = self.count_bytes(shard)
        if self.bytes is not None and needed > max(self.bytes, bytes_before):
            raise LimitError(
                f"with {len(shard.engines):,} subscription{'' if len(shard.engines) == 1 else 's'} the index would "
                f"take {needed:,} bytes, more than its memory_limit of {self.bytes:,}; nothing was changed. "
                f"texts=False saves {sum(array.nbytes for array in shard.texts.arrays().values()):,} of them"
            )

    def refuse_scores(self, shard: Shard, score_bytes: int) -> None:
        """Raise LimitError if `score_bytes` more bytes would put the shard above the limit."""
        if self.bytes is not None and score_bytes and self.count_bytes(shard) + score_bytes > self.bytes:
            raise LimitError(
                f"the scores would take {score_bytes:,} bytes, for which the memory_limit of {self.bytes:,} leaves no "
                f"room; nothing was changed"
            )

    def is_worth_compacting(self, shard: Shard) -> bool:
        """Return whether the shard is above the limit and has enough removed slots to make it smaller."""
        is_sparse = shard.store.removed > REMOVED_SHARE_MIN * len(shard.store)
        return self.bytes is not None and is_sparse and self.count_bytes(shard) > self.bytes

    def has_room_to_build(self, shard: Shard) -> bool:
        """Return whether a new engine index fits into the limit besides the present one.

        If it does not, new subscriptions stay pending, and matching is slower.
        """
        if self.bytes is None:
            return True
        sizes = shard.count_bytes()
        needed = max(BYTES_PER_SUBSCRIPTION * len(shard.engines), STORE_RATIO * sizes["store"])
        return sum(sizes.values()) + needed <= self.bytes
