"""Readers of one index of `cover`, or of several with disjoint slots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from tellwhen.containers.batches import NO_EVENTS, slice_events
from tellwhen.engines.base import MatchCounts, Reader
from tellwhen.engines.cover.arrays import (
    CHAIN_COLUMNS,
    CHAINS,
    CHUNK_HEADER,
    CHUNK_WORDS,
    PAGE_COLUMNS,
    PAGE_SIZE,
    VISIT_COLUMNS,
    BatchScratch,
    CoverIndex,
    CoverScratch,
)
from tellwhen.engines.cover.kernels.batch import count_bitmaps, match_batch
from tellwhen.engines.cover.kernels.match import match_cover
from tellwhen.engines.shared.calls import Call, Packed, make_sizes, release_memory
from tellwhen.kernels.arrays import Events, Matches, Snapshot

BATCH_MIN, BATCH_BYTES_MIN = 256, 16 << 20
"""Match cluster by cluster only from 256 events and from 16 MiB of bitmaps on; a cache holds fewer bitmaps anyway."""

BLOCK_MAX, BITMAPS_MAX = 1_024, 1 << 20
"""The most events of a block, and the most bitmaps that they select."""

VISITS_MIN, STAGED_MIN = 1 << 20, 1 << 23
"""The least room of a block, in visits and in elements of pages."""

SAMPLED_EVENTS = 16
"""Events of a batch whose bitmaps are counted to judge its density."""


class BlockLimits(NamedTuple):
    """Limits of a block of events that is matched cluster by cluster."""

    events_max: int = BLOCK_MAX
    bitmaps_max: int = BITMAPS_MAX
    visits_min: int = VISITS_MIN
    staged_min: int = STAGED_MIN


BLOCK_LIMITS = BlockLimits()


class CoverReader(Reader):
    """Reader of one index that matches event by event or, if that is faster, cluster by cluster."""

    def __init__(self, call: Call, batch: Call, rows: int) -> None:
        self._call, self._batch, self._rows = call, batch, rows
        self._is_large = rows >= BATCH_MIN and call.index.arrays.chunks.bits.nbytes >= BATCH_BYTES_MIN

    def match(self, events: Events) -> Matches:
        if self._is_large and len(events.single_valued) >= BATCH_MIN and self._is_dense(events):
            return self._batch(events)
        return self._call(events)

    def _is_dense(self, events: Events) -> bool:
        """Return whether the events of a block probably read every bitmap more than once."""
        index = self._call.index
        scratch = self._call.take(events)
        count = count_bitmaps(index.addresses, scratch.packed, tuple(slice_events(events, 0, SAMPLED_EVENTS)))
        release_memory(scratch)
        block = min(self._rows, len(events.single_valued))
        return bool(count * block * CHUNK_WORDS > SAMPLED_EVENTS * len(index.arrays.chunks.bits))

    def compile(self) -> None:
        """Compile the kernels of both ways of matching."""
        self._call(NO_EVENTS)
        self._batch(NO_EVENTS)
        self._is_dense(NO_EVENTS)

    def count_candidates(self, events: Events) -> int:
        return self._call.count_effort(events)[0]


def make_readers(
    indexes: Sequence[Packed],
    snapshot: Packed,
    match_counts: MatchCounts | None = None,
    limits: BlockLimits = BLOCK_LIMITS,
) -> list[CoverReader]:
    """Return a reader of each index. All need scratch of one size, so that the same set serves all of them."""
    known: Snapshot = snapshot.arrays
    all_arrays: list[CoverIndex] = [index.arrays for index in indexes]
    domains = max(len(index.cut_start) - 1 for index in all_arrays)
    clusters = max(len(index.clusters) for index in all_arrays)
    postings = max(len(index.postings.slot) for index in all_arrays)
    rows = min(limits.events_max, limits.bitmaps_max // max(1, domains))

    @cache
    def compute_sizes(entries: int, rows: int = 1) -> CoverScratch:
        found: CoverScratch = make_sizes(
            CoverScratch,
            where=domains,
            bitmap=domains * rows,
            first_entry=domains,
            low=entries,
            high=entries,
            present=max(len(index.cuts) + domains for index in all_arrays) // 64 + 1,
            clusters=clusters + 1,
            opened=clusters + 1,
            chunks=max(len(index.chunks.words) for index in all_arrays) // CHUNK_HEADER + 1,
            buckets=domains * rows,
            joined=CHUNK_WORDS,
            either=CHUNK_WORDS,
            members=CHUNK_WORDS,
            candidates=postings + 1,
            registers=known.registers + 1,
            truth=len(known.predicates.domain) // 64 + 1,
            entry=known.domains,
            stamps=len(known.subscriptions.kind) + 1,
            effort=2,
        )
        return found

    @cache
    def compute_batch_sizes(entries: int) -> BatchScratch:
        # All postings of any one event fit: every page but the last of a chain has fewer than 64 free elements.
        pages = max(limits.staged_min, postings + postings // 8 + 4 * PAGE_SIZE) // PAGE_SIZE
        found: BatchScratch = make_sizes(
            BatchScratch,
            cover=compute_sizes(entries, rows),
            first_visit=clusters,
            met=clusters,
            visits=VISIT_COLUMNS * max(limits.visits_min, clusters + 1),
            chains=CHAINS * CHAIN_COLUMNS * rows,
            pages=PAGE_COLUMNS * pages,
            staged=PAGE_SIZE * pages,
            used=1,
        )
        return found

    return [
        CoverReader(
            Call(match_cover, index, snapshot, compute_sizes, match_counts),
            Call(match_batch, index, snapshot, compute_batch_sizes, match_counts),
            rows,
        )
        for index in indexes
    ]
