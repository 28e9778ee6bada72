"""`counting`: an event counts down the predicates of every subscription it touches (SIFT, BE-Tree section 7.2).

Built in bulk; what is added later is looked at one by one until there is enough of it to build again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.batch import one_by_one
from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import Store
from tellwhen.compile.translate import Rows, Translator
from tellwhen.engines.base import Completion, Engine, Reader, Scratch, fill, prefixed, unprefixed
from tellwhen.engines.stabbing import build, nothing
from tellwhen.kernels.arrays import I32, I64, ROW, U64, CountingIndex, Events, Matches, Stabbing
from tellwhen.kernels.counting import count

LONGEST = 255
"""Predicates that a counter of one byte can count."""

LOOSE = 64
"""So many subscriptions, or a sixty-fourth, may wait to be built in, and so many, or a quarter, to be forgotten."""


class Counting(Engine):
    """Counts satisfied predicates, over structures that find them without trying each."""

    name = "counting"
    summary = "counts satisfied predicates per subscription (SIFT)"
    supports = frozenset({"delete", "interval_events"})
    scratch = Scratch()  # of all indexes: one kernel call uses it at a time

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._index, self._row_count = _empty(), 0
        self._loose = Growing(np.int32)  # slots not in it
        self._dead = 0
        self._translator = Translator(LONGEST)

    def __len__(self) -> int:
        return len(self._built) + self._loose.count - self._dead

    def takes(self, slots: I32) -> NDArray[np.bool_]:
        return self._translator.takes(self.store.view().subscriptions, slots)

    def insert(self, slots: I32) -> None:
        self._translator.add(self.store.view().subscriptions, slots)
        self._loose.extend(slots)
        if self._loose.count > max(LOOSE, len(self._built) // 64):
            self.rebuild()

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
        self._build()

    def _build(self) -> None:
        view = self.store.view()
        kind, start, code, _ = view.subscriptions
        mine = np.zeros(len(kind), dtype=bool)
        mine[self._built[kind[self._built] == ROW]] = True
        translated = self._translator.rows
        lengths = np.where(mine, np.diff(start), 0)
        offset = np.concatenate([[0], np.cumsum(np.concatenate([lengths, np.diff(translated.start)]))])
        predicate = np.concatenate([code[np.repeat(mine, np.diff(start))], translated.predicate])
        need = np.diff(offset)
        rows = np.concatenate([mine, np.ones(len(translated.slot), dtype=bool)])
        self._row_count = len(rows)
        self._index = CountingIndex(
            build(view.predicates, view.lines, offset, predicate),
            need=_words(need),
            slot=translated.slot,
            always=np.flatnonzero(rows & (need == 0)).astype(np.int32),
        )

    def reader(self) -> Reader:
        return _CountingReader(self)

    def arrays(self) -> dict[str, np.ndarray]:
        index = self._index
        named = {"built": self._built, "loose": self._loose.view}
        named |= {
            "row_count": np.array([self._row_count]),
            "need": index.need,
            "slot": index.slot,
            "always": index.always,
        }
        named |= prefixed("rows", self._translator.rows)
        return named | prefixed("stabbing", index.stabbing)

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._loose = Growing(np.int32, arrays["loose"])
        mine = np.concatenate([self._built, self._loose.view])
        self._dead = int(np.count_nonzero(self.store.died[mine] <= self.store.version))
        self._translator = Translator(LONGEST, unprefixed("rows", Rows, arrays))
        self._row_count = int(arrays["row_count"][0])
        self._index = CountingIndex(
            unprefixed("stabbing", Stabbing, arrays), arrays["need"], arrays["slot"], arrays["always"]
        )

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._dead,
            "rows": self._row_count,
            "loose": self._loose.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


def _words(counts: I64) -> U64:
    """Counts as bytes, eight to a word."""
    words = np.zeros(-(-len(counts) // 8), dtype=np.uint64)
    words.view(np.uint8)[: len(counts)] = counts
    return words


def _empty() -> CountingIndex:
    none = np.zeros(0, dtype=np.int32)
    return CountingIndex(nothing(), np.zeros(0, dtype=np.uint64), none, none)


class _CountingReader(Reader):
    def __init__(self, engine: Counting) -> None:
        view = engine.store.view()
        self._scratch = engine.scratch
        stabbing, *rows = engine._index
        self._need, self._loose = engine._index.need, engine._loose.count
        self._arguments = (
            *stabbing, *rows, engine._row_count, view.subscriptions.died, view.version, view.removed,
        )  # fmt: skip
        self._sizes = (
            ("remaining", len(engine._index.need), np.uint64),
            ("done", engine._row_count + 1, np.int32),
            ("stamps", len(view.subscriptions.kind) + 1, np.int64),
        )
        self._completion = Completion(engine._loose.view, view)

    def match(self, events: Events) -> Matches:
        arrays = self._scratch.take(self._sizes)
        matches = fill(count, events, *self._arguments, *arrays.values())
        self._scratch.give(arrays)
        return self._completion(matches, events)

    def candidates(self, events: Events) -> int:
        """Rows of which a predicate was satisfied, and those that are loose."""
        found = 0
        for event in one_by_one(events):
            arrays = self._scratch.take(self._sizes)
            fill(count, event, *self._arguments, *arrays.values())
            left = arrays["remaining"][: len(self._need)].view(np.uint8)
            found += int(np.count_nonzero(left != self._need.view(np.uint8))) + self._loose
            self._scratch.give(arrays)
        return found
