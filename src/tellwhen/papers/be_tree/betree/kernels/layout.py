"""In which order are nodes laid out for matching, and which predicates of their conjunctions are left to test?"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel

SORTED_MAX = 64
"""Predicates of a conjunction that are sorted by rank, at most: insertion sort takes quadratic time."""


@kernel
def depth_first(nodes, directory_start, directory, order):
    """List all c-nodes depth first: a c-node, then what is below its p-nodes, then its left and its right half.

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
    """The c-nodes whose buckets an event must touch to reach a c-node, one for each attribute; returns how many."""
    depth = 0
    while nodes.cnodes[c].pnode >= 0:
        path[depth] = c
        depth += 1
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent
    return depth


@inline
def is_subsumed(nodes, predicates, p, path, depth):
    """Is the predicate true for every event that takes the path? It is if a bucket of the path equals it."""
    bounds = predicates.bounds
    if bounds.is_exact[p]:
        for k in range(depth):
            node = nodes.cnodes[path[k]]
            if node.domain == predicates.domain[p] and node.low == bounds.low[p] and node.high == bounds.high[p]:
                return True
    return False


@kernel
def write_words(nodes, conjunctions, predicates, order, begin, words, is_used):
    """Write the conjunctions of all c-nodes in this order, as words of a `BETreeIndex`, without subsumed predicates.

    Fills `begin`, where the words of each c-node begin, and `is_used`, which predicates were written.
    """
    rank = predicates.bounds.rank
    path = np.empty(256, dtype=np.int32)
    written = 0
    for n in range(order.size):
        begin[n] = written
        depth = find_path(nodes, order[n], path)
        conjunction = nodes.cnodes[order[n]].first
        while conjunction >= 0:
            first = end = written + 2
            for i in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
                p = conjunctions.predicate[i]
                if not is_subsumed(nodes, predicates, p, path, depth):
                    is_used[p] = True
                    j = end  # the most selective ones first
                    while j > first and end - first < SORTED_MAX and rank[words[j - 1]] > rank[p]:
                        words[j] = words[j - 1]
                        j -= 1
                    words[j] = p
                    end += 1
            words[written], words[written + 1] = end - first, conjunctions.slot[conjunction]
            written = end
            conjunction = conjunctions.next[conjunction]
    begin[order.size] = written
