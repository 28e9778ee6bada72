"""`opindex-cnf`: `opindex` for conjunctions of clauses, with a bitmap instead of a counter (OpIndex, section 6.1).

An expression is indexed in its conjunctive normal form. The domains of one clause are the pivots of the subscription.
This is the clause with the fewest predicates, and among equals the clause whose domains are together the rarest. The
subscription is in the lists of each pivot. A true predicate clears the bit of its clause. A subscription matches when
its bitmap is zero.

Deviations: one true posting is enough for a clause, so a predicate has one posting for each of its intervals. An
interval with two ends cannot be written as >= and <=, because either of them would clear the bit. If it is no prefix,
its posting is in the list of >= with its low end. Its high end is part of the operand: when >= is true, the high end is
compared too.
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
    ORDERED_OPERATORS,
    PREFIX,
    Clauses,
    OpIndexCNFIndex,
    OpIndexCNFScratch,
    PredicatePostings,
)
from tellwhen.papers.op_index.engine import OpIndex
from tellwhen.papers.op_index.kernels.match import match_clauses
from tellwhen.papers.op_index.operands import Prefixes, make_operands
from tellwhen.papers.op_index.verify import check_clauses, check_prefixes, check_scratch

CLAUSE_WEIGHT_LIMIT = 256.0
"""More than the weight of any clause: a clause has at most 64 predicates, and no domain weighs more than 2."""


class OpIndexCNF(OpIndex):
    """Engine that strikes out the clauses of subscriptions with a pivot that the event carries."""

    name = "opindex-cnf"
    summary = "OpIndex for conjunctions of clauses, with bitmaps"
    predicates_max = MAX_CONJUNCTIONS  # in a conjunction, each predicate is a clause: a bit each
    goal = REJECT
    index_kind = OpIndexCNFIndex
    scratch_kind = OpIndexCNFScratch
    kernel = staticmethod(match_clauses)

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        clauses = self._collect_clauses()
        subscription, pivot = self._choose_clause_pivots(clauses)
        order = np.argsort(pivot, kind="stable")
        subscription, pivot = subscription[order], pivot[order]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        # Under each of its pivots a subscription has all its clauses.
        first, which = gather(clauses.first, subscription)
        conjunction = np.repeat(np.arange(len(subscription)), np.diff(first))
        number = np.arange(len(conjunction)) - first[conjunction]
        start, which = gather(clauses.start, which)
        postings, operand_end = _make_postings(snapshot.predicates, snapshot.domains, self._collect_prefixes())
        sequence = np.argsort(subscription[conjunction], kind="stable")
        lists, owner = self._build_lists(postings, start, clauses.predicate[which], pivot[conjunction], sequence)
        slot = clauses.slot[subscription]
        has_several = np.bincount(subscription, minlength=len(clauses.slot))[subscription] > 1
        self._index = OpIndexCNFIndex(
            lists._replace(conjunctions=(conjunction - pivot_start[pivot[conjunction]])[owner].astype(np.int32)),
            pivot_start,
            conjunction_slot=np.where(has_several, -1 - slot, slot).astype(np.int32),
            clauses=_make_bitmaps(np.diff(first)),
            clause=number[owner].astype(np.uint8),
            operand_end=operand_end,
        )

    def _collect_clauses(self, slots: I32 | None = None) -> Clauses:
        """Return the clauses of some slots, or of all in `_built`. In a conjunction every predicate is a clause."""
        subscriptions = self.source.snapshot().subscriptions
        chosen = self._built if slots is None else slots
        plain = chosen[subscriptions.kind[chosen] == CONJUNCTION]
        first, which = gather(subscriptions.start, plain)
        other = self.translator.conjunctions if slots is None else self.translator.select_conjunctions(slots)
        slot = np.where(other.slot < 0, -1 - other.slot, other.slot)
        begins = np.flatnonzero(np.diff(slot, prepend=-1))
        count = first[-1]
        return Clauses(
            np.concatenate([plain, slot[begins]]),
            np.concatenate([first[:-1], count + begins, [count + len(slot)]]),
            np.concatenate([np.arange(count), count + other.start]),
            np.concatenate([subscriptions.code[which], other.predicate]),
        )

    def _choose_clause_pivots(self, clauses: Clauses) -> tuple[I64, I64]:
        """Return all pairs of a subscription and one of its pivots, as two arrays.

        The pivot of a subscription without clauses is the number of domains.
        """
        snapshot, first, start = self.source.snapshot(), clauses.first, clauses.start
        domain = snapshot.predicates.domain[clauses.predicate]
        clause = np.repeat(np.arange(len(start) - 1), np.diff(start))
        weight = np.bincount(clause, weigh_domains(self.source, clauses.predicate)[domain], len(start) - 1)
        chosen = _find_first_least(np.diff(start) * CLAUSE_WEIGHT_LIMIT + weight, first)
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
        check_scratch(self._measure_scratch()(1))
        predicates, clauses = self.source.snapshot().predicates, self._collect_clauses(self._built)
        check_prefixes(self._index.lists, predicates, clauses.predicate, self.source.is_string())
        check_clauses(self._index, predicates, clauses)


def _find_first_least(score: F64, start: I64) -> I64:
    """Return the index of the least score of every non-empty list, the first among equals."""
    begins = start[:-1][np.diff(start) > 0]
    if not len(begins):
        return begins
    best = np.repeat(np.minimum.reduceat(score, begins), np.diff(np.append(begins, len(score))))
    least = np.flatnonzero(score == best)
    return least[np.searchsorted(least, begins)]


def _make_bitmaps(count: I64) -> U64:
    """Return words whose lowest `count` bits are set."""
    ones = np.uint64(np.iinfo(np.uint64).max) >> (64 - np.maximum(1, count)).astype(np.uint64)
    return np.where(count > 0, ones, np.uint64(0))


def _make_postings(predicates: Predicates, domains: int, prefixes: Prefixes) -> tuple[PredicatePostings, I64]:
    """Make the postings of all predicates, one for each interval; return them with the high end of each operand."""
    low, high = predicates.low, predicates.high
    domain = np.repeat(predicates.domain, np.diff(predicates.start))
    is_point, is_above = low == high, (low == LOWEST) & (high != HIGHEST)
    operator = np.select([is_point, is_above], [EQUAL, AT_MOST], AT_LEAST)
    operator[prefixes.interval] = PREFIX
    operand = np.where(is_above, high, low)
    operand_end = np.where(operator == AT_LEAST, high, HIGHEST)
    group = operator * domains + domain
    order = np.lexsort((operand_end, operand, group))
    order = order[: len(order) - len(prefixes.interval)]  # prefixes come last, and have ranks already
    group, operand, operand_end = group[order], operand[order], operand_end[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(group) != 0) | (operand[1:] != operand[:-1]) | (operand_end[1:] != operand_end[:-1])
    rank = np.empty(len(domain), dtype=np.int32)
    rank[order] = np.cumsum(is_new) - 1
    rank[prefixes.interval] = np.count_nonzero(is_new) + prefixes.operand
    ordered_start = np.searchsorted(group[is_new], np.arange(ORDERED_OPERATORS * domains + 1))
    operands = make_operands(ordered_start, operand[is_new], prefixes)
    ends = np.concatenate([operand_end[is_new], np.full(len(prefixes.key), HIGHEST)])
    return PredicatePostings(predicates.start, rank, operands), ends
