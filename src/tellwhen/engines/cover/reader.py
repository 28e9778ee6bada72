"""Matching with one index of `cover`, or with several of disjoint slots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tellwhen.engines.base import Counted, Reader
from tellwhen.engines.cover.arrays import CHUNK_HEADER, CHUNK_WORDS, CoverIndex, CoverScratch
from tellwhen.engines.cover.kernels.match import match_cover
from tellwhen.engines.shared.calls import Call, Packed, sizes_of
from tellwhen.kernels.arrays import Events, Matches, Snapshot


class CoverReader(Reader):
    """Runs the kernel on one index."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def candidates(self, events: Events) -> int:
        return self._call.effort(events)[0]


def readers(indexes: Sequence[Packed], snapshot: Packed, counted: Counted | None = None) -> list[Reader]:
    """A reader for each. They ask for scratch of one size, so that the same set serves all of them."""
    known: Snapshot = snapshot.arrays
    all_arrays: list[CoverIndex] = [index.arrays for index in indexes]
    domains = max(len(index.cut_start) - 1 for index in all_arrays)
    clusters = max(len(index.clusters) for index in all_arrays)

    @cache
    def sizes(entries: int) -> CoverScratch:
        found: CoverScratch = sizes_of(
            CoverScratch,
            where=domains,
            bitmap=domains,
            first_entry=domains,
            low=entries,
            high=entries,
            present=max(len(index.cuts) + domains for index in all_arrays) // 64 + 1,
            clusters=clusters + 1,
            opened=clusters + 1,
            chunks=max(len(index.chunks.words) for index in all_arrays) // CHUNK_HEADER + 1,
            buckets=domains,
            joined=CHUNK_WORDS,
            either=CHUNK_WORDS,
            members=CHUNK_WORDS,
            candidates=max(len(index.postings.slot) for index in all_arrays) + 1,
            registers=known.registers + 1,
            truth=len(known.predicates.domain) // 64 + 1,
            entry=known.domains,
            stamps=len(known.subscriptions.kind) + 1,
            effort=2,
        )
        return found

    return [CoverReader(Call(match_cover, index, snapshot, sizes, counted)) for index in indexes]
