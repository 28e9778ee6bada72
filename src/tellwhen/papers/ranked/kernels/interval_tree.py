"""Kernels that build an interval tree, and stab it in score order in three ways (sections 2.1.1 and 2.2.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above, find_first_below
from tellwhen.papers.ranked.kernels.containment import find_next_stabbed
from tellwhen.papers.ranked.kernels.heap import push_head, replace_or_drop_best_head
from tellwhen.papers.ranked.kernels.layout import BODY, FOUND, HEADS, LISTS, PATH_MAX, POINT


@kernel
def build_interval_tree(low, high, ends):
    """Put intervals on the nodes of an interval tree.

    The centre of a node is the median end of the intervals in its subtree. The node keeps the intervals that contain
    the centre, in the order in which the intervals are given. `ends` has 2i for the lower end of interval i, 2i + 1 for
    the upper one, sorted by their points; it is overwritten. Returns the nodes (centre, left, right, start) and the
    intervals node by node.
    """
    count = low.size
    centre = np.empty(count, dtype=np.int64)
    left = np.full(count, -1, dtype=np.int32)
    right = np.full(count, -1, dtype=np.int32)
    start = np.zeros(count + 1, dtype=np.int64)
    members = np.empty(count, dtype=np.int32)
    # The intervals begin:end of a subtree have the ends 2 * begin:2 * end: both are partitioned in place, in order.
    remaining = np.arange(count).astype(np.int32)
    right_part = np.empty(2 * count, dtype=np.int32)
    stack = np.empty((2 * PATH_MAX, 3), dtype=np.int64)  # |begin|end|link|: link is 2 * parent, + 1 for the right child
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, -1
    depth, nodes, placed = 1 if count else 0, 0, 0
    while depth:
        depth -= 1
        begin, end, link = stack[depth, 0], stack[depth, 1], stack[depth, 2]
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
            i = remaining[k]
            if high[i] < at:
                remaining[first] = i
                first += 1
            elif low[i] > at:
                right_part[last] = i
                last += 1
            else:
                members[placed] = i
                placed += 1
        remaining[first : first + last] = right_part[:last]
        start[node + 1] = placed
        into, last_end = 2 * begin, 0
        for k in range(2 * begin, 2 * end):
            i = ends[k] >> 1
            if high[i] < at:
                ends[into] = ends[k]
                into += 1
            elif low[i] > at:
                right_part[last_end] = ends[k]
                last_end += 1
        ends[into : into + last_end] = right_part[:last_end]
        # The smaller part is pushed last and done first, so the stack stays short. Either part may be empty.
        for side in range(2):
            is_right = side == (1 if last > first - begin else 0)
            a, b = (first, first + last) if is_right else (begin, first)
            if b > a:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = a, b, 2 * node + is_right
                depth += 1
    return centre[:nodes], left[:nodes], right[:nodes], start[: nodes + 1], members


# nodes sorted by rank: the scored interval tree


@inline
def begin_scored_tree_cursor(tree, cursor, point):
    """Begin a cursor: find the path to the point, and take the best interval of each node on it as a head."""
    cursor[POINT] = point
    heads, node = 0, 0 if tree.centre.size else -1
    while node >= 0:
        if tree.min_low[node] <= point and point <= tree.max_high[node]:
            end = tree.start[node + 1]
            at = find_next_stabbed(tree.low, tree.high, tree.start[node], end, point)
            if at < end:
                cursor[LISTS + 2 * heads] = at + 1
                cursor[LISTS + 2 * heads + 1] = end
                heads = push_head(cursor, BODY, heads, tree.rank[at], 0, heads)
        if point < tree.centre[node]:
            node = tree.left[node]
        elif point > tree.centre[node]:
            node = tree.right[node]
        else:
            node = -1
    cursor[HEADS] = heads


@inline
def advance_scored_list(tree, cursor, source):
    """Return the rank of the next stabbed interval of the node whose list is `source`, or -1."""
    end = cursor[LISTS + 2 * source + 1]
    at = find_next_stabbed(tree.low, tree.high, cursor[LISTS + 2 * source], end, cursor[POINT])
    cursor[LISTS + 2 * source] = at + 1
    return np.int64(tree.rank[at]) if at < end else np.int64(-1)


@inline
def getnext_in_scored_tree(tree, cursor):
    """Return the number of the best head, and replace it by the next interval of its node; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    rank, source = cursor[BODY], cursor[BODY + 2]
    cursor[HEADS] = replace_or_drop_best_head(cursor, BODY, heads, advance_scored_list(tree, cursor, source), source)
    return np.int64(tree.number[rank])


