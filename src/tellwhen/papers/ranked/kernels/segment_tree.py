"""Kernels that build a segment tree and stab it in score order: it stabs every interval on its path (section 2.2.1)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above
from tellwhen.kernels.stabbing import convert_to_offsets, find_tree_nodes
from tellwhen.papers.ranked.kernels.heap import push_head, replace_or_drop_best_head
from tellwhen.papers.ranked.kernels.layout import BODY, HEADS, LISTS, POINT


@kernel
def build_segment_tree(first, last, leaves):
    """Put the interval of each rank on the fewest nodes that make up the leaves first:last.

    Returns (start, ranks): the ranks of node v are ranks[start[v]:start[v+1]], ascending.
    """
    start = np.zeros(2 * leaves + 2, dtype=np.int64)
    ranks = np.empty(0, dtype=np.int32)
    nodes = np.empty(128, dtype=np.int64)
    for placing in range(2):
        for rank in range(first.size):
            for k in range(find_tree_nodes(first[rank], last[rank], leaves, nodes)):
                if placing:
                    ranks[start[nodes[k] + 1]] = rank
                start[nodes[k] + 1] += 1
        if not placing:
            # Offsets are shifted by one element: placing then moves the begin of each list to its end.
            ranks = np.empty(convert_to_offsets(start), dtype=np.int32)
    return start[:-1], ranks


@inline
def begin_segment_tree_cursor(tree, cursor, point):
    """Begin a cursor: for each node from the leaf of the point to the root, take its best interval as a head."""
    cursor[POINT] = point
    heads = 0
    leaves = tree.begins.size
    node = leaves + find_first_above(tree.begins, 0, leaves, point) - 1
    while node > 0:
        at, end = tree.start[node], tree.start[node + 1]
        if at < end:
            cursor[LISTS + 2 * heads] = at + 1
            cursor[LISTS + 2 * heads + 1] = end
            heads = push_head(cursor, BODY, heads, tree.rank[at], 0, heads)
        node >>= 1
    cursor[HEADS] = heads


@inline
def advance_segment_list(tree, cursor, source):
    """Return the rank of the next interval of the node whose list is `source`, or -1."""
    at = cursor[LISTS + 2 * source]
    if at == cursor[LISTS + 2 * source + 1]:
        return np.int64(-1)
    cursor[LISTS + 2 * source] = at + 1
    return np.int64(tree.rank[at])


@inline
def getnext_in_segment_tree(tree, cursor):
    """Return the number of the best head, and replace it by the next interval of its node; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    rank, source = cursor[BODY], cursor[BODY + 2]
    cursor[HEADS] = replace_or_drop_best_head(cursor, BODY, heads, advance_segment_list(tree, cursor, source), source)
    return np.int64(tree.number[rank])
