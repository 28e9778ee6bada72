"""`opindex`: conjunctions by pivot attribute, predicates in sorted lists by operator (OpIndex, VLDB 2014).

The *pivot* of a conjunction is the domain, among its domains, that the fewest events carry (section 4.1). An event can
match only conjunctions whose pivot it carries. Each pivot has a *predicate list* for each operator: =, >=, <= and
prefix. A list is sorted by attribute and operand, and cut into *segments*, each with a *signature* (section 4.2).
Matching counts down the *counter* of each conjunction (section 5).

Every predicate is written with these operators, as in sections 4.2 and 6.2. IN is several postings of =, of which one
must be true. Any other set of k disjoint intervals has a posting >= for each low end and a posting <= for each high
end: a value inside makes k + 1 of them true, a value outside makes k true. Ends at infinity are always true, and left
out.

Deviations:

- Domains stand for attributes. An attribute has a domain for each family of its values.
- The number of segments grows with the length of the list, up to one for each domain, so that most segments need no
  search. The paper has 32.
- Lists are built at once, by a counting sort. With `insertion=1` they have 32 segments, and are built by inserting one
  subscription after the other, as in Algorithm 1. In both cases the operands are ranked before the lists are built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Option, Reader
from tellwhen.engines.shared.calls import Kernel, Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import count_points, find_least, weigh_domains
from tellwhen.engines.shared.stabbing import number_keys
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.op_index.arrays import (
    OPERATORS,
    ORDERED_OPERATORS,
    ListRuns,
    OpIndexIndex,
    OpIndexScratch,
    PredicateLists,
    PredicatePostings,
    TrueOperands,
)
from tellwhen.papers.op_index.kernels.build import fill_segments, sort_postings
from tellwhen.papers.op_index.kernels.insert import insert_postings
from tellwhen.papers.op_index.kernels.match import match_conjunctions
from tellwhen.papers.op_index.operands import Prefixes, collect_prefixes, make_operands
from tellwhen.papers.op_index.verify import check_conjunctions, check_prefixes, check_scratch

POSTINGS_PER_SEGMENT = 4

SEGMENTS_MAX = 1 << 20

SEGMENTS_OF_PAPER = 32

INSERTION = Option(0, 0, 1, "1 builds lists of 32 segments by inserting one subscription after the other (Algorithm 1)")


class OpIndex(ConjunctionEngine):
    """Engine that counts down only the conjunctions whose pivot the event carries."""

    name = "opindex"
    summary = "pivot attributes, and sorted predicate lists with signatures (OpIndex)"
    options: ClassVar[Mapping[str, Option]] = {
        "segments": Option(
            SEGMENTS_MAX, 1, SEGMENTS_MAX, "segments of a predicate list, at most; by default as needed"
        ),
        "insertion": INSERTION,
    }
    predicates_max = 1 << 12
    index_kind: ClassVar[type[Any]] = OpIndexIndex
    scratch_kind: ClassVar[type[Any]] = OpIndexScratch
    kernel: ClassVar[Kernel] = staticmethod(match_conjunctions)
    has_segments: ClassVar[bool] = True
    """Whether lists are cut into segments with signatures."""

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        conjunctions = self.conjunctions()
        pivot = self._choose_pivots(conjunctions)
        order = np.argsort(pivot, kind="stable")
        start, which = gather(conjunctions.start, order)
        pivot, predicate = pivot[order], conjunctions.predicate[which]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        postings, need = _make_postings(snapshot.predicates, snapshot.domains, self._collect_prefixes())
        lists, owner = self._build_lists(postings, start, predicate, pivot, np.argsort(order))
        number = (np.arange(len(pivot)) - pivot_start[pivot]).astype(np.int32)
        sums = np.concatenate([[0], np.cumsum(need[predicate])])
        self._index = OpIndexIndex(
            lists._replace(conjunctions=number[owner]),
            pivot_start,
            conjunction_slot=conjunctions.slot[order],
            need=(sums[start[1:]] - sums[start[:-1]]).astype(np.int32),
        )

    def _collect_prefixes(self) -> Prefixes:
        return collect_prefixes(self.source.snapshot().predicates, self.source.is_string())

    def _choose_pivots(self, conjunctions: Conjunctions) -> I64:
        """Return the pivot of each conjunction: the rarest of its domains, and among equals its first (section 4.1).

        The pivot of a conjunction without predicates is the number of domains.
        """
        snapshot, predicate = self.source.snapshot(), conjunctions.predicate
        pivot = np.full(len(conjunctions.slot), snapshot.domains, dtype=np.int64)
        if len(predicate):
            _, rank = np.unique(weigh_domains(self.source, predicate), return_inverse=True)
            domain = snapshot.predicates.domain[predicate]
            chosen = find_least(rank[domain], conjunctions.start)
            pivot[chosen >= 0] = domain[chosen[chosen >= 0]]
        return pivot

    def _build_lists(
        self, postings: PredicatePostings, start: I64, predicate: I32, pivot: I64, sequence: I64
    ) -> tuple[PredicateLists, I32]:
        """Build the predicate lists of all pivots; return them with the owner of each posting (section 4.2).

        Owner o has the predicates predicate[start[o]:start[o+1]] and the pivot pivot[o]. `sequence` has the owners in
        the order in which they were added.
        """
        domains = self.source.snapshot().domains
        segments_max = max(1, min(domains, self.option["segments"])) if self.has_segments else 1
        if self.option["insertion"]:
            segments_max = min(segments_max, SEGMENTS_OF_PAPER)
            placed, segment_start, segments = insert_postings(sequence, start, predicate, pivot, postings, segments_max)
        else:
            placed = sort_postings(start, predicate, pivot, postings)
            size = np.diff(placed.list_start)
            count = np.clip(size // POSTINGS_PER_SEGMENT, 1, segments_max)
            segment_start = np.concatenate([[0], np.cumsum(np.where(size > 0, count + 1, 0))])
            segments = np.zeros((segment_start[-1], 2), dtype=np.int64)
            fill_segments(placed, postings.operands.domain, segment_start, segments)
        if not self.has_segments:
            segments[:, 1] = -1  # all bits: no segment is skipped by its signature
        return PredicateLists(postings.operands, segment_start, segments, placed.rank, placed.owner), placed.owner

    def _index_reader(self, refiner: Refiner) -> Reader:
        return ConjunctionReader(self.kernel, self._index, self._measure_scratch(), self.source.snapshot(), refiner)

    def _measure_scratch(self) -> Callable[[int], Any]:
        """Return a function from the entries of the longest event to the lengths of the working arrays."""
        kind, pivot_start = self.scratch_kind, self._index.pivot_start
        slots = len(self.source.snapshot().subscriptions.kind)
        conjunctions = int(np.diff(pivot_start).max(initial=0))
        # Of PREFIX: the prefixes around the begin of an entry, and a range of those that begin inside an interval.
        ranges_per_entry = ORDERED_OPERATORS + self._index.lists.operands.trie.depth + 1

        @cache
        def sizes(entries: int) -> Any:
            ranges = ranges_per_entry * entries
            runs = ranges + 1
            return make_sizes(
                kind,
                located=make_sizes(
                    TrueOperands,
                    start=OPERATORS + 1,
                    low=ranges,
                    high=ranges,
                    entry=ranges,
                    domain_fraction=entries,
                ),
                runs=make_sizes(ListRuns, begin=runs, end=runs, entry=runs),
                remaining=conjunctions,
                done=conjunctions + 1,
                first_entry=len(pivot_start) - 1,
                stamps=slots + 1,
                effort=2,
            )

        return sizes

    def verify(self) -> None:
        check_scratch(self._measure_scratch()(1))
        predicates, conjunctions = self.source.snapshot().predicates, self.conjunctions(self._built)
        check_prefixes(self._index.lists, predicates, conjunctions.predicate, self.source.is_string())
        check_conjunctions(self._index, predicates, conjunctions)


class OpIndexPlain(OpIndex):
    """The variant of the paper without optimisations (OpIndex-BS): one segment per list, and no signatures."""

    name = "opindex-plain"
    summary = "OpIndex without segments and signatures (OpIndex-BS)"
    options: ClassVar[Mapping[str, Option]] = {"insertion": INSERTION}
    has_segments = False


def _make_postings(predicates: Predicates, domains: int, prefixes: Prefixes) -> tuple[PredicatePostings, I64]:
    """Make the postings of all predicates; return them with the number of true postings that each predicate needs."""
    low, high, intervals = predicates.low, predicates.high, np.diff(predicates.start)
    owner = np.repeat(np.arange(len(intervals)), intervals)
    is_set = count_points(predicates) > 0
    is_point = is_set[owner]
    is_ordered = ~is_point
    is_ordered[prefixes.interval] = False
    # A predicate that any value satisfies keeps its low end: the event must still carry the domain.
    below = is_ordered & ((low != LOWEST) | ((high == HIGHEST) & (intervals[owner] == 1)))
    above = is_ordered & (high != HIGHEST)
    chosen = [np.flatnonzero(mask) for mask in (is_point, below, above)]
    operator = np.repeat(np.arange(ORDERED_OPERATORS), [len(which) for which in chosen])
    ordered_owner = owner[np.concatenate(chosen)]
    operand = np.concatenate([low[chosen[0]], low[chosen[1]], high[chosen[2]]])
    group = operator * domains + predicates.domain[ordered_owner]
    ordered_start, keys, rank = number_keys(group, operand, ORDERED_OPERATORS * domains)
    owner = np.concatenate([ordered_owner, owner[prefixes.interval]])
    rank = np.concatenate([rank, len(keys) + prefixes.operand])
    count = np.bincount(owner, minlength=len(intervals))
    # A value inside makes k + 1 of 2k ends true. Ends at infinity are among these, but have no posting.
    # A prefix is one interval with one posting: it needs one.
    need = np.where(is_set, 1, count - intervals + 1)
    order = np.argsort(owner, kind="stable")
    operands = make_operands(ordered_start, keys, prefixes)
    return PredicatePostings(np.concatenate([[0], np.cumsum(count)]), rank[order].astype(np.int32), operands), need
