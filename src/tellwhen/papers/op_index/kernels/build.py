"""Kernels that build predicate lists: sort postings, cut lists into segments, sign segments (OpIndex, section 4.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.op_index.arrays import OPERATORS, SortedPostings
from tellwhen.papers.op_index.kernels.segments import compute_domain_fraction, compute_signature_bit, find_segment


@inline
def sort_by_rank(owner_start, predicate, postings):
    """Sort all postings by rank, which also sorts by operator: a counting sort.

    Returns where the postings of each rank end, and the owner of each posting.
    """
    rank_end = np.zeros(postings.operands.start[-1] + 1, dtype=np.int64)
    owners = np.empty(0, dtype=np.int32)
    for is_placing in range(2):
        for owner in range(owner_start.size - 1):
            for j in range(owner_start[owner], owner_start[owner + 1]):
                for i in range(postings.start[predicate[j]], postings.start[predicate[j] + 1]):
                    rank = postings.rank[i]
                    if is_placing:
                        owners[rank_end[rank + 1]] = owner
                    rank_end[rank + 1] += 1
        if not is_placing:
            # Shifted by one: placing then moves the begin of each rank to its end.
            owners = np.empty(convert_to_offsets(rank_end), dtype=np.int32)
    return rank_end[1:], owners


@kernel
def sort_postings(owner_start, predicate, pivot, postings):
    """Return the postings of all owners by operator, pivot and rank: a counting sort by list keeps the order of ranks.

    Owner o has the predicates predicate[owner_start[o]:owner_start[o+1]] and the pivot pivot[o].
    """
    operand_start = postings.operands.start
    domains = operand_start.size // OPERATORS
    rank_end, by_rank = sort_by_rank(owner_start, predicate, postings)
    ranks, owners = np.empty(by_rank.size, dtype=np.int32), np.empty(by_rank.size, dtype=np.int32)
    list_start = np.zeros(OPERATORS * domains + 2, dtype=np.int64)
    for is_placing in range(2):
        k = 0
        for operator in range(OPERATORS):
            for rank in range(operand_start[operator * domains], operand_start[(operator + 1) * domains]):
                while k < rank_end[rank]:
                    n = operator * domains + pivot[by_rank[k]] + 1
                    if is_placing:
                        ranks[list_start[n]] = rank
                        owners[list_start[n]] = by_rank[k]
                    list_start[n] += 1
                    k += 1
        if not is_placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            convert_to_offsets(list_start)
    return SortedPostings(list_start[:-1], ranks, owners)


@kernel
def fill_segments(postings, rank_domain, segment_start, segments):
    """Fill `segments`, which is zero, with the first posting and the signature of each segment of every list."""
    list_start, ranks = postings.list_start, postings.rank
    lists = list_start.size - 1
    domains = lists // OPERATORS
    for n in range(lists):
        first, count = segment_start[n], segment_start[n + 1] - segment_start[n] - 1
        k, end = list_start[n], list_start[n + 1]
        for s in range(count):
            segments[first + s, 0] = k
            while k < end and find_segment(compute_domain_fraction(rank_domain[ranks[k]], domains), count) == s:
                segments[first + s, 1] |= compute_signature_bit(n // domains, rank_domain[ranks[k]], ranks[k])
                k += 1
        if count > 0:
            segments[first + count, 0] = end
