"""`scan`: look at every subscription. The baseline that every other engine has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store, View
from tellwhen.engines.base import Engine, Reader, Scratch, fill, sized
from tellwhen.kernels.arrays import I32, I64, Events, Matches, Predicates
from tellwhen.kernels.scan import scan

FEW = 256
"""So many predicates, or an eighth, may wait ungrouped."""


class Group(NamedTuple):
    """A copy of the predicates, line by line; those numbered len(member) and above are not in it yet."""

    line: I64  # |0|3|5|        predicates of line L are line[L]:line[L+1]
    member: I32  # |0 2 5|1 4|    their ids
    start: I64  # |0 1 2|3 6|8|  their intervals, as in Predicates
    low: I64
    high: I64


def _grouped(predicates: Predicates, lines: int) -> Group:
    member = np.argsort(predicates.line, kind="stable").astype(np.int32)
    line = np.searchsorted(predicates.line[member], np.arange(lines + 1))
    start, which = gather(predicates.start, member)
    return Group(line, member, start, predicates.low[which], predicates.high[which])


class Scan(Engine):
    """Evaluates every distinct predicate on the event's lines once, then every subscription on these values."""

    name = "scan"
    summary = "a tight loop over all subscriptions"
    supports = frozenset({"delete", "interval_events", "expressions"})

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._slots = Growing(np.int32)
        self._dead = 0
        self._group = _grouped(store.view().predicates, 0)
        self._scratch = Scratch()

    def __len__(self) -> int:
        return self._slots.count - self._dead

    def insert(self, slots: I32) -> I32:
        self._slots.extend(slots)
        grouped = len(self._group.member)
        if len(self.store.view().predicates.line) - grouped > max(FEW, grouped // 8):
            self._regroup()
        return slots[:0]

    def delete(self, slots: I32) -> None:
        self._dead += len(slots)
        if self._dead > max(FEW, self._slots.count // 4):
            self.rebuild()

    def rebuild(self) -> None:
        mine = self._slots.view
        self._slots = Growing(np.int32, mine[self.store.died[mine] > self.store.version])
        self._dead = 0
        self._regroup()

    def _regroup(self) -> None:
        view = self.store.view()
        self._group = _grouped(view.predicates, view.lines)

    def reader(self) -> Reader:
        return _ScanReader(self._slots.view, self._group, self.store.view(), self._scratch)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"slots": self._slots.view, **self._group._asdict()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._slots = Growing(np.int32, arrays["slots"])
        self._group = Group(*(arrays[name] for name in Group._fields))
        mine = self._slots.view
        self._dead = int(np.count_nonzero(self.store.died[mine] <= self.store.version))

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._dead,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


class _ScanReader(Reader):
    __slots__ = ("group", "scratch", "slots", "view")

    def __init__(self, slots: I32, group: Group, view: View, scratch: Scratch) -> None:
        self.slots, self.group, self.view, self.scratch = slots, group, view, scratch

    def match(self, events: Events) -> Matches:
        view = self.view
        arrays = self.scratch.take()
        predicates = len(view.predicates.line)
        matches = fill(
            scan, events, len(events.start) * 4,
            self.slots, self.group, view.predicates, view.subscriptions, view.version,
            sized(arrays, "first", view.lines, np.int32),
            sized(arrays, "truth", predicates // 64 + 1, np.uint64),
            sized(arrays, "found", predicates, np.int32),
            sized(arrays, "registers", view.registers, np.uint8),
        )  # fmt: skip
        self.scratch.give(arrays)
        return matches
