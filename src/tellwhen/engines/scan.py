"""`scan`: look at every subscription. The baseline that every other engine has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store, View
from tellwhen.engines.base import Engine, Reader, Scratch, fill, prefixed, unprefixed
from tellwhen.engines.stabbing import build, nothing
from tellwhen.kernels.arrays import I32, ROW, Events, Matches, Stabbing
from tellwhen.kernels.scan import scan

FEW = 256
"""So many predicates, or an eighth, may wait to be indexed; so many subscriptions, or a quarter, to be forgotten."""

WIDE = (1 << 31) - 1
"""The breadth of a predicate that is not made of points."""


class Scan(Engine):
    """Finds every true predicate once, then looks at every subscription on these values."""

    name = "scan"
    summary = "a tight loop over all subscriptions"
    supports = frozenset({"delete", "interval_events", "expressions"})
    scratch = Scratch()  # of all indexes: one kernel call uses it at a time

    def __init__(self, store: Store, **given: int) -> None:
        super().__init__(store, **given)
        self._rows = Growing(np.int32)  # slots of conjunctions
        self._head = Growing(np.int32)  # a predicate of each, to be tested first
        self._others = Growing(np.int32)  # slots of all else
        self._dead = 0
        self._stabbing, self._grouped = nothing(), 0  # an index of the predicates numbered below _grouped

    def __len__(self) -> int:
        return self._rows.count + self._others.count - self._dead

    def insert(self, slots: I32) -> None:
        view = self.store.view()
        start = view.subscriptions.start
        is_row = (view.subscriptions.kind[slots] == ROW) & (start[slots + 1] > start[slots])
        rows = slots[is_row]
        self._rows.extend(rows)
        self._head.extend(_heads(view, rows))
        self._others.extend(slots[~is_row])
        if len(view.predicates.line) - self._grouped > max(FEW, self._grouped // 8):
            self._index_predicates()

    def delete(self, slots: I32) -> None:
        self._dead += len(slots)
        if self._dead > max(FEW, (self._rows.count + self._others.count) // 4):
            self.rebuild()

    def rebuild(self) -> None:
        rows, others = self._rows.view, self._others.view
        alive = self.store.died[rows] > self.store.version
        self._rows, self._head = Growing(np.int32, rows[alive]), Growing(np.int32, self._head.view[alive])
        self._others = Growing(np.int32, others[self.store.died[others] > self.store.version])
        self._dead = 0
        self._index_predicates()

    def _index_predicates(self) -> None:
        view = self.store.view()
        self._grouped = len(view.predicates.line)
        each = np.arange(self._grouped + 1)
        self._stabbing = build(view.predicates, view.lines, each, each[:-1].astype(np.int32))

    def reader(self) -> Reader:
        return _ScanReader(self)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "rows": self._rows.view,
            "head": self._head.view,
            "others": self._others.view,
            "grouped": np.array([self._grouped]),
            **prefixed("stabbing", self._stabbing),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._rows, self._head, self._others = (Growing(np.int32, arrays[name]) for name in ("rows", "head", "others"))
        self._grouped, self._stabbing = int(arrays["grouped"][0]), unprefixed("stabbing", Stabbing, arrays)
        mine = np.concatenate([self._rows.view, self._others.view])
        self._dead = int(np.count_nonzero(self.store.died[mine] <= self.store.version))

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._dead,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


def _heads(view: View, rows: I32) -> I32:
    """A predicate of each conjunction that few values satisfy: of the fewest points, if there is one of points."""
    if not len(rows):
        return rows
    _, _, start, low, high = view.predicates
    begin, which = gather(view.subscriptions.start, rows)
    p = view.subscriptions.code[which].astype(np.int64)
    breadth = np.where(low[start[p]] == high[start[p]], start[p + 1] - start[p], WIDE)
    best = np.minimum.reduceat(breadth << 32 | p, begin[:-1])
    return (best & 0xFFFFFFFF).astype(np.int32)


class _ScanReader(Reader):
    def __init__(self, engine: Scan) -> None:
        view = engine.store.view()
        self._scratch, self._view, self._live = engine.scratch, view, len(engine)
        self._arguments = (
            engine._rows.view, engine._head.view, engine._others.view, *engine._stabbing, engine._grouped, view.version,
        )  # fmt: skip
        self._sizes = (
            ("first", view.lines, np.int32),
            ("truth", len(view.predicates.line) // 64 + 1, np.uint64),
            ("candidates", engine._rows.count + 1, np.int32),
            ("registers", view.registers, np.uint8),
        )

    def match(self, events: Events) -> Matches:
        arrays = self._scratch.take(self._sizes)
        matches = fill(
            scan, events, *self._arguments, *arrays.values(), *self._view.predicates, *self._view.subscriptions
        )
        self._scratch.give(arrays)
        return matches

    def candidates(self, events: Events) -> int:
        return self._live * (len(events.start) - 1)
