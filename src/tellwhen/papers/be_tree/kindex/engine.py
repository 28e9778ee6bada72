"""`kindex`: conjunctions by size, in posting lists by attribute and value (k-index; BE-Tree, section 7.2, OpIndex 3).

Ranges are enumerated: not by their values, of which there may be infinitely many, but by the segments between the
constants in use. A predicate over more than MAX_SEGMENTS segments is not enumerated: its subscription stays pending.

Inequality is strong: `a <> 3` is true only of an event that carries `a`, and enumerated like a range. The papers' weak
inequality, true also without `a`, is cheap to index, since what it excludes is a short list. But it is not what the
language means. So it exists for comparison only, as `KIndexWeak`, which is not registered.

The lists are for single values, and several predicates on one attribute are one in them. So an event with several
values, or with an interval, is tested on every subscription.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.containers.batches import chosen
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, Union, make_empty_matches, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, Matches, Predicates
from tellwhen.kernels.handover import pack
from tellwhen.papers.be_tree.kindex.arrays import Coverage, Cursors, KIndexIndex, KIndexScratch
from tellwhen.papers.be_tree.kindex.kernels import conjoin, place_conjunctions

MAX_SEGMENTS = 4_096
"""Segments that one predicate may be enumerated into."""


class KIndex(ConjunctionEngine):
    """Walks the lists of an event's values together, size by size."""

    name = "kindex"
    summary = "posting lists by size, attribute and value, ranges enumerated (k-index)"
    predicates_max = 1 << 12
    index_kind = KIndexIndex
    is_weak: ClassVar[bool] = False

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        slot, start, predicate = self.conjunctions()
        predicates, excluded = (_inverted if self.is_weak else _unchanged)(snapshot.predicates)
        cut_start, cuts, first, last = cut_spaces(predicates, np.unique(predicate), snapshot.domains)
        owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
        wide = np.bincount(owner, last - first + 1, len(predicates.domain)) > MAX_SEGMENTS
        conjunction = np.repeat(np.arange(len(slot)), np.diff(start))
        # With one conjunction of a slot go all of them, or the slot would be found twice.
        slots = np.where(slot < 0, -1 - slot, slot)
        is_left_out = np.isin(slots, slots[conjunction[wide[predicate]]])
        size = _sizes(conjunction, predicate, snapshot.predicates.domain, excluded, len(slot))
        size[is_left_out] = -1
        order = np.argsort(size, kind="stable")[int(is_left_out.sum()) :]
        begin, which = gather(start, order)
        segments = len(cuts) + snapshot.domains
        coverage = Coverage(predicates.domain, excluded.astype(np.uint8), predicates.start, first, last)
        list_start, postings = np.zeros(segments + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        if len(which):
            list_start, postings = place_conjunctions(begin, predicate[which], pack(coverage), segments)
        size_start = np.searchsorted(size[order], np.arange(int(size.max(initial=0)) + 2))
        size_0 = (2 * np.arange(size_start[1]) + 1).astype(np.int32)
        self._index = KIndexIndex(
            size_start, slot[order], cut_start, cuts, np.append(list_start, len(postings) + len(size_0)),
            postings=np.append(postings, size_0),
            unindexed=np.unique(slots[is_left_out]).astype(np.int32),
        )  # fmt: skip

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, lists = self.source.snapshot(), len(self._index.cut_start) + 1
        sizes = make_sizes(
            KIndexScratch,
            cursors=make_sizes(Cursors, **dict.fromkeys(Cursors._fields, lists)),
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        pending = Refiner(np.concatenate([self._pending.view, self._index.unindexed]), snapshot)
        indexed = np.setdiff1d(self._built, self._index.unindexed)
        return Union(
            [
                ConjunctionReader(conjoin, self._index, sizes, snapshot, pending),
                _SeveralValues(Refiner(indexed, snapshot)),
            ]
        )


class KIndexWeak(KIndex):
    """With the papers' weak inequality. Its answers are not those of the language: it has no name to ask for."""

    name = ""
    is_weak = True


class _SeveralValues(Reader):
    """Tests every subscription on the events that have several values or intervals, and none on the others."""

    def __init__(self, refiner: Refiner) -> None:
        self._refiner = refiner

    def match(self, events: Events) -> Matches:
        several = np.flatnonzero(events.single_valued == 0)
        if not len(several):
            return make_empty_matches(len(events.single_valued))
        found = self._refiner.match(chosen(events, several))
        start = np.zeros(len(events.start), dtype=np.int64)
        start[several + 1] = np.diff(found.start)
        return Matches(np.cumsum(start), found.slot)

    def count_candidates(self, events: Events) -> int:
        return self._refiner.count_candidates(chosen(events, np.flatnonzero(events.single_valued == 0)))


def _unchanged(predicates: Predicates) -> tuple[Predicates, np.ndarray]:
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


def _sizes(conjunction: I64, predicate: I32, domain: I32, excluded: np.ndarray, count: int) -> I64:
    """By conjunction: the domains that it has a predicate on, apart from what it excludes."""
    counted = ~excluded[predicate]
    pairs = np.unique(conjunction[counted] << 32 | domain[predicate[counted]])
    return np.bincount(pairs >> 32, minlength=count).astype(np.int64)
