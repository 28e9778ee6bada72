"""How is an IR-tree stabbed in score order? By a heap of the best interval of every node on the path (section 3.1).

All intervals of a node contain its centre, so the extent of a block has no holes: if the point is inside, an interval
below contains it, and a way down never ends in vain (Lemma 3.1).

Deviation: the paper goes down to the best interval of every node at once. Here a block is opened when its first key is
the best of all heads: in most nodes of the path the best intervals are narrow and do not reach the point.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline
from tellwhen.papers.ranked.kernels.heap import drop_top, push, replace_top
from tellwhen.papers.ranked.kernels.inside import WORD, stabbed_bits
from tellwhen.papers.ranked.kernels.ir_pool import ROOT
from tellwhen.papers.ranked.kernels.layout import BODY, FRAME, HEADS, LISTS, PENDING, POINT, STACK, STACKS


@inline
def open_block(tree, cursor, frame, block):
    """Put a block on a stack: where its entries begin and end, which of them contain the point, and its level."""
    at = tree.first[block]
    end = at + tree.size[block]
    cursor[frame] = at
    cursor[frame + 1] = end
    cursor[frame + 2] = np.int64(stabbed_bits(tree.low, tree.high, at, min(at + WORD, end), cursor[POINT]))
    cursor[frame + 3] = tree.level[block]


@inline
def next_entry(tree, cursor, source):
    """The next entry that contains the point in the R-tree of a node, or -1: an interval, or a block that may be opened
    then (`PENDING`)."""
    depth = cursor[LISTS + source]
    bottom = STACKS + source * STACK
    while depth > 0:
        frame = bottom + FRAME * (depth - 1)
        at, end, bits = cursor[frame], cursor[frame + 1], np.uint64(cursor[frame + 2])
        while bits == 0 and at + WORD < end:  # a block of more than 64
            at += WORD
            bits = stabbed_bits(tree.low, tree.high, at, min(at + WORD, end), cursor[POINT])
        if bits == 0:
            depth -= 1
            continue
        cursor[frame] = at
        cursor[frame + 2] = np.int64(bits & (bits - np.uint64(1)))
        at += np.int64(find_lowest_bit(bits))
        cursor[LISTS + source] = depth
        cursor[PENDING + source] = np.int64(tree.item[at]) if cursor[frame + 3] > 0 else np.int64(-1)
        return at
    cursor[LISTS + source] = 0
    return np.int64(-1)


@inline
def tie_of(tree, cursor, source, at):
    """The number of an interval; a block comes before all intervals of the same key, since they may be in it."""
    return np.int64(tree.item[at]) if cursor[PENDING + source] < 0 else np.int64(-1)


@inline
def begin_ir_tree(tree, cursor, point):
    """The path to the point; the first entry of the root of each R-tree on it becomes a head."""
    cursor[POINT] = point
    heads, node = 0, tree.counts[ROOT]
    while node >= 0:
        if tree.root[node] >= 0:
            cursor[LISTS + heads] = 1
            open_block(tree, cursor, STACKS + heads * STACK, np.int64(tree.root[node]))
            at = next_entry(tree, cursor, heads)
            if at >= 0:
                heads = push(cursor, BODY, heads, tree.key[at], tie_of(tree, cursor, heads, at), heads)
        if point < tree.centre[node]:
            node = np.int64(tree.left[node])
        elif point > tree.centre[node]:
            node = np.int64(tree.right[node])
        else:
            node = np.int64(-1)
    cursor[HEADS] = heads


@inline
def next_in_ir_tree(tree, cursor):
    """The number of the best head, which the next one of its R-tree replaces; -1 at the end. A head that is a block is
    opened first, which is put off as long as another head is better."""
    number = np.int64(-1)
    while number < 0 and cursor[HEADS] > 0:
        number, source = cursor[BODY + 1], cursor[BODY + 2]
        if number < 0:
            depth = cursor[LISTS + source]
            open_block(tree, cursor, STACKS + source * STACK + FRAME * depth, cursor[PENDING + source])
            cursor[LISTS + source] = depth + 1
        at = next_entry(tree, cursor, source)
        if at >= 0:
            replace_top(cursor, BODY, cursor[HEADS], tree.key[at], tie_of(tree, cursor, source, at), source)
        else:
            cursor[HEADS] = drop_top(cursor, BODY, cursor[HEADS])
    return number
