"""Checks of an OpIndex: every conjunction is there once, with all its postings, in sorted lists with signatures."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.calls import release_memory, take_scratch
from tellwhen.kernels.arrays import HIGHEST, I32, LOWEST, Predicates
from tellwhen.papers.op_index.arrays import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    OPERATORS,
    PREFIX,
    Clauses,
    OpIndexCNFIndex,
    OpIndexCNFScratch,
    OpIndexIndex,
    OpIndexScratch,
    PredicateLists,
)
from tellwhen.papers.op_index.kernels.segments import compute_domain_fraction, compute_signature_bit, find_segment

Posting = tuple[int, ...]
"""Operator, domain and operand; the operand of PREFIX has two ends.

A posting of a clause also has the end of the operand, and the number of the clause.
"""

Node = tuple[int, int, int]
"""Domain, first point and last point of a prefix."""


def check_conjunctions(index: OpIndexIndex, predicates: Predicates, conjunctions: Conjunctions) -> None:
    """Raise AssertionError at the first difference between the index and its conjunctions."""
    expected: Counter[Any] = Counter()
    prefixes = set(_list_nodes(index.lists))
    for slot, (begin, end) in zip(conjunctions.slot.tolist(), pairwise(conjunctions.start.tolist()), strict=True):
        members = conjunctions.predicate[begin:end].tolist()
        postings = sorted(posting for p in members for posting in _make_postings(predicates, p, prefixes))
        expected[slot, tuple(postings), sum(_count_true_postings(predicates, p, prefixes) for p in members)] += 1
    actual: Counter[Any] = Counter()
    slots, needs = index.conjunction_slot.tolist(), index.need.tolist()
    for (pivot, numbers), slot, need in zip(_read_conjunctions(index), slots, needs, strict=True):
        postings = sorted(_read_posting(index.lists, k) for k in numbers)
        domains = {domain for _, domain, *_ in postings}
        assert pivot in domains or not postings, f"pivot {pivot} is not a domain of the conjunction of slot {slot}"
        actual[slot, tuple(postings), need] += 1
    assert actual == expected, "a conjunction is missing, is there twice, or has other postings"


def check_clauses(index: OpIndexCNFIndex, predicates: Predicates, clauses: Clauses) -> None:
    """Raise AssertionError at the first difference between the index and its clauses."""
    contents, by_slot, prefixes = _read_conjunctions(index), defaultdict(list), set(_list_nodes(index.lists))
    for conjunction, slot in enumerate(index.conjunction_slot.tolist()):
        by_slot[-1 - slot if slot < 0 else slot].append(conjunction)
    members = [clauses.predicate[begin:end].tolist() for begin, end in pairwise(clauses.start.tolist())]
    for slot, (begin, end) in zip(clauses.slot.tolist(), pairwise(clauses.first.tolist()), strict=True):
        clauses_of_slot, conjunctions = members[begin:end], by_slot.pop(slot)
        numbered = [(n, p) for n, clause in enumerate(clauses_of_slot) for p in clause]
        expected = sorted((*posting, n) for n, p in numbered for posting in _make_clause_postings(predicates, p, prefixes))
        fewest = min(map(len, clauses_of_slot), default=0)
        smallest = [clause for clause in clauses_of_slot if len(clause) == fewest]
        pivots = sorted(contents[conjunction][0] for conjunction in conjunctions)
        assert not clauses_of_slot or any(
            pivots == sorted({*predicates.domain[clause].tolist()}) for clause in smallest
        ), f"the pivots of slot {slot} are not the domains of a smallest clause"
        for conjunction in conjunctions:
            numbers = contents[conjunction][1]
            postings = sorted(
                (*_read_posting(index.lists, k), _read_end(index, k), int(index.clause[k])) for k in numbers
            )
            assert postings == expected, f"conjunction {conjunction} of slot {slot} lacks postings, or has too many"
            assert int(index.clauses[conjunction]) == (1 << len(clauses_of_slot)) - 1
            assert (index.conjunction_slot[conjunction] < 0) == (len(conjunctions) > 1)
    assert not by_slot, f"the index has slots {sorted(by_slot)}, which have no clauses"


def check_prefixes(lists: PredicateLists, predicates: Predicates, used: I32, is_string: NDArray[np.bool_]) -> None:
    """Raise AssertionError unless the prefixes among the predicates `used` are in the trie, under the next shorter one.

    A prefix may be missing if it crosses a node.
    """
    trie, nodes = lists.operands.trie, _list_nodes(lists)
    assert len(nodes) == len(trie.end) == len(trie.parent)
    depths: list[int] = []
    for i, ((domain, low, high), parent) in enumerate(zip(nodes, trie.parent.tolist(), strict=True)):
        around = [k for k in range(i) if nodes[k][0] == domain and nodes[k][2] >= low]
        assert all(nodes[k][1] <= low and nodes[k][2] >= high for k in around), f"node {i} crosses another one"
        assert parent == max(around, default=-1), f"node {i} has the parent {parent}"
        depths.append(len(around) + 1)
    assert trie.depth >= max(depths, default=0)
    known = set(nodes)
    for p in set(used.tolist()):
        domain, intervals = int(predicates.domain[p]), _list_intervals(predicates, p)
        if not is_string[domain]:
            continue
        low, high = intervals[0]
        if len(intervals) == 1 and LOWEST < low < high < HIGHEST and (domain, low, high) not in known:
            crossed = (d == domain and (a < low <= b < high or low < a <= high < b) for d, a, b in nodes)
            assert any(crossed), f"predicate {p} is a prefix that is not in the trie"


def check_scratch(sizes: OpIndexScratch | OpIndexCNFScratch) -> None:
    """Raise AssertionError unless the working arrays that were given back last have `first_entry` all zero."""
    scratch = take_scratch(sizes)
    assert not scratch.arrays.first_entry.any()
    release_memory(scratch)


# contents of the lists


def _read_conjunctions(index: OpIndexIndex | OpIndexCNFIndex) -> list[tuple[int, list[int]]]:
    """Return the pivot of each conjunction, and the numbers of its postings; check the invariants of the lists."""
    lists, conjunctions = index.lists, len(index.conjunction_slot)
    domains = len(index.pivot_start) - 1
    assert index.pivot_start[0] == 0
    pivot = np.repeat(np.arange(domains + 1), np.diff(np.append(index.pivot_start, conjunctions))).tolist()
    assert len(pivot) == conjunctions
    contents: list[tuple[int, list[int]]] = [(domain, []) for domain in pivot]
    end = 0
    for n in range(OPERATORS * domains):
        begin, end = end, _check_list(lists, n, domains, end)
        for k in range(begin, end):
            conjunction = int(index.pivot_start[n % domains] + lists.conjunctions[k])
            assert pivot[conjunction] == n % domains, f"posting {k} is in a list of another pivot"
            contents[conjunction][1].append(k)
    assert end == len(lists.ranks)
    for begin, stop in pairwise(lists.operands.start.tolist()):
        assert lists.operands.keys[begin:stop].tolist() == sorted(lists.operands.keys[begin:stop].tolist())
    return contents


def _check_list(lists: PredicateLists, n: int, domains: int, begin: int) -> int:
    """Check list n, which begins at this posting; return where it ends."""
    operator = n // domains
    segments = lists.segments[lists.segment_start[n] : lists.segment_start[n + 1]].tolist()
    at = begin
    for number, ((first, signature), (last, _)) in enumerate(pairwise(segments)):
        assert first == at <= last, f"segment {number} of list {n} begins at {first} instead of {at}, or ends before"
        for rank in lists.ranks[first:last].tolist():
            domain = int(lists.operands.domain[rank])
            low, high = lists.operands.start[operator * domains + domain : operator * domains + domain + 2]
            assert low <= rank < high, f"rank {rank} in list {n} is of another operator or domain"
            assert find_segment(compute_domain_fraction(domain, domains), len(segments) - 1) == number
            assert signature & compute_signature_bit(operator, domain, rank), f"a signature of list {n} lacks a posting"
        at = last
    ranks = lists.ranks[begin:at].tolist()
    assert ranks == sorted(ranks), f"list {n} is not sorted"
    return at


def _read_posting(lists: PredicateLists, k: int) -> Posting:
    rank = int(lists.ranks[k])
    group = int(np.searchsorted(lists.operands.start, rank, side="right")) - 1
    operator, domain = divmod(group, len(lists.operands.start) // OPERATORS)
    if operator == PREFIX:
        return operator, *_list_nodes(lists)[rank - len(lists.operands.keys)]
    return operator, domain, int(lists.operands.keys[rank])


def _list_nodes(lists: PredicateLists) -> list[Node]:
    """Return domain, first point and last point of every node of the trie."""
    operands = lists.operands
    begin = len(operands.keys) - len(operands.trie.end)
    columns = operands.domain[begin:], operands.keys[begin:], operands.trie.end
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _read_end(index: OpIndexCNFIndex, k: int) -> int:
    return int(index.operand_end[index.lists.ranks[k]])


# postings of predicates


def _list_intervals(predicates: Predicates, p: int) -> list[tuple[int, int]]:
    begin, end = predicates.start[p], predicates.start[p + 1]
    return list(zip(predicates.low[begin:end].tolist(), predicates.high[begin:end].tolist(), strict=True))


def _make_postings(predicates: Predicates, p: int, prefixes: set[Node]) -> list[Posting]:
    """Return the postings of a predicate of a conjunction."""
    domain, intervals = int(predicates.domain[p]), _list_intervals(predicates, p)
    if all(low == high for low, high in intervals):
        return [(EQUAL, domain, low) for low, _ in intervals]
    if intervals == [(LOWEST, HIGHEST)]:
        return [(AT_LEAST, domain, LOWEST)]
    if len(intervals) == 1 and (domain, *intervals[0]) in prefixes:
        return [(PREFIX, domain, *intervals[0])]
    lows = [(AT_LEAST, domain, low) for low, _ in intervals if low != LOWEST]
    return [*lows, *((AT_MOST, domain, high) for _, high in intervals if high != HIGHEST)]


def _count_true_postings(predicates: Predicates, p: int, prefixes: set[Node]) -> int:
    """Return how many postings of a predicate are true for a value that satisfies it; check that others make fewer."""
    postings, intervals = _make_postings(predicates, p, prefixes), _list_intervals(predicates, p)

    def count_true_at(point: int) -> int:
        compare = {EQUAL: point.__eq__, AT_LEAST: point.__ge__, AT_MOST: point.__le__}
        return sum(
            operands[0] <= point <= operands[1] if operator == PREFIX else compare[operator](*operands)
            for operator, _, *operands in postings
        )

    near = {end + shift for interval in intervals for end in interval for shift in (-1, 0, 1)}
    inside = {point for point in near if any(low <= point <= high for low, high in intervals)}
    (need,) = {count_true_at(point) for point in inside}
    assert all(count_true_at(point) < need for point in near - inside if LOWEST <= point <= HIGHEST)
    return need


def _make_clause_postings(predicates: Predicates, p: int, prefixes: set[Node]) -> list[Posting]:
    """Return the postings of a predicate of a clause, one for each interval, with the end of the operand."""
    domain, intervals = int(predicates.domain[p]), _list_intervals(predicates, p)
    if len(intervals) == 1 and (domain, *intervals[0]) in prefixes:
        return [(PREFIX, domain, *intervals[0], HIGHEST)]
    return [
        (EQUAL, domain, low, HIGHEST) if low == high
        else (AT_MOST, domain, high, HIGHEST) if low == LOWEST and high != HIGHEST
        else (AT_LEAST, domain, low, high)
        for low, high in intervals
    ]  # fmt: skip
