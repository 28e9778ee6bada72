"""Build the predicate lists: sort the postings, cut the lists into segments and sign these (OpIndex, section 4.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.op_index.kernels.segments import domain_share, segment_of, signature_bit


@kernel
def sort_postings(owner_start, predicate, pivot, postings):
    """All postings by operator, pivot and rank: where each list starts, the ranks, and whose each is.

    Owner o has the predicates predicate[owner_start[o]:owner_start[o+1]] and one pivot. A counting sort by rank, which
    also sorts by operator, then one by list.
    """
    operand_start = postings.operands.start
    domains = operand_start.size // 3
    rank_end = np.zeros(operand_start[-1] + 1, dtype=np.int64)
    for owner in range(owner_start.size - 1):
        for j in range(owner_start[owner], owner_start[owner + 1]):
            for i in range(postings.start[predicate[j]], postings.start[predicate[j] + 1]):
                rank_end[postings.rank[i] + 1] += 1
    total = 0
    for rank in range(rank_end.size):
        total += rank_end[rank]
        rank_end[rank] = total
    by_rank = np.empty(total, dtype=np.int32)
    for owner in range(owner_start.size - 1):
        for j in range(owner_start[owner], owner_start[owner + 1]):
            for i in range(postings.start[predicate[j]], postings.start[predicate[j] + 1]):
                rank = postings.rank[i]
                by_rank[rank_end[rank]] = owner
                rank_end[rank] += 1  # at first where the rank starts, in the end where it ends
    ranks, owners = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    list_start = np.zeros(3 * domains + 2, dtype=np.int64)
    for placing in range(2):
        k = 0
        for operator in range(3):
            for rank in range(operand_start[operator * domains], operand_start[(operator + 1) * domains]):
                while k < rank_end[rank]:
                    n = operator * domains + pivot[by_rank[k]] + 1
                    if placing:
                        ranks[list_start[n]] = rank
                        owners[list_start[n]] = by_rank[k]
                    list_start[n] += 1
                    k += 1
        if not placing:
            # Shifted by one: placing then moves the start of each list to its end.
            convert_to_offsets(list_start)
    return list_start[:-1], ranks, owners


@kernel
def sign(list_start, ranks, key_domain, segment_start, segments):
    """Fill `segments`, which is zero: where the segments of every list start, and their signatures."""
    lists = list_start.size - 1
    domains = lists // 3
    for n in range(lists):
        first, count = segment_start[n], segment_start[n + 1] - segment_start[n] - 1
        k, end = list_start[n], list_start[n + 1]
        for s in range(count):
            segments[first + s, 0] = k
            while k < end and segment_of(domain_share(key_domain[ranks[k]], domains), count) == s:
                segments[first + s, 1] |= signature_bit(n // domains, key_domain[ranks[k]], ranks[k])
                k += 1
        if count > 0:
            segments[first + count, 0] = end
