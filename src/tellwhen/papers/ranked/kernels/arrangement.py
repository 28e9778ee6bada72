"""Kernels that compute the arrangement of a SOPT-R-tree (section 3.2).

Intervals are given by rank, as segments first:last of a line that is cut at all ends. A closed interval a..b reaches up
to the cut before b + 1, so two intervals that touch in one point share a segment.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import ConstraintGraph

BITS = 64
"""Children of a node in the set of members: bits of a word."""


@kernel
def number_segments(low, high, ends, highest):
    """Return (first, last, count): the first segment and the end segment of each interval, and the number of cuts.

    `ends` has 2i for low[i] and 2i + 1 for high[i], sorted by where they cut: low[i] before itself, high[i] behind
    itself. A high end equal to `highest` does not cut.
    """
    first, last = np.empty(low.size, dtype=np.int64), np.empty(low.size, dtype=np.int64)
    segments, before = 0, np.int64(0)
    for k in range(ends.size):
        i = ends[k] >> 1
        is_end = ends[k] & 1
        if is_end and high[i] == highest:
            last[i] = -1
            continue
        at = high[i] + 1 if is_end else low[i]
        if segments == 0 or at != before:
            segments += 1
            before = at
        if is_end:
            last[i] = segments - 1
        else:
            first[i] = segments - 1
    for i in range(low.size):
        if last[i] < 0:
            last[i] = segments
    return first, last, segments


# a set of segments, as a tree of words: a bit of a word is set if that child of the node has members


@inline
def compute_level_offsets(size):
    """Return the first word of each level of a set of `size` segments; the last element is the number of words."""
    offset = np.zeros(8, dtype=np.int64)
    levels = 0
    while True:
        size = (size + BITS - 1) // BITS
        offset[levels + 1] = offset[levels] + size
        levels += 1
        if size <= 1:
            break
    return offset[: levels + 1]


@inline
def add_member(words, offset, member):
    for level in range(offset.size - 1):
        at = offset[level] + (member >> 6)
        before = words[at]
        words[at] = before | (np.uint64(1) << np.uint64(member & 63))
        if before != 0:
            break
        member >>= 6


@inline
def remove_member(words, offset, member):
    for level in range(offset.size - 1):
        at = offset[level] + (member >> 6)
        words[at] &= ~(np.uint64(1) << np.uint64(member & 63))
        if words[at] != 0:
            break
        member >>= 6


@inline
def find_next_member(words, offset, member):
    """Return the least member that is not below `member`. The set must have such a member."""
    level = 0
    word = words[member >> 6] >> np.uint64(member & 63)
    while word == 0:
        member = (member >> 6) + 1
        level += 1
        word = words[offset[level] + (member >> 6)] >> np.uint64(member & 63)
    member += np.int64(find_lowest_bit(word))
    while level > 0:
        level -= 1
        member = (member << 6) + np.int64(find_lowest_bit(words[offset[level] + member]))
    return member


@kernel
def build_segment_graph(first, last, segment_count):
    """Build the constraint graph of intervals that are given by their segments (Algorithm 2).

    The kernel goes through the ranks and keeps the visible blocks: what one sees of the intervals so far, looking from
    below. The next interval gets an edge from the owner of each block that it touches.

    A block is found by its begin. Begins are kept mirrored, in a set that finds the next member; `block_end` links
    blocks from left to right. The block of the sentinel, which contains everything, has the owner -1 and makes no
    edges.
    """
    count = first.size
    source = np.empty(3 * count, dtype=np.int32)
    source_start = np.zeros(count + 1, dtype=np.int64)
    start = np.zeros(count + 2, dtype=np.int64)
    offset = compute_level_offsets(max(segment_count, 1))
    words = np.zeros(offset[-1], dtype=np.uint64)
    owner = np.full(segment_count + 1, -1, dtype=np.int32)
    block_end = np.full(segment_count + 1, segment_count, dtype=np.int64)
    # By interval the target of its last edge: an interval with two touched blocks still gets one edge.
    last_target = np.full(count, -1, dtype=np.int32)
    mirror = segment_count - 1
    add_member(words, offset, mirror)
    edges = 0
    for rank in range(count):
        begin, end = first[rank], last[rank]
        block = mirror - find_next_member(words, offset, mirror - begin)
        before = block
        block_owner = owner[block]
        while block < end:
            block_owner = owner[block]
            if block_owner >= 0 and last_target[block_owner] != rank:
                last_target[block_owner] = rank
                source[edges] = block_owner
                start[block_owner + 2] += 1
                edges += 1
            next_block = block_end[block]
            if block > begin:
                remove_member(words, offset, mirror - block)
            block = next_block
        # The rest of the last block begins at `end`.
        if block > end:
            add_member(words, offset, mirror - end)
            owner[end] = block_owner
            block_end[end] = block
            block = end
        if before < begin:
            block_end[before] = begin
            add_member(words, offset, mirror - begin)
        owner[begin] = rank
        block_end[begin] = block
        source_start[rank + 1] = edges
    target = np.empty(edges, dtype=np.int32)
    in_degree = np.empty(count, dtype=np.int32)
    for rank in range(count):
        start[rank + 1] += start[rank]
    for rank in range(count):
        in_degree[rank] = source_start[rank + 1] - source_start[rank]
        for k in range(source_start[rank], source_start[rank + 1]):
            at = start[source[k] + 1]
            target[at] = rank
            start[source[k] + 1] = at + 1
    return ConstraintGraph(start[:-1], target, in_degree)


# Algorithm 1


@inline
def push_item(heap, size, item):
    """Push an item onto a heap whose least item is first; return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= item:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = item
    return size + 1


@inline
def pop_item(heap, size):
    """Remove the least item, heap[0]; return the new size."""
    size -= 1
    item = heap[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = item
    return size


@kernel
def arrange_ranks(graph, first):
    """Return the ranks in the order of the arrangement (Algorithm 1).

    Of the intervals without an edge from a remaining interval, always take the one that begins first; of those that
    begin together, the best.
    """
    arranged = np.empty(first.size, dtype=np.int32)
    heap = np.empty(first.size, dtype=np.int64)
    in_degree = graph.in_degree.copy()
    size = 0
    for rank in range(first.size):
        if in_degree[rank] == 0:
            size = push_item(heap, size, first[rank] << 31 | rank)
    for k in range(first.size):
        rank = heap[0] & 0x7FFFFFFF
        size = pop_item(heap, size)
        arranged[k] = rank
        for e in range(graph.start[rank], graph.start[rank + 1]):
            after = graph.target[e]
            in_degree[after] -= 1
            if in_degree[after] == 0:
                size = push_item(heap, size, first[after] << 31 | after)
    return arranged
