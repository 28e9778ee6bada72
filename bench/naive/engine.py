"""The naive scan (A-Tree, section 2; BE-Tree, section 7.2): it tests every expression on its own.

Expressions do not share the results of predicates, and there is no index of predicates. The engine `scan` has both, so
a claim of the papers about "Scan" must be checked with `NaiveScan`. The class has no name, so it is not registered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.naive.kernels import NaiveIndex, NaiveScratch, scan_naively
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.engines.base import Engine, Reader, Source
from tellwhen.engines.shared.calls import Call, make_sizes
from tellwhen.kernels.arrays import I32, Events, Matches, Snapshot


class NaiveScan(Engine):
    """Engine that keeps a list of slots."""

    supports = frozenset({"expressions"})

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._index = NaiveIndex(np.zeros(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self._index.slots)

    def insert(self, slots: I32) -> None:
        self._index = NaiveIndex(np.concatenate([self._index.slots, slots]))

    def delete(self, slots: I32) -> None:
        self._index = NaiveIndex(np.setdiff1d(self._index.slots, slots))

    def rebuild(self) -> None:
        """Do nothing: there is no structure to build."""

    def reader(self) -> Reader:
        return NaiveReader(self._index, self.source.snapshot())

    def arrays(self) -> dict[str, np.ndarray]:
        return flatten(self._index)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = unflatten(NaiveIndex, arrays)

    def stats(self) -> dict[str, Any]:
        return {"subscriptions": len(self), "removed": 0, "bytes": self._index.slots.nbytes}


class NaiveReader(Reader):
    """Reader of the list at one moment."""

    def __init__(self, index: NaiveIndex, snapshot: Snapshot) -> None:
        sizes = make_sizes(NaiveScratch, first_entry=snapshot.domains, registers=snapshot.registers)
        self._call, self._size = Call(scan_naively, index, snapshot, sizes), len(index.slots)

    def match(self, events: Events) -> Matches:
        return self._call(events)

    def count_candidates(self, events: Events) -> int:
        return self._size * len(events.single_valued)
