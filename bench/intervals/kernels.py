"""Which of many intervals contain a point? By a scan, a centred interval tree, a segment tree, or lists by space.

Each kernel works in two passes over the points: the first counts, into count[point]; the second, with room in `out`,
writes the numbers of the intervals from start[point] on.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.evaluate import first_above, first_at_least
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import to_begins, tree_nodes


@inline
def give(numbers, begin, end, out, at, found):
    """Write, if there is room for any, the numbers begin:end; returns how many there are so far."""
    if out.size:
        for k in range(end - begin):
            out[at + found + k] = numbers[begin + k]
    return found + end - begin


@kernel
def stab_scan(low, high, points, count, start, out):
    """Try every interval."""
    for p in range(points.size):
        x, found = points[p], 0
        for i in range(low.size):
            if low[i] <= x <= high[i]:
                if out.size:
                    out[start[p] + found] = i
                found += 1
        count[p] = found


@kernel
def hang(first, last, node):
    """The node of each interval: the highest whose centre lies inside. Intervals are first..last among the ends.

    A node is the middle of a part of the sorted ends; the root's part is all of them.
    """
    ends = 0
    for i in range(last.size):
        ends = max(ends, last[i] + 1)
    for i in range(first.size):
        left, right = 0, ends
        middle = (left + right) >> 1
        while not first[i] <= middle <= last[i]:
            if last[i] < middle:
                right = middle
            else:
                left = middle + 1
            middle = (left + right) >> 1
        node[i] = middle


@inline
def first_below(keys, start, end, point):
    """The first index in start:end, whose keys descend, with a key below the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] >= point:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def stab_centred(ends, node_start, low, by_low, high, by_high, points, count, start, out):
    """Go down from the root: at each node the point is before the centre, behind it, or at it."""
    for p in range(points.size):
        x, found = points[p], 0
        left, right = 0, ends.size
        while left < right:
            node = (left + right) >> 1
            begin, end = node_start[node], node_start[node + 1]
            if x < ends[node]:
                end = first_at_least(low, begin, end, x + 1)
                found = give(by_low, begin, end, out, start[p], found)
                right = node
            else:
                end = first_below(high, begin, end, x)
                found = give(by_high, begin, end, out, start[p], found)
                left = node + 1 if x > ends[node] else right
        count[p] = found


@kernel
def hang_segments(first, last, leaves):
    """Put intervals on the fewest nodes that make up leaves first..last: count, then place."""
    node_start = np.zeros(2 * leaves + 2, dtype=np.int64)
    numbers = np.empty(0, dtype=np.int32)
    nodes = np.empty(128, dtype=np.int64)
    for placing in range(2):
        for i in range(first.size):
            for k in range(tree_nodes(first[i], last[i] + 1, leaves, nodes)):
                if placing:
                    numbers[node_start[nodes[k] + 1]] = i
                node_start[nodes[k] + 1] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            numbers = np.empty(to_begins(node_start), dtype=np.int32)
    return node_start[:-1], numbers


@kernel
def stab_segments(begins, node_start, numbers, points, count, start, out):
    """Go up from the leaf of the point; every node on the way has intervals that contain it."""
    for p in range(points.size):
        found = 0
        node = begins.size + first_above(begins, 0, begins.size, points[p]) - 1
        while node > 0:
            found = give(numbers, node_start[node], node_start[node + 1], out, start[p], found)
            node >>= 1
        count[p] = found


@kernel
def stab_spaces(cuts, list_start, numbers, points, count, start, out):
    """The list of the point's space."""
    for p in range(points.size):
        space = first_above(cuts, 0, cuts.size, points[p])
        count[p] = give(numbers, list_start[space], list_start[space + 1], out, start[p], 0)
