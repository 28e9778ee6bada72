"""Kernels that walk a packed R-tree from left to right, into every node whose extent contains the point.

Intervals that contain one point lie in score order, so the walk finds them in score order (Lemmas 2.1 and 3.2).
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.papers.ranked.kernels.containment import WORD, find_next_stabbed, find_stabbed_bits
from tellwhen.papers.ranked.kernels.layout import (
    BODY,
    DELTA,
    FOUND,
    HEADS,
    LEVEL,
    LEVELS_MAX,
    LINE,
    POINT,
    STABBED,
    VISITED,
)


@kernel
def fill_extents(low, high, level_start, fan_out):
    """Compute the extents of all levels above the intervals."""
    for level in range(1, level_start.size - 1):
        below, above = level_start[level - 1], level_start[level]
        for node in range(level_start[level + 1] - above):
            begin = below + node * fan_out
            end = min(begin + fan_out, above)
            least, greatest = low[begin], high[begin]
            for k in range(begin + 1, end):
                least, greatest = min(least, low[k]), max(greatest, high[k])
            low[above + node] = least
            high[above + node] = greatest


@inline
def begin_walk(tree, cursor, point):
    """Begin a walk at the root."""
    cursor[POINT] = point
    top = tree.level_start.size - 2
    cursor[LEVEL] = top
    cursor[DELTA] = 0
    cursor[BODY + 2 * top] = tree.level_start[top]
    cursor[BODY + 2 * top + 1] = tree.level_start[top + 1]
    for level in range(LEVELS_MAX):
        cursor[VISITED + level] = 0


@inline
def prefetch_leaf(tree, leaf):
    """Prefetch the intervals of a leaf into the cache."""
    at = (leaf - tree.level_start[1]) * tree.fan_out
    end = min(at + tree.fan_out, tree.level_start[1])
    while at < end:
        prefetch(tree.low, at)
        prefetch(tree.high, at)
        prefetch(tree.number, at)
        at += LINE


@inline
def take_stabbed(cursor):
    """Return the position of the first interval in STABBED, and remove the interval."""
    bits = np.uint64(cursor[STABBED])
    cursor[STABBED] = np.int64(bits & (bits - np.uint64(1)))
    return cursor[BODY] + np.int64(find_lowest_bit(bits))


@inline
def walk_to_next(tree, cursor):
    """Return the position of the next interval that contains the point, or -1.

    At level 0 the cursor's `next` is the position of the first bit of STABBED; the leaf goes on behind the 64 bits.
    """
    point, level = cursor[POINT], cursor[LEVEL]
    low, high, level_start = tree.low, tree.high, tree.level_start
    top = level_start.size - 2
    while level <= top:
        at, end = cursor[BODY + 2 * level], cursor[BODY + 2 * level + 1]
        if level == 0:
            bits = np.uint64(cursor[STABBED])
            while bits == 0 and at + WORD < end:  # a leaf of more than 64
                at += WORD
                bits = find_stabbed_bits(low, high, at, min(at + WORD, end), point)
            if bits == 0:
                level = 1
                continue
            cursor[LEVEL] = 0
            cursor[BODY] = at
            cursor[STABBED] = np.int64(bits)
            return take_stabbed(cursor)
        at = find_next_stabbed(low, high, at, end, point)
        if at == end:
            level += 1
            continue
        cursor[VISITED + level] += 1
        cursor[BODY + 2 * level] = at + 1
        node = at - level_start[level]
        if level == 1:
            # Prefetch the next leaf while this one is read: most of the time goes into waiting for memory.
            next_leaf = find_next_stabbed(low, high, at + 1, end, point)
            cursor[BODY + 2] = next_leaf
            if next_leaf < end:
                prefetch_leaf(tree, next_leaf)
        level -= 1
        begin = level_start[level] + node * tree.fan_out
        end = min(begin + tree.fan_out, level_start[level + 1])
        cursor[BODY + 2 * level] = begin
        cursor[BODY + 2 * level + 1] = end
        if level == 0:
            cursor[STABBED] = np.int64(find_stabbed_bits(low, high, begin, min(begin + WORD, end), point))
    cursor[LEVEL] = level
    return np.int64(-1)


@inline
def collect_stabbed_ranks(tree, cursor, point):
    """Write the ranks of all stabbed intervals into the cursor; return the index behind them."""
    begin_walk(tree, cursor, point)
    found = FOUND
    at = walk_to_next(tree, cursor)
    while at >= 0:
        cursor[found] = tree.rank[at]
        found += 1
        at = walk_to_next(tree, cursor)
    return found


# a tree with changes: dead intervals and a delta

UNKNOWN, ENDED = -1, -2
"""States of the head of a tree with a delta: not searched for yet; the tree has no more intervals."""


@inline
def walk_to_next_alive(tree, cursor):
    """Return the position of the next interval that contains the point and is not dead, or -1."""
    at = walk_to_next(tree, cursor)
    while at >= 0 and tree.dead.size and (tree.dead[tree.number[at] >> 3] >> (tree.number[at] & 7)) & 1:
        at = walk_to_next(tree, cursor)
    return at


@inline
def begin_r_tree_cursor(tree, cursor, point):
    """Begin a cursor at the root and at the first interval of the delta."""
    begin_walk(tree, cursor, point)
    cursor[HEADS] = UNKNOWN


@inline
def getnext_in_r_tree(tree, cursor):
    """Return the number of the next interval, of the tree or of its delta, or -1 at the end."""
    if tree.delta_low.size == 0 and tree.dead.size == 0 and cursor[LEVEL] == 0 and cursor[STABBED] != 0:
        return np.int64(tree.number[take_stabbed(cursor)])  # the common case, first: it takes half the time
    at, delta_at, size = cursor[HEADS], cursor[DELTA], tree.delta_low.size
    if at == UNKNOWN:
        at = walk_to_next_alive(tree, cursor)
        if size == 0:
            return np.int64(tree.number[at]) if at >= 0 else at
        if at < 0:
            at = np.int64(ENDED)
    point = cursor[POINT]
    while delta_at < size and not (tree.delta_low[delta_at] <= point and point <= tree.delta_high[delta_at]):
        delta_at += 1
    is_new = delta_at < size
    if is_new and at >= 0:
        key, new = tree.key[at], tree.delta_key[delta_at]
        is_new = new < key or (new == key and tree.delta_number[delta_at] < tree.number[at])
    if is_new:
        cursor[HEADS] = at
        cursor[DELTA] = delta_at + 1
        return np.int64(tree.delta_number[delta_at])
    cursor[DELTA] = delta_at
    if at == ENDED:
        cursor[HEADS] = ENDED
        return np.int64(-1)
    cursor[HEADS] = UNKNOWN
    return np.int64(tree.number[at])
