"""How is an interval tree built, and stabbed? In score order, three ways (sections 2.1.1 and 2.2.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import first_above, first_below
from tellwhen.papers.ranked.kernels.heap import push, replenish
from tellwhen.papers.ranked.kernels.inside import next_stabbed
from tellwhen.papers.ranked.kernels.layout import BODY, FOUND, HEADS, LISTS, PATH_MAX, POINT


@kernel
def hang(low, high, ends):
    """Hang intervals on the nodes of a tree: the median end of those that are left is the centre of a node, which keeps
    what contains it.

    Intervals are in the order that nodes keep. `ends` has 2i for the lower end of interval i, 2i + 1 for the upper one,
    in the order of their points. Returns the nodes (centre, left, right, start) and the intervals node by node.
    """
    count = low.size
    centre = np.empty(count, dtype=np.int64)
    left = np.full(count, -1, dtype=np.int32)
    right = np.full(count, -1, dtype=np.int32)
    start = np.zeros(count + 1, dtype=np.int64)
    hung = np.empty(count, dtype=np.int32)
    # Of a part begin:end of the intervals, the ends are 2 * begin:2 * end: both are divided in place, keeping order.
    mine = np.arange(count).astype(np.int32)
    aside = np.empty(2 * count, dtype=np.int32)
    todo = np.empty((2 * PATH_MAX, 3), dtype=np.int64)  # |begin|end|link|: link is 2 * parent, + 1 for the right child
    todo[0, 0], todo[0, 1], todo[0, 2] = 0, count, -1
    waiting, nodes, placed = 1 if count else 0, 0, 0
    while waiting:
        waiting -= 1
        begin, end, link = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        middle = ends[begin + end]
        at = high[middle >> 1] if middle & 1 else low[middle >> 1]
        node = nodes
        nodes += 1
        centre[node] = at
        if link >= 0:
            if link & 1:
                right[link >> 1] = node
            else:
                left[link >> 1] = node
        first, last = begin, 0
        for k in range(begin, end):
            i = mine[k]
            if high[i] < at:
                mine[first] = i
                first += 1
            elif low[i] > at:
                aside[last] = i
                last += 1
            else:
                hung[placed] = i
                placed += 1
        mine[first : first + last] = aside[:last]
        start[node + 1] = placed
        into, last_end = 2 * begin, 0
        for k in range(2 * begin, 2 * end):
            i = ends[k] >> 1
            if high[i] < at:
                ends[into] = ends[k]
                into += 1
            elif low[i] > at:
                aside[last_end] = ends[k]
                last_end += 1
        ends[into : into + last_end] = aside[:last_end]
        # The larger part waits below the smaller one, so few wait. Either may be empty.
        for side in range(2):
            is_right = side == (1 if last > first - begin else 0)
            a, b = (first, first + last) if is_right else (begin, first)
            if b > a:
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = a, b, 2 * node + is_right
                waiting += 1
    return centre[:nodes], left[:nodes], right[:nodes], start[: nodes + 1], hung


# by rank: the scored interval tree


@inline
def begin_scored_tree(tree, cursor, point):
    """The path to the point; the best interval of each node on it becomes a head."""
    cursor[POINT] = point
    heads, node = 0, 0 if tree.centre.size else -1
    while node >= 0:
        if tree.least[node] <= point and point <= tree.greatest[node]:
            end = tree.start[node + 1]
            at = next_stabbed(tree.low, tree.high, tree.start[node], end, point)
            if at < end:
                cursor[LISTS + 2 * heads] = at + 1
                cursor[LISTS + 2 * heads + 1] = end
                heads = push(cursor, BODY, heads, tree.rank[at], 0, heads)
        if point < tree.centre[node]:
            node = tree.left[node]
        elif point > tree.centre[node]:
            node = tree.right[node]
        else:
            node = -1
    cursor[HEADS] = heads


@inline
def advance_scored_tree(tree, cursor, source):
    """The rank of the next interval of a node, or -1."""
    end = cursor[LISTS + 2 * source + 1]
    at = next_stabbed(tree.low, tree.high, cursor[LISTS + 2 * source], end, cursor[POINT])
    cursor[LISTS + 2 * source] = at + 1
    return np.int64(tree.rank[at]) if at < end else np.int64(-1)


@inline
def next_in_scored_tree(tree, cursor):
    """The number of the best head, which the next interval of its node replaces; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    rank, source = cursor[BODY], cursor[BODY + 2]
    cursor[HEADS] = replenish(cursor, BODY, heads, advance_scored_tree(tree, cursor, source), source)
    return np.int64(tree.number[rank])