# nodes sorted by ends: collect all stabbed intervals first


@inline
def collect_stabbed_lists(tree, cursor, point):
    """Write the ranks of all stabbed intervals into the cursor, as one list for each node with stabbed intervals.

    Writes the (next, end) of each list too. Returns the number of lists.
    """
    cursor[POINT] = point
    lists, found, node = 0, FOUND, 0 if tree.centre.size else -1
    while node >= 0:
        begin, end = tree.start[node], tree.start[node + 1]
        cursor[LISTS + 2 * lists] = found
        if point < tree.centre[node]:
            end = find_first_above(tree.low, begin, end, point)
            ranks = tree.rank_by_low
            node = tree.left[node]
        else:
            end = find_first_below(tree.high, begin, end, point)
            ranks = tree.rank_by_high
            node = tree.right[node] if point > tree.centre[node] else -1
        for k in range(begin, end):
            cursor[found] = ranks[k]
            found += 1
        cursor[LISTS + 2 * lists + 1] = found
        lists += end > begin
    return lists


@inline
def sift_rank_down(words, at, begin, end):
    """Sift a rank down in the heap of the ranks begin:end."""
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
def begin_endpoint_tree_cursor(tree, cursor, point):
    """Begin a cursor: heap the stabbed intervals of each node, and take the best interval of each heap as a head."""
    heads = collect_stabbed_lists(tree, cursor, point)
    for source in range(heads):
        begin, end = cursor[LISTS + 2 * source], cursor[LISTS + 2 * source + 1]
        at = begin + ((end - begin) >> 1) - 1
        while at >= begin:
            sift_rank_down(cursor, at, begin, end)
            at -= 1
        push_head(cursor, BODY, source, cursor[begin], 0, source)
    cursor[HEADS] = heads


@inline
def advance_endpoint_heap(cursor, source):
    """Remove the best rank from the heap `source`; return the next best rank, or -1."""
    begin, end = cursor[LISTS + 2 * source], cursor[LISTS + 2 * source + 1] - 1
    cursor[LISTS + 2 * source + 1] = end
    if begin == end:
        return np.int64(-1)
    cursor[begin] = cursor[end]
    sift_rank_down(cursor, begin, begin, end)
    return cursor[begin]


@inline
def getnext_in_endpoint_tree(tree, cursor):
    """Return the number of the best head, and replace it by the next interval of its heap; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    rank, source = cursor[BODY], cursor[BODY + 2]
    cursor[HEADS] = replace_or_drop_best_head(cursor, BODY, heads, advance_endpoint_heap(cursor, source), source)
    return np.int64(tree.number[rank])


@inline
def begin_unscored_tree_cursor(tree, cursor, point):
    """Begin a cursor: sort all stabbed intervals into one list."""
    lists = collect_stabbed_lists(tree, cursor, point)
    sort_stabbed_ranks(cursor, cursor[LISTS + 2 * lists - 1] if lists else FOUND)


@inline
def sort_stabbed_ranks(cursor, end):
    """Sort the ranks that were collected up to `end`, and make them the only list of the cursor."""
    cursor[FOUND:end].sort()
    cursor[LISTS] = FOUND
    cursor[LISTS + 1] = end


@inline
def getnext_in_sorted_ranks(tree, cursor):
    """Return the number of the next collected interval, or -1 at the end."""
    at = cursor[LISTS]
    if at == cursor[LISTS + 1]:
        return np.int64(-1)
    cursor[LISTS] = at + 1
    return np.int64(tree.number[cursor[at]])
