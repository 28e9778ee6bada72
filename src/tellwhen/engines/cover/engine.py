"""`cover`: of which few predicates must at least one be true? There a subscription waits; its program decides.

No normal form, no budget: any expression has a cover, or is tested on every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tellwhen.compile.extract import extract
from tellwhen.engines.base import Option, Reader
from tellwhen.engines.cover.arrays import (
    BUCKETS_MAX,
    CHUNK_HEADER,
    CHUNK_MEMBERS,
    CHUNK_WORDS,
    CoverIndex,
    CoverScratch,
)
from tellwhen.engines.cover.kernels.match import match_cover
from tellwhen.engines.cover.segment import build
from tellwhen.engines.cover.verify import check_index
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Call, Refiner, Union, sizes_of
from tellwhen.kernels.arrays import Events, Matches, Snapshot


class Cover(BulkEngine):
    """Finds candidates by their covers, and runs their programs."""

    name = "cover"
    summary = "finds candidates by a few predicates of which one must be true, and runs their programs"
    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "chunk": Option(24, 1, CHUNK_MEMBERS, "terms with the same attributes that are worth testing together"),
        "buckets": Option(BUCKETS_MAX, 1, BUCKETS_MAX, "parts of an attribute's values that bitmaps tell apart"),
    }

    index_kind = CoverIndex

    def _build(self) -> None:
        snapshot, typical = self.source.snapshot(), self.source.typical()
        marginals = typical.marginals(snapshot.domains) if typical.is_known else None
        self._index = build(
            extract(snapshot, self._built),
            self._built,
            snapshot.domains,
            marginals,
            self.option["chunk"],
            self.option["buckets"],
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        found = _CoverReader(self._index, self.source.snapshot())
        return Union([found, refiner]) if self._pending.count else found

    def verify(self) -> None:
        if self._index is not None:
            check_index(self._index, self._built, self.source.snapshot())


class _CoverReader(Reader):
    def __init__(self, index: CoverIndex, snapshot: Snapshot) -> None:
        clusters = len(index.clusters)
        domains, slots = len(index.cut_start) - 1, len(snapshot.subscriptions.kind)

        def sizes(entries: int) -> CoverScratch:
            found: CoverScratch = sizes_of(
                CoverScratch,
                where=domains,
                bitmap=domains,
                first_entry=domains,
                low=entries,
                high=entries,
                present=(len(index.cuts) + domains) // 64 + 1,
                clusters=clusters + 1,
                opened=clusters + 1,
                chunks=len(index.chunks.words) // CHUNK_HEADER + 1,
                buckets=domains,
                joined=CHUNK_WORDS,
                members=CHUNK_WORDS,
                candidates=len(index.postings.slot) + 1,
                registers=snapshot.registers + 1,
                truth=len(snapshot.predicates.domain) // 64 + 1,
                entry=snapshot.domains,
                stamps=slots + 1,
                effort=2,
            )
            return found

        self._call = Call(match_cover, index, snapshot, sizes)

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def candidates(self, events: Events) -> int:
        return self._call.effort(events)[0]
