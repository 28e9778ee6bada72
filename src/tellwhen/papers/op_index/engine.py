"""`opindex`: conjunctions by pivot attribute, their predicates in sorted lists by operator (OpIndex, VLDB 2014).

The pivot of a conjunction is the one of its domains that the fewest events carry (section 4.1). An event can match only
conjunctions whose pivot it carries. Their predicates stand in three lists (=, >=, <=). Each list is sorted by attribute
and operand, and cut into segments with a signature (4.2). Matching counts down the predicates of each conjunction (5).

Predicates are written with the three operators, as in section 4.2, and further. IN is several postings of =, of
which one is true. Any other set of k disjoint intervals has a posting >= for each low end and <= for each high end: a
value in one of the intervals makes k+1 of them true, a value outside k. Ends at infinity are always true, and left out.

Deviations: domains stand for attributes (an attribute has one for each family of values). The number of segments grows
with the length of the list, up to one for each domain, where the paper has 32: then most of them need no search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Kernel, Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points, find_least, weigh_domains
from tellwhen.engines.shared.stabbing import number_keys
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.op_index.arrays import (
    ListRuns,
    Located,
    Operands,
    OpIndexIndex,
    OpIndexScratch,
    Postings,
    PredicateLists,
)
from tellwhen.papers.op_index.kernels.build import sign, sort_postings
from tellwhen.papers.op_index.kernels.match import match_pivots
from tellwhen.papers.op_index.verify import check_conjunctions, check_scratch

SEGMENT_POSTINGS = 4
"""A list has a segment for every four postings."""

MAX_SEGMENTS = 1 << 20


class OpIndex(ConjunctionEngine):
    """Counts down only the conjunctions whose pivot the event carries."""

    name = "opindex"
    summary = "pivot attributes, and sorted predicate lists with signatures (OpIndex)"
    options: ClassVar[Mapping[str, Option]] = {
        "segments": Option(MAX_SEGMENTS, 1, MAX_SEGMENTS, "segments of a predicate list, at most; by default as needed")
    }
    predicates_max = 1 << 12
    index_kind: ClassVar[type[Any]] = OpIndexIndex
    scratch_kind: ClassVar[type[Any]] = OpIndexScratch
    kernel: ClassVar[Kernel] = staticmethod(match_pivots)
    has_segments: ClassVar[bool] = True

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        slot, start, predicate = self.conjunctions()
        pivot = self._pivots(start, predicate)
        order = np.argsort(pivot, kind="stable")
        start, which = gather(start, order)
        pivot, predicate = pivot[order], predicate[which]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        postings, need = _postings(snapshot.predicates, snapshot.domains)
        lists, owner = self._lists(postings, start, predicate, pivot)
        number = (np.arange(len(pivot)) - pivot_start[pivot]).astype(np.int32)
        sums = np.concatenate([[0], np.cumsum(need[predicate])])
        self._index = OpIndexIndex(
            lists._replace(conjunctions=number[owner]),
            pivot_start,
            conjunction_slot=slot[order],
            need=(sums[start[1:]] - sums[start[:-1]]).astype(np.int32),
        )

    def _pivots(self, start: I64, predicate: I32) -> I64:
        """By conjunction: its pivot, of equals the one it asks for first; the number of domains if it asks for none."""
        snapshot = self.source.snapshot()
        found = np.full(len(start) - 1, snapshot.domains, dtype=np.int64)
        if len(predicate):
            _, rank = np.unique(weigh_domains(self.source, predicate), return_inverse=True)
            domain = snapshot.predicates.domain[predicate]
            chosen = find_least(rank[domain], start)
            found[chosen >= 0] = domain[chosen[chosen >= 0]]
        return found

    def _lists(self, postings: Postings, start: I64, predicate: I32, pivot: I64) -> tuple[PredicateLists, I32]:
        """The lists of all pivots, and whose each posting is.

        Owner o has the predicates predicate[start[o]:start[o+1]] and the pivot pivot[o].
        """
        operands = postings.operands
        list_start, ranks, owner = sort_postings(start, predicate, pivot, postings)
        size = np.diff(list_start)
        domains = len(size) // 3
        segments_max = min(domains, self.option["segments"]) if self.has_segments else 1
        count = np.clip(size // SEGMENT_POSTINGS, 1, max(1, segments_max))
        segment_start = np.concatenate([[0], np.cumsum(np.where(size > 0, count + 1, 0))])
        segments = np.zeros((segment_start[-1], 2), dtype=np.int64)
        sign(list_start, ranks, operands.domain, segment_start, segments)
        if not self.has_segments:
            segments[:, 1] = -1  # has all bits: every segment is searched
        return PredicateLists(operands, segment_start, segments, ranks, owner), owner

    def _index_reader(self, refiner: Refiner) -> Reader:
        return ConjunctionReader(self.kernel, self._index, self._sizes(), self.source.snapshot(), refiner)

    def _sizes(self) -> Callable[[int], Any]:
        """By the number of entries of an event: the sizes of the scratch."""
        kind, pivot_start = self.scratch_kind, self._index.pivot_start
        slots = len(self.source.snapshot().subscriptions.kind)
        conjunctions = int(np.diff(pivot_start).max(initial=0))

        @cache
        def sizes(entries: int) -> Any:
            return make_sizes(
                kind,
                located=make_sizes(Located, low=3 * entries, high=3 * entries, domain_share=entries),
                runs=make_sizes(ListRuns, begin=3 * entries + 1, end=3 * entries + 1, entry=3 * entries + 1),
                remaining=conjunctions,
                done=conjunctions + 1,
                first_entry=len(pivot_start) - 1,
                stamps=slots + 1,
                effort=2,
            )

        return sizes

    def verify(self) -> None:
        check_scratch(self._sizes()(1))
        check_conjunctions(self._index, self.source.snapshot().predicates, self.conjunctions(self._built))


class OpIndexPlain(OpIndex):
    """The unoptimised variant of the paper (OpIndex-BS): one segment, and no signature."""

    name = "opindex-plain"
    summary = "OpIndex without segments and signatures (OpIndex-BS)"
    options: ClassVar[Mapping[str, Option]] = {}
    has_segments = False


def _postings(predicates: Predicates, domains: int) -> tuple[Postings, I64]:
    """The postings of all predicates, and by predicate how many of its postings must be true."""
    _, _, start, low, high = predicates
    intervals = np.diff(start)
    owner = np.repeat(np.arange(len(intervals)), intervals)
    is_set = count_points(predicates) > 0
    is_point = is_set[owner]
    # A predicate that any value satisfies keeps its low end: the event must still carry the domain.
    below = ~is_point & ((low != LOWEST) | ((high == HIGHEST) & (intervals[owner] == 1)))
    above = ~is_point & (high != HIGHEST)
    chosen = [np.flatnonzero(mask) for mask in (is_point, below, above)]
    operator = np.repeat(np.arange(3), [len(which) for which in chosen])
    owner = owner[np.concatenate(chosen)]
    operand = np.concatenate([low[chosen[0]], low[chosen[1]], high[chosen[2]]])
    operand_start, keys, rank = number_keys(operator * domains + predicates.domain[owner], operand, 3 * domains)
    count = np.bincount(owner, minlength=len(intervals))
    # A value inside makes k+1 of 2k ends true. Ends at infinity would be among them, but have no posting.
    need = np.where(is_set, 1, count - intervals + 1)
    order = np.argsort(owner, kind="stable")
    operands = operands_of(operand_start, keys, domains)
    return Postings(np.concatenate([[0], np.cumsum(count)]), rank[order].astype(np.int32), operands), need


def operands_of(start: I64, keys: I64, domains: int) -> Operands:
    """The operands with their domains."""
    return Operands(start, keys, np.repeat(np.tile(np.arange(domains, dtype=np.int32), 3), np.diff(start)))
