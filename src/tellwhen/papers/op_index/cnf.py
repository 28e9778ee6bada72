"""`opindex-cnf`: `opindex` for conjunctions of clauses, with a bitmap for each instead of a counter (OpIndex, 6.1).

An expression is indexed in its conjunctive normal form. The clause with the fewest predicates gives the pivots; of
equals, the one whose attributes are the rarest together. The subscription stands in the lists of each pivot. A true
predicate strikes out its clause. A subscription matches when no clause is left.

Deviations: one true posting is enough for a clause, so a predicate has a posting for each of its intervals. An interval
with two ends cannot be written as >= and <=, since either would strike out the clause. It stands in the list >= by its
low end; its high end is part of the operand, and is compared when the low end is reached.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.kernels.normal_form import MAX_CONJUNCTIONS
from tellwhen.containers.csr import gather
from tellwhen.engines.shared.selectivity import weigh_domains
from tellwhen.kernels.arrays import CONJUNCTION, F64, HIGHEST, I32, I64, LOWEST, REJECT, U64, Predicates
from tellwhen.papers.op_index.arrays import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    Clauses,
    OpIndexCNFIndex,
    OpIndexCNFScratch,
    Postings,
)
from tellwhen.papers.op_index.engine import OpIndex, operands_of
from tellwhen.papers.op_index.kernels.match import match_clauses
from tellwhen.papers.op_index.verify import check_clauses, check_scratch

WEIGHT_MAX = 256.0
"""More than the domains of a clause can weigh: it has at most 64 predicates, and no domain weighs more than 2."""


class OpIndexCNF(OpIndex):
    """Strikes out clauses of the subscriptions that have a pivot which the event carries."""

    name = "opindex-cnf"
    summary = "OpIndex for conjunctions of clauses, with bitmaps"
    predicates_max = MAX_CONJUNCTIONS  # in a conjunction, each predicate is a clause: a bit each
    goal = REJECT
    index_kind = OpIndexCNFIndex
    scratch_kind = OpIndexCNFScratch
    kernel = staticmethod(match_clauses)

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        clauses = self._clauses()
        subscription, pivot = self._clause_pivots(clauses)
        order = np.argsort(pivot, kind="stable")
        subscription, pivot = subscription[order], pivot[order]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        # Under each of its pivots a subscription has all its clauses.
        first, which = gather(clauses.first, subscription)
        conjunction = np.repeat(np.arange(len(subscription)), np.diff(first))
        number = np.arange(len(conjunction)) - first[conjunction]
        start, which = gather(clauses.start, which)
        postings, operand_end = _postings(snapshot.predicates, snapshot.domains)
        lists, owner = self._lists(postings, start, clauses.predicate[which], pivot[conjunction])
        slot = clauses.slot[subscription]
        has_several = np.bincount(subscription, minlength=len(clauses.slot))[subscription] > 1
        self._index = OpIndexCNFIndex(
            lists._replace(conjunctions=(conjunction - pivot_start[pivot[conjunction]])[owner].astype(np.int32)),
            pivot_start,
            conjunction_slot=np.where(has_several, -1 - slot, slot).astype(np.int32),
            clauses=_lowest_bits(np.diff(first)),
            clause=number[owner].astype(np.uint8),
            operand_end=operand_end,
        )

    def _clauses(self, slots: I32 | None = None) -> Clauses:
        """The clauses of some slots, or of all in `_built`. In a conjunction every predicate is a clause."""
        kind, start, code, _ = self.source.snapshot().subscriptions
        chosen = self._built if slots is None else slots
        mine = chosen[kind[chosen] == CONJUNCTION]
        first, which = gather(start, mine)
        other = self.translator.conjunctions if slots is None else self.translator.conjunctions_of(slots)
        slot = np.where(other.slot < 0, -1 - other.slot, other.slot)
        begins = np.flatnonzero(np.diff(slot, prepend=-1))
        count = first[-1]
        return Clauses(
            np.concatenate([mine, slot[begins]]),
            np.concatenate([first[:-1], count + begins, [count + len(slot)]]),
            np.concatenate([np.arange(count), count + other.start]),
            np.concatenate([code[which], other.predicate]),
        )

    def _clause_pivots(self, clauses: Clauses) -> tuple[I64, I64]:
        """Pairs of a subscription and one of its pivots. Without clauses, its pivot is the number of domains."""
        _, first, start, predicate = clauses
        snapshot = self.source.snapshot()
        domain = snapshot.predicates.domain[predicate]
        clause = np.repeat(np.arange(len(start) - 1), np.diff(start))
        weight = np.bincount(clause, weigh_domains(self.source, predicate)[domain], len(start) - 1)
        chosen = _first_least(np.diff(start) * WEIGHT_MAX + weight, first)
        begin, which = gather(start, chosen)
        has_clauses = np.diff(first) > 0
        domains = max(1, snapshot.domains)
        pairs = np.repeat(np.flatnonzero(has_clauses), np.diff(begin)) * domains + domain[which]
        pairs = np.sort(pairs, kind="stable")
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        without = np.flatnonzero(~has_clauses)
        return (
            np.concatenate([pairs // domains, without]),
            np.concatenate([pairs % domains, np.full(len(without), snapshot.domains)]),
        )

    def verify(self) -> None:
        check_scratch(self._sizes()(1))
        check_clauses(self._index, self.source.snapshot().predicates, self._clauses(self._built))


def _first_least(score: F64, start: I64) -> I64:
    """The index of the least score of every list that is not empty, the first of equals."""
    begins = start[:-1][np.diff(start) > 0]
    if not len(begins):
        return begins
    best = np.repeat(np.minimum.reduceat(score, begins), np.diff(np.append(begins, len(score))))
    least = np.flatnonzero(score == best)
    return least[np.searchsorted(least, begins)]


def _lowest_bits(count: I64) -> U64:
    """Masks of the lowest `count` bits."""
    ones = np.uint64(np.iinfo(np.uint64).max) >> (64 - np.maximum(1, count)).astype(np.uint64)
    return np.where(count > 0, ones, np.uint64(0))


def _postings(predicates: Predicates, domains: int) -> tuple[Postings, I64]:
    """The postings of all predicates, one for each interval, and by rank the high end that belongs to the operand."""
    _, _, start, low, high = predicates
    domain = np.repeat(predicates.domain, np.diff(start))
    is_point, is_above = low == high, (low == LOWEST) & (high != HIGHEST)
    operator = np.select([is_point, is_above], [EQUAL, AT_MOST], AT_LEAST)
    operand = np.where(is_above, high, low)
    operand_end = np.where(operator == AT_LEAST, high, HIGHEST)
    group = operator * domains + domain
    order = np.lexsort((operand_end, operand, group))
    group, operand, operand_end = group[order], operand[order], operand_end[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(group) != 0) | (operand[1:] != operand[:-1]) | (operand_end[1:] != operand_end[:-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.cumsum(is_new) - 1
    operand_start = np.searchsorted(group[is_new], np.arange(3 * domains + 1))
    return Postings(start, rank, operands_of(operand_start, operand[is_new], domains)), operand_end[is_new]
