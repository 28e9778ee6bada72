"""`kindex`: subscriptions by size, in lists by attribute and value (k-index; BE-Tree section 7.2, OpIndex 3).

Ranges are enumerated. Here that is not by values, of which there may be infinitely many, but by the segments between
the constants in use, which comes to the same where all values are. A predicate over more than MAX_SEGMENTS segments is not
enumerated: its conjunction is kept aside and looked at by every event.

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

from tellwhen.compile.store import Snapshot
from tellwhen.containers.batches import chosen
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader, Refiner, Union
from tellwhen.engines.kindex.arrays import KIndexIndex
from tellwhen.engines.kindex.kernels import conjoin, place_conjunctions
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.spaces import spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, Matches, Predicates

MAX_SEGMENTS = 4_096
"""Segments that one predicate may be enumerated into."""


class KIndex(ConjunctionEngine):
    """Walks the lists of an event's values together, size by size."""

    name = "kindex"
    summary = "posting lists by size, attribute and value, ranges enumerated (k-index)"
    longest = 1 << 12
    weak: ClassVar[bool] = False

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        conjunctions = self.conjunctions()
        predicates, excluded = (_inverted if self.weak else _as_they_are)(snapshot.predicates)
        used = np.unique(conjunctions.predicate)
        cut_start, cuts, first, last = spaces(predicates, used, snapshot.domains)
        owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
        wide = np.bincount(owner, last - first + 1, len(predicates.domain)) > MAX_SEGMENTS
        conjunction_of = np.repeat(np.arange(len(conjunctions.slot)), np.diff(conjunctions.start))
        # All conjunctions of such a slot, or it would be found twice.
        slots = np.where(conjunctions.slot < 0, -1 - conjunctions.slot, conjunctions.slot)
        aside = np.isin(slots, slots[conjunction_of[wide[conjunctions.predicate]]])
        size = _sizes(
            conjunction_of, conjunctions.predicate, snapshot.predicates.domain, excluded, len(conjunctions.slot)
        )
        size[aside] = -1
        order = np.argsort(size, kind="stable")[int(aside.sum()) :]
        begin, which = gather(conjunctions.start, order)
        segments = len(cuts) + snapshot.domains
        code = conjunctions.predicate[which]
        list_start, postings = place_conjunctions(
            begin, code, predicates.domain, predicates.start, first, last, excluded.astype(np.uint8), segments
        )
        sizes = np.searchsorted(size[order], np.arange(int(size.max(initial=0)) + 2))
        self._index = KIndexIndex(
            sizes, conjunctions.slot[order], cut_start, cuts, list_start, postings,
            nothing=(2 * np.arange(sizes[1]) + 1).astype(np.int32),
        )  # fmt: skip
        self._aside = np.unique(slots[aside]).astype(np.int32)

    def reader(self) -> Reader:
        indexed = ConjunctionReader(self, conjoin, tuple(self._index), aside=self._aside)
        return Union([indexed, _SeveralValues(np.setdiff1d(self._built, self._aside), self.store.snapshot())])

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

    def __init__(self, slots: I32, snapshot: Snapshot) -> None:
        self._refine, self._slots = Refiner(slots, snapshot), len(slots)

    def match(self, events: Events) -> Matches:
        several = np.flatnonzero(events.single_valued == 0)
        start = np.zeros(len(events.start), dtype=np.int64)
        if not len(several):
            return Matches(start, np.zeros(0, dtype=np.int32))
        nothing = Matches(np.zeros(len(several) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        found = self._refine(nothing, chosen(events, several))
        start[several + 1] = np.diff(found.start)
        return Matches(np.cumsum(start), found.slot)

    def candidates(self, events: Events) -> int:
        return self._slots * int(np.count_nonzero(events.single_valued == 0))


def _as_they_are(predicates: Predicates) -> tuple[Predicates, np.ndarray]:
    return predicates, np.zeros(len(predicates.domain), dtype=bool)


def _inverted(predicates: Predicates) -> tuple[Predicates, np.ndarray]:
    """For weak inequality: a predicate that all but some values satisfy becomes the intervals of these, excluded."""
    domain, every, start, low, high = predicates
    lows, highs, starts = [], [], [0]
    excluded = np.zeros(len(domain), dtype=bool)
    for p in range(len(domain)):
        a, b = low[start[p] : start[p + 1]].tolist(), high[start[p] : start[p + 1]].tolist()
        if len(a) > 1 and a[0] == LOWEST and b[-1] == HIGHEST:
            excluded[p] = True
            a, b = [end + 1 for end in b[:-1]], [end - 1 for end in a[1:]]
        lows += a
        highs += b
        starts.append(len(lows))
    return Predicates(domain, every, np.array(starts), np.array(lows, np.int64), np.array(highs, np.int64)), excluded


def _sizes(conjunction_of: I64, predicate: I32, domain: I32, excluded: np.ndarray, conjunctions: int) -> I64:
    """Domains that a conjunction has a predicate on, apart from what it excludes."""
    counted = ~excluded[predicate]
    pairs = np.unique(conjunction_of[counted] << 32 | domain[predicate[counted]])
    return np.bincount(pairs >> 32, minlength=conjunctions).astype(np.int64)
