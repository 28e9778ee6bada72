"""Kernels that lay out the tree that is matched: the order of nodes, and the words of conjunctions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.arrays import I32, I64
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.kernels.nodes import get_predicate_on

SORTED_PREDICATES_MAX = 64
"""Sort at most 64 predicates of a conjunction by rank: insertion sort takes quadratic time."""

PATH_LENGTH_MAX = 256
"""Limit of the attributes on a path: a conjunction has a predicate on each of them, and at most 255 predicates."""


class MinimalIntervals(NamedTuple):
    """The smallest intervals of spaces that enclose the conjunctions of buckets, by c-node."""

    low: I32
    high: I32


class WordsOutput(NamedTuple):
    """The arrays that `write_words` fills."""

    begin: I64  # |0|4|9|    by c-node, in the order of nodes: its first word
    words: I32  # as in BETreeIndex
    is_used: NDArray[np.bool_]  # by predicate: whether it was written


@kernel
def order_depth_first(nodes, directory_start, directory, order):
    """List all c-nodes depth first: a c-node, then the subtrees of its p-nodes, of its left half and of its right half.

    The p-nodes of c-node c are directory[directory_start[c]:directory_start[c+1]].
    """
    stack = np.empty(nodes.cnodes.size + 1, dtype=np.int32)
    stack[0] = 0
    height, count = 1, 0
    while height > 0:
        height -= 1
        c = stack[height]
        order[count] = c
        count += 1
        for half in (nodes.cnodes[c].right, nodes.cnodes[c].left):
            if half >= 0:
                stack[height] = half
                height += 1
        for k in range(directory_start[c + 1] - 1, directory_start[c] - 1, -1):
            stack[height] = nodes.pnodes[directory[k]].top
            height += 1


@inline
def find_path(nodes, c, path):
    """List in `path` the c-nodes that an event must touch to reach a c-node, one per attribute; returns how many."""
    depth = 0
    while nodes.cnodes[c].pnode >= 0:
        path[depth] = c
        depth += 1
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent
    return depth


@inline
def enclose(intervals, c, low, high):
    """Extend the minimal interval of a c-node, so that it encloses low..high."""
    intervals.low[c] = min(intervals.low[c], low)
    intervals.high[c] = max(intervals.high[c], high)


@kernel
def find_minimal_intervals(nodes, conjunctions, predicates, order, intervals):
    """Find the minimal intervals of all buckets.

    `order` lists all c-nodes, each before the nodes below it. `intervals` is filled; at first its intervals are empty.
    """
    bounds = predicates.bounds
    path = np.empty(PATH_LENGTH_MAX, dtype=np.int32)
    for c in order[::-1]:
        depth = find_path(nodes, c, path)
        conjunction = nodes.cnodes[c].first
        while conjunction >= 0:
            for k in range(depth):
                bucket = path[k]
                p = get_predicate_on(conjunctions, predicates, conjunction, nodes.cnodes[bucket].domain)
                enclose(intervals, bucket, bounds.low[p], bounds.high[p])
            conjunction = conjunctions.next[conjunction]
        whole = nodes.cnodes[c].whole
        if whole >= 0:
            enclose(intervals, whole, intervals.low[c], intervals.high[c])


@inline
def is_subsumed(nodes, predicates, intervals, p, path, depth):
    """Return whether a bucket of the path has the predicate as its minimal interval: every event there satisfies it."""
    bounds = predicates.bounds
    if bounds.is_exact[p]:
        for k in range(depth):
            c = path[k]
            if (
                nodes.cnodes[c].domain == predicates.domain[p]
                and intervals.low[c] == bounds.low[p]
                and intervals.high[c] == bounds.high[p]
            ):
                return True
    return False


@kernel
def write_words(nodes, conjunctions, predicates, intervals, order, output):
    """Write the conjunctions of the c-nodes `order` to `output`, a WordsOutput, without subsumed predicates."""
    rank, words = predicates.bounds.rank, output.words
    path = np.empty(PATH_LENGTH_MAX, dtype=np.int32)
    written = 0
    for n in range(order.size):
        output.begin[n] = written
        depth = find_path(nodes, order[n], path)
        conjunction = nodes.cnodes[order[n]].first
        while conjunction >= 0:
            first = end = written + 2
            for i in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
                p = conjunctions.predicate[i]
                if not is_subsumed(nodes, predicates, intervals, p, path, depth):
                    output.is_used[p] = True
                    j = end  # the most selective ones first
                    while j > first and end - first < SORTED_PREDICATES_MAX and rank[words[j - 1]] > rank[p]:
                        words[j] = words[j - 1]
                        j -= 1
                    words[j] = p
                    end += 1
            words[written], words[written + 1] = end - first, conjunctions.slot[conjunction]
            written = end
            conjunction = conjunctions.next[conjunction]
    output.begin[order.size] = written
