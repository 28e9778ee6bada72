"""Which intervals does a value stab? Found without trying each, on all lines at once.

An interval is a point, a half-line, or a span with two ends. Points and half-lines are sorted by their end; spans hang
on the nodes of an implicit segment tree. Whatever waits for an interval (a *member*) stands in the list of its end, or
of its nodes, and all lists stand in one array. So the members that a value stabs are a few contiguous runs:

    members  | lists of points ... | of half-lines up to ... | of half-lines since ... | of tree nodes ... |
                  ^^^^^                        ^^^^^^^^^^^      ^^^^^^^^                   ^^    ^^^^   ^
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.kernels.evaluate import first_at_least
from tellwhen.kernels.jit import inline, kernel

POINT, UPTO, SINCE, SPAN, UNUSED = 0, 1, 2, 3, 4

RUNS = 3 + 64
"""Runs that one entry can have: one of each other shape, and one for every level of a tree."""


@inline
def add_run(begin, end, runs, first, last):
    """Note a run unless it is empty."""
    begin[runs] = first
    end[runs] = last
    return runs + (last > first)


@inline
def find_runs(lines, keys, start, stride, line, low, high, begin, end):
    """The runs of members whose intervals touch low..high; returns how many. A member may be in several.

    `stride` is the number of lines + 1: the distance between the shapes' parts of `lines`.
    """
    at = line
    first = first_at_least(keys, lines[at], lines[at + 1], low)
    last = first
    while last < lines[at + 1] and keys[last] <= high:
        last += 1
    runs = add_run(begin, end, 0, start[first], start[last])

    at += stride
    first = first_at_least(keys, lines[at], lines[at + 1], low)
    runs = add_run(begin, end, runs, start[first], start[lines[at + 1]])

    at += stride
    last = first_at_least(keys, lines[at], lines[at + 1], high)
    last += last < lines[at + 1] and keys[last] == high
    runs = add_run(begin, end, runs, start[lines[at]], start[last])

    at += stride
    left, right = lines[at], lines[at + 1]
    if right > left and high >= keys[left] and low < keys[right - 1]:
        # Segment i is keys[i] <= x < keys[i+1]: the first and the last one that low..high touches.
        leaves = right - left
        first = 0
        if low > keys[left]:
            first = first_at_least(keys, left, right, low) - left
            first -= keys[left + first] > low
        last = first
        if high > low:
            last = first_at_least(keys, left, right, high) - left
            last -= last == leaves or keys[left + last] > high
            last = min(last, leaves - 2)
        node, other = first + leaves, last + leaves
        nodes = 2 * left - lines[SPAN * stride]
        while other > 1:  # the root is never used: the last leaf, behind the last cut, belongs to no span
            runs = add_run(begin, end, runs, start[nodes + node], start[nodes + other + 1])
            node >>= 1
            other >>= 1
    return runs


@kernel
def classify(predicates, used, shape):
    """The shape of every interval of the predicates in use."""
    for p in range(predicates.line.size):
        for i in range(predicates.start[p], predicates.start[p + 1]):
            if not used[p]:
                shape[i] = UNUSED
            elif predicates.high[i] == HIGHEST:
                shape[i] = SINCE
            elif predicates.low[i] == LOWEST:
                shape[i] = UPTO
            elif predicates.low[i] == predicates.high[i]:
                shape[i] = POINT
            else:
                shape[i] = SPAN


@kernel
def sort_keys(line, key, lines):
    """The order by line and key: a counting sort by line, then each line's few keys by themselves."""
    start = np.zeros(lines + 1, dtype=np.int64)
    for i in range(line.size):
        start[line[i] + 1] += 1
    for i in range(lines):
        start[i + 1] += start[i]
    order = np.empty(line.size, dtype=np.int64)
    at = start[:-1].copy()
    for i in range(line.size):
        order[at[line[i]]] = i
        at[line[i]] += 1
    for i in range(lines):
        mine = order[start[i] : start[i + 1]]
        if mine.size > 1:
            mine[:] = mine[np.argsort(key[mine])]
    return order


@inline
def tree_nodes(left, right, leaves, out):
    """The fewest nodes that make up segments left:right of a tree; returns how many."""
    count = 0
    left += leaves
    right += leaves
    while left < right:
        if left & 1:
            out[count] = left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            out[count] = right
            count += 1
        left >>= 1
        right >>= 1
    return count


@inline
def to_begins(lengths):
    """Lengths of lists become where each begins; returns the end of the last."""
    total = 0
    for k in range(lengths.size):
        length = lengths[k]
        lengths[k] = total
        total += length
    return total


@kernel
def place_members(row_start, row_code, predicates, shape, where, upto, lines, stride, lists):
    """Put every row into the lists of its predicates' intervals: count, then place, rows in ascending order.

    where[i] is the key of interval i; for a span, its first cut, and upto[i] the cut behind its last segment.
    """
    line_of, _, interval, _, _ = predicates
    start = np.zeros(lists + 2, dtype=np.int64)
    nodes = np.empty(2 * RUNS, dtype=np.int64)
    members = np.empty(0, dtype=np.int32)
    for placing in range(2):
        for row in range(row_start.size - 1):
            for j in range(row_start[row], row_start[row + 1]):
                p = row_code[j]
                for i in range(interval[p], interval[p + 1]):
                    first = 0
                    count = 1
                    if shape[i] == SPAN:
                        at = SPAN * stride + line_of[p]
                        count = tree_nodes(where[i] - lines[at], upto[i] - lines[at], lines[at + 1] - lines[at], nodes)
                        first = 2 * lines[at] - lines[SPAN * stride]
                    else:
                        nodes[0] = where[i]
                    for n in range(count):
                        k = first + nodes[n] + 1
                        if placing:
                            members[start[k]] = row
                        start[k] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            members = np.empty(to_begins(start), dtype=np.int32)
    return start[:-1], members
