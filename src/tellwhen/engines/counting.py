"""`counting`: an event counts down the predicates of every subscription it touches (SIFT, BE-Tree section 7.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.compile.batch import one_by_one
from tellwhen.engines.base import Completion, Reader, fill, prefixed, unprefixed
from tellwhen.engines.rows import RowEngine
from tellwhen.engines.stabbing import build
from tellwhen.kernels.arrays import I64, ROW, U64, CountingIndex, Events, Matches, Stabbing
from tellwhen.kernels.counting import count


class Counting(RowEngine):
    """Counts satisfied predicates, over structures that find them without trying each."""

    name = "counting"
    summary = "counts satisfied predicates per subscription (SIFT)"
    longest = 255  # what a counter of one byte can count

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

    def _index_arrays(self) -> dict[str, np.ndarray]:
        stabbing, need, slot, always = self._index
        named = {"row_count": np.array([self._row_count]), "need": need, "slot": slot, "always": always}
        return named | prefixed("stabbing", stabbing)

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._row_count = int(arrays["row_count"][0])
        self._index = CountingIndex(
            unprefixed("stabbing", Stabbing, arrays), arrays["need"], arrays["slot"], arrays["always"]
        )


def _words(counts: I64) -> U64:
    """Counts as bytes, eight to a word."""
    words = np.zeros(-(-len(counts) // 8), dtype=np.uint64)
    words.view(np.uint8)[: len(counts)] = counts
    return words


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
