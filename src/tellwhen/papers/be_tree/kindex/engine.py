"""`kindex`: conjunctions by size, in posting lists by attribute and value (k-index; BE-Tree 7.2, OpIndex 3).

The *size* of a conjunction is the number of domains that it has predicates on. An event matches a conjunction of size k
if the conjunction is in k of the lists of the event's values.

Deviations:

- Ranges are enumerated by the *spaces* between the constants in use, not by values, of which there may be infinitely
  many. A predicate over more than `spaces_max` spaces is not enumerated: its subscription is tested on every event.
- Inequality is strong: `a <> 3` is true only of an event that carries `a`. `kindex` enumerates it like a range. The
  paper's lists have the value 3 with a mark that excludes the conjunction, and so mean the weak inequality, which is
  also true without `a`. `kindex-weak` has these lists, and finally tests for each conjunction found whether the event
  carries all its attributes.
- The lists are for single values, and several predicates on one attribute are one posting. So an event with several
  values, or with an interval, is tested on every subscription.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.batches import select_events
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.shared.calls import Refiner, Union, make_empty_matches, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.spaces import count_spaces, cut_spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, Matches, Predicates
from tellwhen.kernels.handover import pack
from tellwhen.papers.be_tree.kindex.arrays import Coverage, Cursors, KIndexIndex, KIndexScratch, PostingLists
from tellwhen.papers.be_tree.kindex.kernels import match_by_size, place_postings
from tellwhen.papers.be_tree.kindex.verify import check_index


class KIndex(ConjunctionEngine):
    """Engine that walks the lists of an event's values together, size by size."""

    name = "kindex"
    summary = "posting lists by size, attribute and value, ranges enumerated (k-index)"
    predicates_max = 1 << 12
    index_kind = KIndexIndex
    spaces_max: ClassVar[int] = 4_096
    """The most spaces that one predicate may be enumerated into."""
    is_excluding: ClassVar[bool] = False
    """Whether the lists have the values that an inequality excludes, not those that it allows."""

    def _build(self) -> None:
        snapshot, conjunctions = self.source.snapshot(), self.conjunctions()
        slot, start, predicate = conjunctions.slot, conjunctions.start, conjunctions.predicate
        predicates, excluded = snapshot.predicates, self._find_excluded(snapshot.predicates)
        if self.is_excluding:
            predicates = _invert(predicates, excluded)
        cut = cut_spaces(predicates, np.unique(predicate), snapshot.domains)
        is_wide = count_spaces(cut, predicates) > self.spaces_max
        conjunction = np.repeat(np.arange(len(slot)), np.diff(start))
        # If one conjunction of a slot is wide, all of the slot are left out: otherwise the slot would be found twice.
        slots = np.where(slot < 0, -1 - slot, slot)
        is_left_out = np.isin(slots, slots[conjunction[is_wide[predicate]]])
        size = _count_domains(conjunction, predicate, predicates.domain, excluded, len(slot))
        size[is_left_out] = -1
        order = np.argsort(size, kind="stable")[int(is_left_out.sum()) :]
        begin, which = gather(start, order)
        lists = PostingLists(np.zeros(cut.total + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        if len(which):
            coverage = Coverage(predicates.domain, excluded.astype(np.uint8), predicates.start, cut.first, cut.last)
            lists = place_postings(Conjunctions(slot[order], begin, predicate[which]), pack(coverage), cut.total)
        is_excluded = excluded[predicate[which]]
        size_start = np.searchsorted(size[order], np.arange(int(size.max(initial=0)) + 2))
        size_0 = (2 * np.arange(size_start[1]) + 1).astype(np.int32)
        self._index = KIndexIndex(
            size_start=size_start,
            slot=slot[order],
            cut_start=cut.cut_start,
            cuts=cut.cuts,
            list_start=np.append(lists.start, len(lists.postings) + len(size_0)),
            postings=np.append(lists.postings, size_0),
            excluded_start=np.concatenate([[0], np.cumsum(is_excluded)])[begin],
            excluded_domain=predicates.domain[predicate[which][is_excluded]],
            unindexed=np.unique(slots[is_left_out]).astype(np.int32),
        )

    def _find_excluded(self, predicates: Predicates) -> np.ndarray:
        """Return by predicate whether the lists have the spaces that it excludes: in `kindex-weak`, for inequalities.

        An inequality has several intervals, the first from LOWEST and the last to HIGHEST.
        """
        first, last = predicates.start[:-1], predicates.start[1:] - 1
        is_excluded = (first < last) & self.is_excluding
        is_excluded[is_excluded] = (predicates.low[first[is_excluded]] == LOWEST) & (
            predicates.high[last[is_excluded]] == HIGHEST
        )
        return is_excluded

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot, lists = self.source.snapshot(), len(self._index.cut_start) + 1
        sizes = make_sizes(
            KIndexScratch,
            cursors=make_sizes(Cursors, **dict.fromkeys(Cursors._fields, lists)),
            first_entry=snapshot.domains,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        pending = Refiner(np.concatenate([self._pending.view, self._index.unindexed]), snapshot)
        indexed = np.setdiff1d(self._built, self._index.unindexed)
        return Union(
            [
                ConjunctionReader(match_by_size, self._index, sizes, snapshot, pending),
                _SeveralValuesReader(Refiner(indexed, snapshot)),
            ]
        )

    def verify(self) -> None:
        predicates = self.source.snapshot().predicates
        excluded = self._find_excluded(predicates)
        check_index(self._index, predicates, excluded, self.conjunctions(self._built), self.spaces_max)


class KIndexWeak(KIndex):
    """k-index whose lists have the values that an inequality excludes, as in the paper."""

    name = "kindex-weak"
    summary = "k-index in which a list excludes the inequalities that its value violates"
    is_excluding = True


class _SeveralValuesReader(Reader):
    """Reader that tests every subscription on events with several values or intervals, and none on other events."""

    def __init__(self, refiner: Refiner) -> None:
        self._refiner = refiner

    def match(self, events: Events) -> Matches:
        several = np.flatnonzero(events.single_valued == 0)
        if not len(several):
            return make_empty_matches(len(events.single_valued))
        found = self._refiner.match(select_events(events, several))
        start = np.zeros(len(events.start), dtype=np.int64)
        start[several + 1] = np.diff(found.start)
        return Matches(np.cumsum(start), found.slot)

    def count_candidates(self, events: Events) -> int:
        return self._refiner.count_candidates(select_events(events, np.flatnonzero(events.single_valued == 0)))


def _invert(predicates: Predicates, is_inverted: np.ndarray) -> Predicates:
    """Replace the intervals of some predicates by the gaps between them."""
    start, low, high = predicates.start, predicates.low.copy(), predicates.high.copy()
    # An interval is replaced by the gap behind it; there is no gap behind the last.
    has_gap = np.repeat(is_inverted, np.diff(start))
    is_last = np.zeros(len(low), dtype=bool)
    is_last[start[1:][is_inverted] - 1] = True
    gaps = np.flatnonzero(has_gap & ~is_last)
    low[gaps], high[gaps] = predicates.high[gaps] + 1, predicates.low[gaps + 1] - 1
    intervals_before = np.concatenate([[0], np.cumsum(~is_last)])
    return Predicates(predicates.domain, predicates.every, intervals_before[start], low[~is_last], high[~is_last])


def _count_domains(conjunction: I64, predicate: I32, domain: I32, is_excluded: np.ndarray, count: int) -> I64:
    """Return the number of domains of each conjunction, without the predicates that are excluded."""
    is_counted = ~is_excluded[predicate]
    pairs = np.unique(conjunction[is_counted] << 32 | domain[predicate[is_counted]])
    return np.bincount(pairs >> 32, minlength=count).astype(np.int64)
