"""Is an OpIndex right? Every conjunction is there once, with all its postings, in lists that are sorted and signed."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.calls import give_back, take_scratch
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.papers.op_index.arrays import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    Clauses,
    OpIndexCNFIndex,
    OpIndexCNFScratch,
    OpIndexIndex,
    OpIndexScratch,
    PredicateLists,
)
from tellwhen.papers.op_index.kernels.segments import domain_share, segment_of, signature_bit

Posting = tuple[int, ...]
"""Operator, domain and operand; of a clause also the end of the operand, and the number of the clause."""


def check_conjunctions(index: OpIndexIndex, predicates: Predicates, conjunctions: Conjunctions) -> None:
    """Raises AssertionError at the first thing that is wrong."""
    slot, start, predicate = conjunctions
    wanted: Counter[Any] = Counter()
    for of, (begin, end) in zip(slot.tolist(), pairwise(start.tolist()), strict=True):
        mine = predicate[begin:end].tolist()
        postings = sorted(posting for p in mine for posting in _postings(predicates, p))
        wanted[of, tuple(postings), sum(_true_postings(predicates, p) for p in mine)] += 1
    found: Counter[Any] = Counter()
    slots, needs = index.conjunction_slot.tolist(), index.need.tolist()
    for (pivot, numbers), of, need in zip(_by_conjunction(index), slots, needs, strict=True):
        postings = sorted(_posting(index.lists, k) for k in numbers)
        domains = {domain for _, domain, _ in postings}
        assert pivot in domains or not postings, "the pivot is a domain of the conjunction"
        found[of, tuple(postings), need] += 1
    assert found == wanted, "every conjunction is there once, with all its postings"


def check_clauses(index: OpIndexCNFIndex, predicates: Predicates, clauses: Clauses) -> None:
    """Raises AssertionError at the first thing that is wrong."""
    slot, first, start, predicate = clauses
    by_conjunction, conjunctions_of = _by_conjunction(index), defaultdict(list)
    for conjunction, of in enumerate(index.conjunction_slot.tolist()):
        conjunctions_of[-1 - of if of < 0 else of].append(conjunction)
    each = [predicate[begin:end].tolist() for begin, end in pairwise(start.tolist())]
    for of, (begin, end) in zip(slot.tolist(), pairwise(first.tolist()), strict=True):
        mine, conjunctions = each[begin:end], conjunctions_of.pop(of)
        wanted = sorted(
            (*posting, n) for n, clause in enumerate(mine) for p in clause for posting in _bounds(predicates, p)
        )
        fewest = min(map(len, mine), default=0)
        smallest = [sorted({int(predicates.domain[p]) for p in clause}) for clause in mine if len(clause) == fewest]
        pivots = sorted(by_conjunction[conjunction][0] for conjunction in conjunctions)
        assert pivots in smallest or not mine, "it is once in the lists of each domain of a smallest clause"
        for conjunction in conjunctions:
            numbers = by_conjunction[conjunction][1]
            postings = sorted((*_posting(index.lists, k), _end(index, k), int(index.clause[k])) for k in numbers)
            assert postings == wanted, "under every pivot it has all postings, once"
            assert int(index.clauses[conjunction]) == (1 << len(mine)) - 1
            assert (index.conjunction_slot[conjunction] < 0) == (len(conjunctions) > 1)
    assert not conjunctions_of, "there are no other conjunctions"


def check_scratch(sizes: OpIndexScratch | OpIndexCNFScratch) -> None:
    """Matching must leave `first_entry` as it found it: the working arrays given back last are all zero there."""
    scratch = take_scratch(sizes)
    assert not scratch.arrays.first_entry.any()
    give_back(scratch)


# what the lists say


def _by_conjunction(index: OpIndexIndex | OpIndexCNFIndex) -> list[tuple[int, list[int]]]:
    """By conjunction: its pivot, and the numbers of its postings. Checks all that the lists promise."""
    lists, conjunctions = index.lists, len(index.conjunction_slot)
    domains = len(index.pivot_start) - 1
    assert index.pivot_start[0] == 0
    pivot = np.repeat(np.arange(domains + 1), np.diff(np.append(index.pivot_start, conjunctions))).tolist()
    assert len(pivot) == conjunctions
    found: list[tuple[int, list[int]]] = [(domain, []) for domain in pivot]
    end = 0
    for n in range(3 * domains):
        begin, end = end, _check_list(lists, n, domains, end)
        for k in range(begin, end):
            conjunction = int(index.pivot_start[n % domains] + lists.conjunctions[k])
            assert pivot[conjunction] == n % domains, "the postings of a list belong to its pivot"
            found[conjunction][1].append(k)
    assert end == len(lists.ranks)
    for begin, stop in pairwise(lists.operands.start.tolist()):
        assert lists.operands.keys[begin:stop].tolist() == sorted(lists.operands.keys[begin:stop].tolist())
    return found


def _check_list(lists: PredicateLists, n: int, domains: int, begin: int) -> int:
    """Check list n, which begins at this posting; returns where it ends."""
    operator = n // domains
    segments = lists.segments[lists.segment_start[n] : lists.segment_start[n + 1]].tolist()
    at = begin
    for number, ((first, signature), (last, _)) in enumerate(pairwise(segments)):
        assert first == at <= last, "segments and lists follow on one another"
        for rank in lists.ranks[first:last].tolist():
            domain = int(lists.operands.domain[rank])
            low, high = lists.operands.start[operator * domains + domain : operator * domains + domain + 2]
            assert low <= rank < high, "an operand belongs to its operator and domain"
            assert segment_of(domain_share(domain, domains), len(segments) - 1) == number
            assert signature & signature_bit(operator, domain, rank), "a signature covers all postings"
        at = last
    ranks = lists.ranks[begin:at].tolist()
    assert ranks == sorted(ranks), "lists are sorted"
    return at


def _posting(lists: PredicateLists, k: int) -> Posting:
    """What posting k says."""
    rank = int(lists.ranks[k])
    group = int(np.searchsorted(lists.operands.start, rank, side="right")) - 1
    operator, domain = divmod(group, len(lists.operands.start) // 3)
    return operator, domain, int(lists.operands.keys[rank])


def _end(index: OpIndexCNFIndex, k: int) -> int:
    return int(index.operand_end[index.lists.ranks[k]])


# what the predicates ask for


def _intervals(predicates: Predicates, p: int) -> list[tuple[int, int]]:
    mine = slice(predicates.start[p], predicates.start[p + 1])
    return list(zip(predicates.low[mine].tolist(), predicates.high[mine].tolist(), strict=True))


def _postings(predicates: Predicates, p: int) -> list[Posting]:
    """The postings of a predicate of a conjunction."""
    domain, intervals = int(predicates.domain[p]), _intervals(predicates, p)
    if all(low == high for low, high in intervals):
        return [(EQUAL, domain, low) for low, _ in intervals]
    if intervals == [(LOWEST, HIGHEST)]:
        return [(AT_LEAST, domain, LOWEST)]
    lows = [(AT_LEAST, domain, low) for low, _ in intervals if low != LOWEST]
    return [*lows, *((AT_MOST, domain, high) for _, high in intervals if high != HIGHEST)]


def _true_postings(predicates: Predicates, p: int) -> int:
    """How many postings of a predicate are true for a value that satisfies it. For any other value they are fewer."""
    postings, intervals = _postings(predicates, p), _intervals(predicates, p)

    def true(point: int) -> int:
        compare = {EQUAL: point.__eq__, AT_LEAST: point.__ge__, AT_MOST: point.__le__}
        return sum(compare[operator](operand) for operator, _, operand in postings)

    near = {end + shift for interval in intervals for end in interval for shift in (-1, 0, 1)}
    inside = {point for point in near if any(low <= point <= high for low, high in intervals)}
    (need,) = {true(point) for point in inside}
    assert all(true(point) < need for point in near - inside if LOWEST <= point <= HIGHEST)
    return need


def _bounds(predicates: Predicates, p: int) -> list[Posting]:
    """The postings of a predicate of a clause, one for each interval, with the end of the operand."""
    domain = int(predicates.domain[p])
    return [
        (EQUAL, domain, low, HIGHEST) if low == high
        else (AT_MOST, domain, high, HIGHEST) if low == LOWEST and high != HIGHEST
        else (AT_LEAST, domain, low, high)
        for low, high in _intervals(predicates, p)
    ]  # fmt: skip
