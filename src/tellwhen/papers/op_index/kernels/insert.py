"""Kernel that builds predicate lists by inserting one posting after the other (OpIndex, Algorithm 1).

While lists are built, each segment is an array with room for more postings. A full segment moves to twice the room.
Finally the segments are placed behind each other, as the kernels that match need them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32, I64, I64Matrix
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above
from tellwhen.papers.op_index.arrays import OPERATORS, SortedPostings
from tellwhen.papers.op_index.kernels.segments import compute_domain_fraction, compute_signature_bit, find_segment

ROOM_MIN = 4

BEGIN, USED, ROOM, SIGNATURE = 0, 1, 2, 3
"""Columns of a segment while postings are inserted."""


class GrowingSegments(NamedTuple):
    """The segments of all lists while postings are inserted. Every list has the same number of segments."""

    first: I64  # |-1|0|32|             by list: its first segment, or -1 without postings
    segments: I64Matrix  # |0 3 4 sig|0 0 0 0|  first posting, how many there are, how many have room, and the signature
    ranks: I32  # |2 5 5 .|...         by posting
    owners: I32


@kernel
def insert_postings(sequence, owner_start, predicate, pivot, postings, segments_per_list):
    """Insert the postings of all owners in the order of `sequence`.

    Owner o has the predicates predicate[owner_start[o]:owner_start[o+1]] and the pivot pivot[o]. Return the sorted
    postings, where the segments of each list begin, and the first posting and the signature of each segment.
    """
    domains = (postings.operands.start.size - 1) // OPERATORS
    growing = allocate_segments(owner_start, predicate, postings, OPERATORS * domains, segments_per_list)
    lists = end = 0
    for owner in sequence:
        for j in range(owner_start[owner], owner_start[owner + 1]):
            for i in range(postings.start[predicate[j]], postings.start[predicate[j] + 1]):
                rank = np.int64(postings.rank[i])
                operator = find_operator(postings.operands, domains, rank)
                n = operator * domains + pivot[owner]
                if growing.first[n] < 0:
                    growing.first[n] = lists * segments_per_list
                    lists += 1
                domain = np.int64(postings.operands.domain[rank])
                fraction = compute_domain_fraction(domain, domains)
                segment = growing.first[n] + find_segment(fraction, segments_per_list)
                end = insert_posting(growing, segment, rank, owner, end)
                growing.segments[segment, SIGNATURE] |= compute_signature_bit(operator, domain, rank)
    return place_segments(growing, segments_per_list, lists)


@inline
def allocate_segments(owner_start, predicate, postings, lists, segments_per_list):
    """Allocate the most segments and room that the postings can need. Pages that are not written take no memory."""
    count = 0
    for j in range(owner_start[-1]):
        count += postings.start[predicate[j] + 1] - postings.start[predicate[j]]
    segments = min(lists, count) * segments_per_list
    # The rooms of a segment of u postings are 4 + 8 + ... < 4u + 4, and at most `count` segments have any.
    room = 8 * count
    return GrowingSegments(
        np.full(lists, -1, dtype=np.int64),
        np.zeros((segments, 4), dtype=np.int64),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32),
    )


@inline
def find_operator(operands, domains, rank):
    """Return the operator of the operand with this rank."""
    operator = 0
    for other in range(1, OPERATORS):
        operator += rank >= operands.start[other * domains]
    return operator


@inline
def insert_posting(growing, segment, rank, owner, end):
    """Insert a posting behind those of the same rank; returns where the next room begins."""
    row, ranks, owners = growing.segments[segment], growing.ranks, growing.owners
    begin, used = row[BEGIN], row[USED]
    if used == row[ROOM]:
        row[ROOM] = max(ROOM_MIN, 2 * used)
        for k in range(used):
            ranks[end + k], owners[end + k] = ranks[begin + k], owners[begin + k]
        row[BEGIN] = begin = end
        end += row[ROOM]
    place = find_first_above(ranks, begin, begin + used, rank)
    for k in range(begin + used, place, -1):
        ranks[k], owners[k] = ranks[k - 1], owners[k - 1]
    ranks[place], owners[place] = rank, owner
    row[USED] = used + 1
    return end


@inline
def place_segments(growing, segments_per_list, lists):
    """Place the segments of all lists behind each other; `lists` of them have postings."""
    count = growing.segments[:, USED].sum()
    list_start = np.zeros(growing.first.size + 1, dtype=np.int64)
    segment_start = np.zeros(growing.first.size + 1, dtype=np.int64)
    ranks, owners = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    segments = np.zeros((lists * (segments_per_list + 1), 2), dtype=np.int64)
    end = row = 0
    for n in range(growing.first.size):
        if growing.first[n] >= 0:
            for segment in range(growing.first[n], growing.first[n] + segments_per_list):
                segments[row, 0], segments[row, 1] = end, growing.segments[segment, SIGNATURE]
                row += 1
                begin = growing.segments[segment, BEGIN]
                for k in range(begin, begin + growing.segments[segment, USED]):
                    ranks[end], owners[end] = growing.ranks[k], growing.owners[k]
                    end += 1
            segments[row, 0] = end
            row += 1
        list_start[n + 1], segment_start[n + 1] = end, row
    return SortedPostings(list_start, ranks, owners), segment_start, segments
