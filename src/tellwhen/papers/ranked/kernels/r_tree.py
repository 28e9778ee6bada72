"""How is a packed R-tree walked? From left to right, down into every node whose extent contains the point.

Intervals that contain one point lie in score order, so this finds them in score order (Lemmas 2.1 and 3.2).
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.papers.ranked.kernels.inside import WORD, next_stabbed, stabbed_bits
from tellwhen.papers.ranked.kernels.layout import BODY, DELTA, FOUND, HEADS, LEVEL, LEVELS_MAX, POINT, STABBED, VISITED

LINE = 8
"""Points in a cache line."""


@kernel
def fill_extents(low, high, level_start, fan_out):
    """The extents of all levels above the intervals."""
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
    """Begin at the root."""
    cursor[POINT] = point
    top = tree.level_start.size - 2
    cursor[LEVEL] = top
    cursor[DELTA] = 0
    cursor[BODY + 2 * top] = tree.level_start[top]
    cursor[BODY + 2 * top + 1] = tree.level_start[top + 1]
    for level in range(LEVELS_MAX):
        cursor[VISITED + level] = 0


@inline
def ask_for(tree, leaf):
    """Begin to load the intervals of a leaf."""
    at = (leaf - tree.level_start[1]) * tree.fan_out
    end = min(at + tree.fan_out, tree.level_start[1])
    while at < end:
        prefetch(tree.low, at)
        prefetch(tree.high, at)
        prefetch(tree.number, at)
        at += LINE


@inline
def walk(tree, cursor):
    """The place of the next interval that contains the point, or -1.

    At level 0, `next` is where the bits that are left begin, and behind them the leaf goes on.
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
                bits = stabbed_bits(low, high, at, min(at + WORD, end), point)
            if bits == 0:
                level = 1
                continue
            cursor[LEVEL] = 0
            cursor[BODY] = at
            cursor[STABBED] = np.int64(bits & (bits - np.uint64(1)))
            return at + np.int64(find_lowest_bit(bits))
        at = next_stabbed(low, high, at, end, point)
        if at == end:
            level += 1
            continue
        cursor[VISITED + level] += 1
        cursor[BODY + 2 * level] = at + 1
        node = at - level_start[level]
        if level == 1:
            # The leaf after this one is on its way while this one is read: most of the time goes into waiting for it.
            following = next_stabbed(low, high, at + 1, end, point)
            cursor[BODY + 2] = following
            if following < end:
                ask_for(tree, following)
        level -= 1
        begin = level_start[level] + node * tree.fan_out
        end = min(begin + tree.fan_out, level_start[level + 1])
        cursor[BODY + 2 * level] = begin
        cursor[BODY + 2 * level + 1] = end
        if level == 0:
            cursor[STABBED] = np.int64(stabbed_bits(low, high, begin, min(begin + WORD, end), point))
    cursor[LEVEL] = level
    return np.int64(-1)


@inline
def find_all_walking(tree, cursor, point):
    """Write the ranks of all that the point stabs; returns where they end."""
    begin_walk(tree, cursor, point)
    found = FOUND
    at = walk(tree, cursor)
    while at >= 0:
        cursor[found] = tree.rank[at]
        found += 1
        at = walk(tree, cursor)
    return found


# with changes: tombstones and a delta

UNKNOWN, ENDED = -1, -2
"""States of the head of a tree beside its delta: not looked for yet, and there is none."""


@inline
def walk_alive(tree, cursor):
    """The place of the next interval that contains the point and is not dead, or -1."""
    at = walk(tree, cursor)
    while at >= 0 and tree.dead.size and (tree.dead[tree.number[at] >> 3] >> (tree.number[at] & 7)) & 1:
        at = walk(tree, cursor)
    return at


@inline
def begin_r_tree(tree, cursor, point):
    """Begin at the root, and in the delta."""
    begin_walk(tree, cursor, point)
    cursor[HEADS] = UNKNOWN


@inline
def next_in_r_tree(tree, cursor):
    """The number of the next interval, from the tree or from the delta, or -1."""
    at, other, size = cursor[HEADS], cursor[DELTA], tree.delta_low.size
    if at == UNKNOWN:
        at = walk_alive(tree, cursor)
        if size == 0:
            return np.int64(tree.number[at]) if at >= 0 else at
        if at < 0:
            at = np.int64(ENDED)
    point = cursor[POINT]
    while other < size and not (tree.delta_low[other] <= point and point <= tree.delta_high[other]):
        other += 1
    is_new = other < size
    if is_new and at >= 0:
        key, new = tree.key[at], tree.delta_key[other]
        is_new = new < key or (new == key and tree.delta_number[other] < tree.number[at])
    if is_new:
        cursor[HEADS] = at
        cursor[DELTA] = other + 1
        return np.int64(tree.delta_number[other])
    cursor[DELTA] = other
    if at == ENDED:
        cursor[HEADS] = ENDED
        return np.int64(-1)
    cursor[HEADS] = UNKNOWN
    return np.int64(tree.number[at])
