"""`kindex`: subscriptions by size, in lists by attribute and value (k-index; BE-Tree section 7.2, OpIndex 3).

Ranges are enumerated. Here that is not by values, of which there may be infinitely many, but by the segments between
the constants in use, which comes to the same where all values are. A predicate over more than BUDGET segments is not
enumerated: its row is kept aside and looked at by every event.

Inequality is strong: `a <> 3` is true only of an event that carries `a`, and enumerated like a range. The weak one of
the papers, true also without `a`, is cheap to index, since what is excluded is a list of few; it is not what the
language means, so it is there to be compared with, as `KIndexWeak`, and not registered.

The lists are of single values, and several predicates on one attribute are one in them. An event with several values
or an interval is therefore tried on every subscription.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tellwhen.compile.batch import chosen
from tellwhen.compile.csr import gather
from tellwhen.compile.subscriptions import View
from tellwhen.engines.base import Completion, Reader, Union
from tellwhen.engines.rows import RowEngine, RowReader
from tellwhen.engines.spaces import spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, KIndexIndex, Matches, Predicates
from tellwhen.kernels.kindex import conjoin, place_rows

BUDGET = 4_096
"""Segments that one predicate may be enumerated into."""


class KIndex(RowEngine):
    """Walks the lists of an event's values together, size by size."""

    name = "kindex"
    summary = "posting lists by size, attribute and value, ranges enumerated (k-index)"
    longest = 1 << 12
    weak: ClassVar[bool] = False

    def _build(self) -> None:
        view = self.store.view()
        rows = self.rows()
        predicates, excluded = (_inverted if self.weak else _as_they_are)(view.predicates)
        used = np.unique(rows.predicate)
        cut_start, cuts, first, last = spaces(predicates, used, view.lines)
        owner = np.repeat(np.arange(len(predicates.line)), np.diff(predicates.start))
        wide = np.bincount(owner, last - first + 1, len(predicates.line)) > BUDGET
        row_of = np.repeat(np.arange(len(rows.slot)), np.diff(rows.start))
        # All rows of such a slot, or it would be found twice.
        slots = np.where(rows.slot < 0, -1 - rows.slot, rows.slot)
        aside = np.isin(slots, slots[row_of[wide[rows.predicate]]])
        size = _sizes(row_of, rows.predicate, view.predicates.line, excluded, len(rows.slot))
        size[aside] = -1
        order = np.argsort(size, kind="stable")[int(aside.sum()) :]
        begin, which = gather(rows.start, order)
        segments = len(cuts) + view.lines
        code = rows.predicate[which]
        list_start, postings = place_rows(
            begin, code, predicates.line, predicates.start, first, last, excluded.astype(np.uint8), segments
        )
        sizes = np.searchsorted(size[order], np.arange(int(size.max(initial=0)) + 2))
        self._index = KIndexIndex(
            sizes, rows.slot[order], cut_start, cuts, list_start, postings,
            nothing=(2 * np.arange(sizes[1]) + 1).astype(np.int32),
        )  # fmt: skip
        self._aside = np.unique(slots[aside]).astype(np.int32)

    def reader(self) -> Reader:
        indexed = RowReader(self, conjoin, tuple(self._index), aside=self._aside)
        return Union([indexed, _SeveralValues(np.setdiff1d(self._built, self._aside), self.store.view())])

    def _index_arrays(self) -> dict[str, np.ndarray]:
        return self._index._asdict() | {"aside": self._aside}

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._index = KIndexIndex(*(arrays[name] for name in KIndexIndex._fields))
        self._aside = arrays["aside"]


class KIndexWeak(KIndex):
    """With the weak inequality of the papers. Its answers are not those of the language: it has no name to ask for."""

    name = ""
    weak = True


class _SeveralValues(Reader):
    """Tries every subscription on the events that have several values or intervals, and none on the others."""

    def __init__(self, slots: I32, view: View) -> None:
        self._completion, self._slots = Completion(slots, view), len(slots)

    def match(self, events: Events) -> Matches:
        several = np.flatnonzero(events.plain == 0)
        start = np.zeros(len(events.start), dtype=np.int64)
        if not len(several):
            return Matches(start, np.zeros(0, dtype=np.int32))
        nothing = Matches(np.zeros(len(several) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        found = self._completion(nothing, chosen(events, several))
        start[several + 1] = np.diff(found.start)
        return Matches(np.cumsum(start), found.slot)

    def candidates(self, events: Events) -> int:
        return self._slots * int(np.count_nonzero(events.plain == 0))


def _as_they_are(predicates: Predicates) -> tuple[Predicates, np.ndarray]:
    return predicates, np.zeros(len(predicates.line), dtype=bool)


def _inverted(predicates: Predicates) -> tuple[Predicates, np.ndarray]:
    """For weak inequality: a predicate that all but some values satisfy becomes the intervals of these, excluded."""
    line, every, start, low, high = predicates
    lows, highs, starts = [], [], [0]
    excluded = np.zeros(len(line), dtype=bool)
    for p in range(len(line)):
        a, b = low[start[p] : start[p + 1]].tolist(), high[start[p] : start[p + 1]].tolist()
        if len(a) > 1 and a[0] == LOWEST and b[-1] == HIGHEST:
            excluded[p] = True
            a, b = [end + 1 for end in b[:-1]], [end - 1 for end in a[1:]]
        lows += a
        highs += b
        starts.append(len(lows))
    return Predicates(line, every, np.array(starts), np.array(lows, np.int64), np.array(highs, np.int64)), excluded


def _sizes(row_of: I64, predicate: I32, line: I32, excluded: np.ndarray, rows: int) -> I64:
    """Lines that a row has a predicate on, apart from what it excludes."""
    counted = ~excluded[predicate]
    pairs = np.unique(row_of[counted] << 32 | line[predicate[counted]])
    return np.bincount(pairs >> 32, minlength=rows).astype(np.int64)