# by ends: find all


@inline
def find_all(tree, cursor, point):
    """Write the ranks of all that the point stabs, and of each node that has some the part of them (next, end). Returns
    how many nodes have some."""
    cursor[POINT] = point
    lists, found, node = 0, FOUND, 0 if tree.centre.size else -1
    while node >= 0:
        begin, end = tree.start[node], tree.start[node + 1]
        cursor[LISTS + 2 * lists] = found
        if point < tree.centre[node]:
            end = first_above(tree.low, begin, end, point)
            ranks = tree.by_low
            node = tree.left[node]
        else:
            end = first_below(tree.high, begin, end, point)
            ranks = tree.by_high
            node = tree.right[node] if point > tree.centre[node] else -1
        for k in range(begin, end):
            cursor[found] = ranks[k]
            found += 1
        cursor[LISTS + 2 * lists + 1] = found
        lists += end > begin
    return lists


@inline
def sift_down(words, at, begin, end):
    """Let a rank sink in the heap of the ranks begin:end."""
    rank = words[at]
    while True:
        child = begin + 2 * (at - begin) + 1
        if child >= end:
            break
        if child + 1 < end and words[child + 1] < words[child]:
            child += 1
        if words[child] >= rank:
            break
        words[at] = words[child]
        at = child
    words[at] = rank


@inline
def begin_endpoint_tree(tree, cursor, point):
    """All that the point stabs, in a heap for each node; their best ranks are the heads."""
    heads = find_all(tree, cursor, point)
    for source in range(heads):
        begin, end = cursor[LISTS + 2 * source], cursor[LISTS + 2 * source + 1]
        at = begin + ((end - begin) >> 1) - 1
        while at >= begin:
            sift_down(cursor, at, begin, end)
            at -= 1
        push(cursor, BODY, source, cursor[begin], 0, source)
    cursor[HEADS] = heads


@inline
def advance_endpoint_tree(cursor, source):
    """Take the best rank from the heap of a node; returns the next best, or -1."""
    begin, end = cursor[LISTS + 2 * source], cursor[LISTS + 2 * source + 1] - 1
    cursor[LISTS + 2 * source + 1] = end
    if begin == end:
        return np.int64(-1)
    cursor[begin] = cursor[end]
    sift_down(cursor, begin, begin, end)
    return cursor[begin]


@inline
def next_in_endpoint_tree(tree, cursor):
    """The number of the best head, which the next one of its heap replaces; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    rank, source = cursor[BODY], cursor[BODY + 2]
    cursor[HEADS] = replenish(cursor, BODY, heads, advance_endpoint_tree(cursor, source), source)
    return np.int64(tree.number[rank])


@inline
def begin_unscored_tree(tree, cursor, point):
    """All that the point stabs, sorted: one list."""
    lists = find_all(tree, cursor, point)
    begin_sorted(cursor, cursor[LISTS + 2 * lists - 1] if lists else FOUND)


@inline
def begin_sorted(cursor, end):
    """Sort the ranks that were found: they are the only list."""
    cursor[FOUND:end].sort()
    cursor[LISTS] = FOUND
    cursor[LISTS + 1] = end


@inline
def next_sorted(tree, cursor):
    """The number of the next one that was found, or -1."""
    at = cursor[LISTS]
    if at == cursor[LISTS + 1]:
        return np.int64(-1)
    cursor[LISTS] = at + 1
    return np.int64(tree.number[cursor[at]])
