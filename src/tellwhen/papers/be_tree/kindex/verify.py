"""Check of a `kindex` index: every conjunction has its size, and a posting in the list of each of its spaces."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.kernels.arrays import LOWEST, Predicates
from tellwhen.papers.be_tree.kindex.arrays import KIndexIndex

Posting = tuple[int, bool]
"""A space, and whether it accepts the conjunction."""


def check_index(
    index: KIndexIndex, predicates: Predicates, is_excluded: np.ndarray, conjunctions: Conjunctions, spaces_max: int
) -> None:
    """Raise AssertionError at the first difference between the index and its conjunctions.

    is_excluded[p] tells whether the lists have the spaces that predicate p excludes.
    """
    _check_order(index)
    wide_slots, expected = set(), []
    for slot, (begin, end) in zip(conjunctions.slot.tolist(), pairwise(conjunctions.start.tolist()), strict=True):
        postings_by_predicate = {
            p: _list_spaces(index, predicates, p, bool(is_excluded[p]))
            for p in conjunctions.predicate[begin:end].tolist()
        }
        if any(len(spaces) > spaces_max for spaces in postings_by_predicate.values()):
            wide_slots.add(_decode_slot(slot))
        expected.append((slot, *_describe_conjunction(predicates, is_excluded, postings_by_predicate)))
    assert index.unindexed.tolist() == sorted(wide_slots), "`unindexed` has other slots than those of wide predicates"
    difference = _read_conjunctions(index)
    difference.subtract(Counter(item for item in expected if _decode_slot(item[0]) not in wide_slots))
    wrong = {item: count for item, count in difference.items() if count}
    assert not wrong, f"the index has conjunctions too many (positive) or too few (negative): {wrong}"


def _check_order(index: KIndexIndex) -> None:
    assert index.size_start[[0, -1]].tolist() == [0, len(index.slot)], "a conjunction has no size"
    assert np.all(np.diff(index.size_start) >= 0), "the sizes are not ascending"
    assert len(index.list_start) == len(index.cuts) + len(index.cut_start) + 1, "a space has no list"
    assert index.list_start[[0, -1]].tolist() == [0, len(index.postings)], "a posting is in no list"
    for begin, end in pairwise(index.list_start.tolist()):
        steps = np.diff(index.postings[begin:end])
        assert np.all(steps >= 0), "a list is not ascending"
        # Two inequalities of a conjunction may exclude the same space.
        assert not np.any(index.postings[begin:end][1:][steps == 0] & 1), "a list accepts a conjunction twice"


def _decode_slot(slot: int) -> int:
    return -1 - slot if slot < 0 else slot


def _list_spaces(index: KIndexIndex, predicates: Predicates, p: int, is_excluded: bool) -> set[int]:
    """Return the spaces whose first point satisfies predicate p or, if it is excluded, does not satisfy it."""
    domain = int(predicates.domain[p])
    first, end = index.cut_start[domain], index.cut_start[domain + 1]
    begins = np.concatenate([[LOWEST], index.cuts[first:end]])
    intervals = slice(predicates.start[p], predicates.start[p + 1])
    is_inside = np.any(
        (predicates.low[intervals, None] <= begins) & (begins <= predicates.high[intervals, None]), axis=0
    )
    return {int(first) + domain + k for k in np.flatnonzero(is_inside != is_excluded).tolist()}


def _describe_conjunction(
    predicates: Predicates, is_excluded: np.ndarray, postings_by_predicate: dict[int, set[int]]
) -> tuple[int, frozenset[Posting], frozenset[int]]:
    """Return the size, the postings, and the domains with an excluded predicate."""
    accepting: dict[int, set[int]] = {}
    excluding: set[int] = set()
    excluded_domains = set()
    for p, spaces in postings_by_predicate.items():
        domain = int(predicates.domain[p])
        if is_excluded[p]:
            excluding |= spaces
            excluded_domains.add(domain)
        else:
            accepting[domain] = accepting.get(domain, spaces) & spaces
    accepted = {(space, True) for spaces in accepting.values() for space in spaces}
    return len(accepting), frozenset(accepted | {(space, False) for space in excluding}), frozenset(excluded_domains)


def _read_conjunctions(index: KIndexIndex) -> Counter[Any]:
    """Count the conjunctions of an index by slot, size, postings and domains with an excluded predicate."""
    postings: list[set[Posting]] = [set() for _ in index.slot]
    for space, (begin, end) in enumerate(pairwise(index.list_start[:-1].tolist())):
        for posting in index.postings[begin:end].tolist():
            postings[posting >> 1].add((space, bool(posting & 1)))
    sizes = np.repeat(np.arange(len(index.size_start) - 1), np.diff(index.size_start)).tolist()
    assert index.postings[index.list_start[-2] :].tolist() == [
        2 * c + 1 for c, size in enumerate(sizes) if size == 0
    ], "the last list has other conjunctions than those of size 0"
    domains = [frozenset(index.excluded_domain[a:b].tolist()) for a, b in pairwise(index.excluded_start.tolist())]
    return Counter(zip(index.slot.tolist(), sizes, map(frozenset, postings), domains, strict=True))
