"""Kernels that find the intervals that contain a point: scan, centred interval tree, segment tree, lists by space.

Intervals are closed, and numbered in the order of the input. A kernel that stabs takes a structure and `Queries`.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above, find_first_at_least, find_first_below
from tellwhen.papers.ps_tree.element_tree.arrays import CELL, COVERS, NEXT, NUMBER, ElementTreeArrays
from tellwhen.papers.ps_tree.element_tree.kernels import find_leaf


class Queries(NamedTuple):
    """Points, and arrays for the intervals that contain them."""

    point: I64
    counts: I64  # |3|1|0|     intervals that contain each point
    start: I64  # |0|3|4|4|   the intervals of point q are number[start[q]:start[q+1]]
    number: I32  # empty if intervals are only counted


class ScanArrays(NamedTuple):
    """The ends of all intervals."""

    low: I64
    high: I64


class CentredArrays(NamedTuple):
    """A centred interval tree. Node n has the centre ends[n], and its intervals are node_start[n]:node_start[n+1]."""

    ends: I64  # ascending
    node_start: I64
    low: I64  # ascending in each node
    by_low: I32  # the numbers of these intervals
    high: I64  # descending in each node
    by_high: I32


class SegmentArrays(NamedTuple):
    """A segment tree. Node 1 is the root, the children of n are 2n and 2n + 1, and leaf k is node len(begins) + k."""

    begins: I64  # |LOWEST 20 61|   where the segments of the leaves begin, ascending
    node_start: I64  # |0|4|4|9|   intervals of node n are numbers[node_start[n]:node_start[n+1]]
    numbers: I32


class SpaceArrays(NamedTuple):
    """The spaces of a PS-Tree with one domain, and a list for each."""

    cuts: I64  # |20 61|     ascending
    list_start: I64  # |0|4|4|9|   list of space s is numbers[list_start[s]:list_start[s+1]]
    numbers: I32


@inline
def write_numbers(queries, q, found, numbers, begin, end):
    """Append numbers[begin:end] to the `found` intervals of query q, or only count them; return the new count."""
    if queries.number.size:
        at = queries.start[q] + found
        for k in range(end - begin):
            queries.number[at + k] = numbers[begin + k]
    return found + end - begin


@kernel
def stab_scan(scan, queries):
    """Test every interval."""
    scan, queries = borrow(scan, ScanArrays), borrow(queries, Queries)
    for q in range(queries.point.size):
        x, found = queries.point[q], 0
        for i in range(scan.low.size):
            if scan.low[i] <= x <= scan.high[i]:
                if queries.number.size:
                    queries.number[queries.start[q] + found] = i
                found += 1
        queries.counts[q] = found


@kernel
def place_intervals(first, last, node):
    """Find the node of each interval: the highest node whose centre lies in the interval.

    Interval i is first[i]..last[i] in the sorted ends. A node is the middle of a part of the sorted ends; the part of
    the root is all of them.
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


@kernel
def stab_centred(tree, queries):
    """Go down from the root; at each node, read the list on the side of the centre where the point lies."""
    tree, queries = borrow(tree, CentredArrays), borrow(queries, Queries)
    for q in range(queries.point.size):
        x, found = queries.point[q], 0
        left, right = 0, tree.ends.size
        while left < right:
            node = (left + right) >> 1
            begin, end = tree.node_start[node], tree.node_start[node + 1]
            if x < tree.ends[node]:
                end = find_first_at_least(tree.low, begin, end, x + 1)
                found = write_numbers(queries, q, found, tree.by_low, begin, end)
                right = node
            else:
                end = find_first_below(tree.high, begin, end, x)
                found = write_numbers(queries, q, found, tree.by_high, begin, end)
                left = node + 1 if x > tree.ends[node] else right
        queries.counts[q] = found


@kernel
def stab_segments(tree, queries):
    """Go up from the leaf of the point; all intervals of the nodes on this path contain the point."""
    tree, queries = borrow(tree, SegmentArrays), borrow(queries, Queries)
    leaves = tree.begins.size
    for q in range(queries.point.size):
        found = 0
        node = leaves + find_first_above(tree.begins, 0, leaves, queries.point[q]) - 1
        while node > 0:
            found = write_numbers(queries, q, found, tree.numbers, tree.node_start[node], tree.node_start[node + 1])
            node >>= 1
        queries.counts[q] = found


@kernel
def stab_spaces(spaces, queries):
    """Read the list of the point's space."""
    spaces, queries = borrow(spaces, SpaceArrays), borrow(queries, Queries)
    for q in range(queries.point.size):
        space = find_first_above(spaces.cuts, 0, spaces.cuts.size, queries.point[q])
        begin, end = spaces.list_start[space], spaces.list_start[space + 1]
        queries.counts[q] = write_numbers(queries, q, 0, spaces.numbers, begin, end)


@kernel
def stab_elements(tree, queries):
    """Follow the elements of the point to its leaf node; read its counter or its list."""
    tree, queries = borrow(tree, ElementTreeArrays), borrow(queries, Queries)
    for q in range(queries.point.size):
        leaf = find_leaf(tree, queries.point[q])
        queries.counts[q] = tree.leaves[leaf, COVERS]
        if queries.number.size:
            at, cell = queries.start[q], tree.leaves[leaf, CELL]
            while cell:
                queries.number[at] = tree.cells[cell, NUMBER]
                at, cell = at + 1, tree.cells[cell, NEXT]
