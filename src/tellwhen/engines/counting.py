"""`counting`: an event counts down the predicates of every subscription it touches (SIFT, BE-Tree section 7.2).

Built in bulk; what is added later is looked at one by one until there is enough of it to build again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store, View
from tellwhen.compile.translate import Rows, Translator
from tellwhen.engines.base import Engine, Reader, Scratch, fill, sized
from tellwhen.kernels.arrays import I32, ROW, U8, Events, Matches, Spans, Stabbing
from tellwhen.kernels.counting import count
from tellwhen.kernels.counting_build import build, rows_by_predicate

LONGEST = 255
"""Predicates that a counter of one byte can count."""

LOOSE = 2048
"""So many subscriptions, or a thirty-second, may wait to be built in."""

UNKNOWN = np.zeros(0, dtype=np.uint64)
"""In place of the predicates' values: subscriptions are looked at one by one."""


class CountingIndex(NamedTuple):
    """Rows are conjunctions; every interval of a row's predicates is in one of the four structures."""

    points: Stabbing  # [p, p]
    upto: Stabbing  # [lowest, p]
    since: Stabbing  # [p, highest]
    spans: Spans  # [p, q]
    need: U8  # |7|3|2|        predicates of a row
    slot: I32  # |0|1|-3|      its subscription; -1 - slot for one of several rows
    always: I32  # rows without predicates


class Counting(Engine):
    """Counts satisfied predicates, over structures that find them without trying each."""

    name = "counting"
    summary = "counts satisfied predicates per subscription (SIFT)"
    supports = frozenset({"delete", "interval_events"})

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._index = _empty()
        self._loose = Growing(np.int32)  # slots not in it
        self._dead = 0
        self._translator = Translator(LONGEST)
        self._scratch = Scratch()

    def __len__(self) -> int:
        return len(self._built) + self._loose.count - self._dead

    def insert(self, slots: I32) -> I32:
        taken = self._translator.takes(self.store.view().subscriptions, slots)
        self._loose.extend(slots[taken])
        if self._loose.count > max(LOOSE, len(self._built) // 32):
            self.rebuild()
        return slots[~taken]

    def delete(self, slots: I32) -> None:
        self._dead += len(slots)
        if self._dead > max(LOOSE, (len(self._built) + self._loose.count) // 4):
            self.rebuild()

    def rebuild(self) -> None:
        mine = np.concatenate([self._built, self._loose.view])
        self._built = mine[self.store.died[mine] > self.store.version]
        self._loose = Growing(np.int32)
        self._dead = 0
        self._translator.forget(self.store.died, self.store.version)
        self._index = self._build()

    def _build(self) -> CountingIndex:
        view = self.store.view()
        kind, start, code, _ = view.subscriptions
        plain = self._built[kind[self._built] == ROW]
        translated = self._translator.rows
        offset, which = gather(start, plain)
        offset = np.concatenate([offset, translated.start[1:] + offset[-1]])
        length = np.diff(offset)
        predicate = np.concatenate([code[which], translated.predicate])
        by_predicate = rows_by_predicate(offset, predicate, len(view.predicates.line))
        return CountingIndex(
            *build(view.predicates, view.lines, *by_predicate),
            need=length.astype(np.uint8),
            slot=np.concatenate([plain, translated.slot]),
            always=np.flatnonzero(length == 0).astype(np.int32),
        )

    def reader(self) -> Reader:
        return _CountingReader(self._index, self._loose.view, self.store.view(), self._scratch)

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"built": self._built, "loose": self._loose.view}
        named |= {f"rows.{name}": array for name, array in self._translator.rows._asdict().items()}
        for name, part in self._index._asdict().items():
            if isinstance(part, np.ndarray):
                named[name] = part
            else:
                named |= {f"{name}.{field}": array for field, array in part._asdict().items()}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._loose = Growing(np.int32, arrays["loose"])
        self._dead = int(
            sum(np.count_nonzero(self.store.died[a] <= self.store.version) for a in (self._built, self._loose.view))
        )

        def part(name: str, kind: Any) -> Any:
            return kind(*(arrays[f"{name}.{field}"] for field in kind._fields))

        self._translator = Translator(LONGEST, part("rows", Rows))
        self._index = CountingIndex(
            part("points", Stabbing), part("upto", Stabbing), part("since", Stabbing), part("spans", Spans),
            arrays["need"], arrays["slot"], arrays["always"],
        )  # fmt: skip

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._dead,
            "rows": len(self._index.need),
            "loose": self._loose.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


def _empty() -> CountingIndex:
    none = np.zeros(0, dtype=np.int32)
    zero = np.zeros(1, dtype=np.int64)
    stabbing = Stabbing(zero, zero[:0], zero, none)
    return CountingIndex(
        stabbing, stabbing, stabbing, Spans(zero, zero[:0], zero, none), none.astype(np.uint8), none, none
    )


class _CountingReader(Reader):
    __slots__ = ("index", "loose", "scratch", "view")

    def __init__(self, index: CountingIndex, loose: I32, view: View, scratch: Scratch) -> None:
        self.index, self.loose, self.view, self.scratch = index, loose, view, scratch

    def match(self, events: Events) -> Matches:
        view = self.view
        arrays = self.scratch.take()
        rows = len(self.index.need)
        matches = fill(
            count, events, len(events.start) * 4,
            self.index, self.loose, view.predicates, view.subscriptions, view.version,
            sized(arrays, "first", view.lines, np.int32),
            sized(arrays, "remaining", rows, np.uint8),
            sized(arrays, "done", rows, np.int32),
            sized(arrays, "stamps", len(view.subscriptions.kind) + 1, np.int64),
            UNKNOWN,
            sized(arrays, "registers", view.registers, np.uint8),
        )  # fmt: skip
        self.scratch.give(arrays)
        return matches
