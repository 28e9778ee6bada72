"""`scan`: test every subscription. It is the baseline of all other engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.live_slots import is_alive, select_alive
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.csr import gather
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import Engine, Reader, Source
from tellwhen.engines.scan.arrays import ScanIndex, ScanScratch
from tellwhen.engines.scan.kernels import match_scan
from tellwhen.engines.shared.calls import Call, make_sizes
from tellwhen.engines.shared.stabbing import build_stabbing, make_empty_stabbing, make_satisfied_sizes
from tellwhen.kernels.arrays import CONJUNCTION, I32, Events, Matches, Snapshot

PENDING_MIN = 256
"""Index predicates once more than 256 are not indexed and they exceed 1/8 of the indexed ones. Drop removed
subscriptions once there are more than 256 and they exceed a quarter."""

WIDE = (1 << 31) - 1
"""The number of points of a predicate that is not a set of points."""


class Scan(Engine):
    """Engine that finds every true predicate once, then tests every subscription on these values."""

    name = "scan"
    summary = "a tight loop over all subscriptions"
    supports = frozenset({"expressions"})

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._conjunctions = Growing(np.int32)  # slots
        self._head = Growing(np.int32)  # a predicate of each, tested first
        self._others = Growing(np.int32)  # all other slots
        self._removed = 0
        self._stabbing, self._stabbed = make_empty_stabbing(), 0

    def __len__(self) -> int:
        return self._conjunctions.count + self._others.count - self._removed

    def insert(self, slots: I32) -> None:
        snapshot = self.source.snapshot()
        start = snapshot.subscriptions.start
        chosen = (snapshot.subscriptions.kind[slots] == CONJUNCTION) & (start[slots + 1] > start[slots])
        self._conjunctions.extend(slots[chosen])
        self._head.extend(_choose_head_predicates(snapshot, slots[chosen]))
        self._others.extend(slots[~chosen])
        if len(snapshot.predicates.domain) - self._stabbed > max(PENDING_MIN, self._stabbed // 8):
            self._index_predicates()

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)
        if self._removed > max(PENDING_MIN, (self._conjunctions.count + self._others.count) // 4):
            self.rebuild()

    def rebuild(self) -> None:
        snapshot = self.source.snapshot()
        is_kept = is_alive(snapshot, self._conjunctions.view)
        self._head = Growing(np.int32, self._head.view[is_kept])
        self._conjunctions = Growing(np.int32, self._conjunctions.view[is_kept])
        self._others = Growing(np.int32, select_alive(snapshot, self._others.view))
        self._removed = 0
        self._index_predicates()

    def _index_predicates(self) -> None:
        snapshot = self.source.snapshot()
        self._stabbed = len(snapshot.predicates.domain)
        each = np.arange(self._stabbed + 1)
        self._stabbing = build_stabbing(snapshot.predicates, snapshot.domains, each, each[:-1].astype(np.int32))

    @property
    def _index(self) -> ScanIndex:
        return ScanIndex(self._conjunctions.view, self._head.view, self._others.view, self._stabbing, self._stabbed)

    def reader(self) -> Reader:
        return _ScanReader(self._index, self.source.snapshot(), len(self))

    def arrays(self) -> dict[str, np.ndarray]:
        return flatten(self._index)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        conjunctions, head, others, self._stabbing, self._stabbed = unflatten(ScanIndex, arrays)
        self._conjunctions, self._head, self._others = (Growing(np.int32, a) for a in (conjunctions, head, others))
        mine = np.concatenate([conjunctions, others])
        self._removed = len(mine) - len(select_alive(self.source.snapshot(), mine))

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


def _choose_head_predicates(snapshot: Snapshot, slots: I32) -> I32:
    """Return for each conjunction the predicate that is tested first: that with the fewest points, or any."""
    if not len(slots):
        return slots
    _, _, start, low, high = snapshot.predicates
    begin, which = gather(snapshot.subscriptions.start, slots)
    p = snapshot.subscriptions.code[which].astype(np.int64)
    points = np.where(low[start[p]] == high[start[p]], start[p + 1] - start[p], WIDE)
    best = np.minimum.reduceat(points << 32 | p, begin[:-1])
    return (best & 0xFFFFFFFF).astype(np.int32)


class _ScanReader(Reader):
    def __init__(self, index: ScanIndex, snapshot: Snapshot, subscriptions: int) -> None:
        sizes = make_sizes(
            ScanScratch,
            found=make_satisfied_sizes(snapshot),
            candidates=len(index.conjunctions) + 1,
            registers=snapshot.registers,
        )
        self._call, self._subscriptions = Call(match_scan, index, snapshot, sizes), subscriptions

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def count_candidates(self, events: Events) -> int:
        return self._subscriptions * len(events.single_valued)
