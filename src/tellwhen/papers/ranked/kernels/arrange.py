"""In which order should an R-tree have its intervals? A SOPT-R-tree's arrangement (section 3.2).

Intervals are given by rank, as segments first:last of a line: between neighbouring ends nothing changes, so the line is
cut there. A closed interval a..b reaches up to the cut before b + 1, so two that touch in one point share a segment.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import Graph

BITS = 64
"""Children of a node in the set of begins."""


@kernel
def cut(low, high, ends, highest):
    """The segments of each interval, and how many there are. `ends` has 2i for low[i] and 2i + 1 for high[i], sorted by
    where they cut: low[i] cuts before itself, high[i] behind itself, and `highest` not at all."""
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


# a set of segments that finds the next member: a tree of words, each telling which of 64 children have some


@inline
def level_offsets(size):
    """Where the words of each level begin; the last one is the number of words."""
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
def include(words, offset, member):
    """Add a member."""
    for level in range(offset.size - 1):
        at = offset[level] + (member >> 6)
        before = words[at]
        words[at] = before | (np.uint64(1) << np.uint64(member & 63))
        if before != 0:
            break
        member >>= 6


@inline
def exclude(words, offset, member):
    """Remove a member."""
    for level in range(offset.size - 1):
        at = offset[level] + (member >> 6)
        words[at] &= ~(np.uint64(1) << np.uint64(member & 63))
        if words[at] != 0:
            break
        member >>= 6


@inline
def next_member(words, offset, member):
    """The least member that is not below this one. There must be one."""
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
def constraint_graph(first, last, segments):
    """Algorithm 2: which interval must come before which? Walks through the ranks, and keeps the visible blocks: what
    one sees of the intervals so far, looking from below. An edge comes from each block that the next interval touches.

    A block is found by its begin. Begins are kept mirrored, in a set that finds the next one; `following` links them
    from left to right. The block of the sentinel, which contains everything, has the owner -1 and makes no edges.
    """
    count = first.size
    source = np.empty(3 * count, dtype=np.int32)
    source_start = np.zeros(count + 1, dtype=np.int64)
    start = np.zeros(count + 2, dtype=np.int64)
    offset = level_offsets(max(segments, 1))
    words = np.zeros(offset[-1], dtype=np.uint64)
    owner = np.full(segments + 1, -1, dtype=np.int32)
    following = np.full(segments + 1, segments, dtype=np.int64)
    # The last interval that each one has an edge to: with two visible blocks, an edge is still counted once.
    known = np.full(count, -1, dtype=np.int32)
    mirror = segments - 1
    include(words, offset, mirror)
    edges = 0
    for rank in range(count):
        begin, end = first[rank], last[rank]
        block = mirror - next_member(words, offset, mirror - begin)
        before = block
        tail = owner[block]
        while block < end:
            tail = owner[block]
            if tail >= 0 and known[tail] != rank:
                known[tail] = rank
                source[edges] = tail
                start[tail + 2] += 1
                edges += 1
            block_end = following[block]
            if block > begin:
                exclude(words, offset, mirror - block)
            block = block_end
        # What is left of the last block begins at `end`.
        if block > end:
            include(words, offset, mirror - end)
            owner[end] = tail
            following[end] = block
            block = end
        if before < begin:
            following[before] = begin
            include(words, offset, mirror - begin)
        owner[begin] = rank
        following[begin] = block
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
    return Graph(start[:-1], target, in_degree)


# Algorithm 1


@inline
def add(heap, size, item):
    """Add an item to a heap whose least is first; returns the new size."""
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
def take(heap, size):
    """Remove the least item, heap[0]; returns the new size."""
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
def arrange(graph, first):
    """Algorithm 1: of the intervals with nothing left before them, always take the one that begins first; of those that
    begin together, the best. Returns ranks."""
    arranged = np.empty(first.size, dtype=np.int32)
    heap = np.empty(first.size, dtype=np.int64)
    in_degree = graph.in_degree.copy()
    size = 0
    for rank in range(first.size):
        if in_degree[rank] == 0:
            size = add(heap, size, first[rank] << 31 | rank)
    for k in range(first.size):
        rank = heap[0] & 0x7FFFFFFF
        size = take(heap, size)
        arranged[k] = rank
        for e in range(graph.start[rank], graph.start[rank + 1]):
            after = graph.target[e]
            in_degree[after] -= 1
            if in_degree[after] == 0:
                size = add(heap, size, first[after] << 31 | after)
    return arranged
