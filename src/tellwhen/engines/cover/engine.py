"""`cover`: of which few predicates must at least one be true? There a subscription waits; its program decides.

No normal form, no budget: any expression has a cover, or is tested on every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.extract import extract
from tellwhen.containers.growing import Growing
from tellwhen.containers.named import flatten, unflatten
from tellwhen.engines.base import Engine, Option, Reader, Source
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
from tellwhen.engines.shared.calls import Call, Refiner, Union, sizes_of
from tellwhen.kernels.arrays import I32, Events, Matches, Snapshot

PENDING_MIN = 64
"""Merge pending subscriptions once there are more than 64 of them and they are over 1/64 of the index.
Drop removed ones once there are more than 64 of them and they are over a quarter."""


class Cover(Engine):
    """Finds candidates by their covers, and runs their programs."""

    name = "cover"
    summary = "finds candidates by a few predicates of which one must be true, and runs their programs"
    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "chunk": Option(24, 1, CHUNK_MEMBERS, "terms with the same attributes that are worth testing together"),
        "buckets": Option(BUCKETS_MAX, 1, BUCKETS_MAX, "parts of an attribute's values that bitmaps tell apart"),
    }

    def __init__(self, source: Source, **given: int) -> None:
        super().__init__(source, **given)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._pending = Growing(np.int32)  # slots not in it yet
        self._removed = 0
        self._index: CoverIndex | None = None

    def __len__(self) -> int:
        return len(self._built) + self._pending.count - self._removed

    def insert(self, slots: I32) -> None:
        self._pending.extend(slots)
        if self._pending.count > max(PENDING_MIN, len(self._built) // 64):
            self.rebuild()

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)
        if self._removed > max(PENDING_MIN, (len(self._built) + self._pending.count) // 4):
            self.rebuild()

    def rebuild(self) -> None:
        self._built = self._alive(np.concatenate([self._built, self._pending.view]))
        self._pending = Growing(np.int32)
        self._removed = 0
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

    def _alive(self, slots: I32) -> I32:
        """Those of the slots that are not removed."""
        snapshot = self.source.snapshot()
        return slots[snapshot.subscriptions.died[slots] > snapshot.version]

    def reader(self) -> Reader:
        snapshot = self.source.snapshot()
        refiner = Refiner(self._pending.view, snapshot)
        if self._index is None:
            return refiner
        found = _CoverReader(self._index, snapshot)
        return Union([found, refiner]) if self._pending.count else found

    def arrays(self) -> dict[str, np.ndarray]:
        index = {} if self._index is None else flatten(self._index, "index.")
        return {"built": self._built, "pending": self._pending.view, **index}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._pending = Growing(np.int32, arrays["pending"])
        mine = np.concatenate([self._built, self._pending.view])
        self._removed = len(mine) - len(self._alive(mine))
        self._index = unflatten(CoverIndex, arrays, "index.") if "index.cuts" in arrays else None

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "pending": self._pending.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }

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
