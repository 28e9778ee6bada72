"""Limits of an index that users do not set: when it compacts, and how many events it matches at once.

`Index._limits` has the limits of all indexes of a class. Tests set smaller ones in a subclass.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.encode.batches import EVENTS_PER_BATCH


class CompactionLimits(NamedTuple):
    """Limits that decide when removed subscriptions are dropped, and in which thread."""

    removed_slots_min: int = 4_096
    """Compact once more than 4,096 slots are removed and they are over half of all."""
    inline_subscriptions_max: int = 10_000
    """Compact up to 10,000 subscriptions at the end of a change, and more in the background."""


class BatchLimits(NamedTuple):
    """Limits of the events that are matched together, and of the rows of a table of matches."""

    rows_per_batch: int = 1 << 20
    """Aim for a million rows per batch: the matches of the last events determine how many events are matched next."""
    rows_per_batch_max: int = 1 << 21
    first_events: int = 1_024
    """Match 1,024 events first, before their number of matches is known."""
    possible_matches_max: int = 1 << 27
    """Limit the events that are matched together, so that they have at most 2^27 matches if each matches everything.

    The limit is never below `first_events`.
    """
    events_per_block: int = EVENTS_PER_BATCH
    """Events that are encoded together."""


class IndexLimits(NamedTuple):
    """All limits of an index."""

    compaction: CompactionLimits = CompactionLimits()
    batches: BatchLimits = BatchLimits()
    first_coverage_check: int = 1_000
    """Check for missing attributes after 1,000 events, then at every tenfold."""


INDEX_LIMITS = IndexLimits()
