"""Kernels that stab an IR-tree in score order, by a heap of the best interval of every node on the path (section 3.1).

All intervals of a node contain its centre, so the extent of a block has no holes: if the extent contains the point, an
interval below does, and no way down ends in vain (Lemma 3.1).

Deviation: the paper goes down to the best interval of every node at once. Here a block is opened when its first key is
the best of all heads: in most nodes of the path the best intervals are narrow and do not reach the point.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.jit import inline
from tellwhen.papers.ranked.kernels.containment import WORD, find_stabbed_bits
from tellwhen.papers.ranked.kernels.heap import drop_best_head, push_head, replace_best_head
from tellwhen.papers.ranked.kernels.ir_pool import ROOT
from tellwhen.papers.ranked.kernels.layout import BODY, FRAME, HEADS, LISTS, PENDING, POINT, STACK, STACKS


@inline
def open_block(tree, cursor, frame, block):
    """Push a block onto a stack: where its entries begin and end, which of them contain the point, and its level."""
    at = tree.first[block]
    end = at + tree.size[block]
    cursor[frame] = at
    cursor[frame + 1] = end
    cursor[frame + 2] = np.int64(find_stabbed_bits(tree.low, tree.high, at, min(at + WORD, end), cursor[POINT]))
    cursor[frame + 3] = tree.level[block]


@inline
def find_next_entry(tree, cursor, source):
    """Return the next entry of a node's R-tree that contains the point, or -1.

    The entry is an interval, or a block, whose number then is in PENDING.
    """
    depth = cursor[LISTS + source]
    bottom = STACKS + source * STACK
    while depth > 0:
        frame = bottom + FRAME * (depth - 1)
        at, end, bits = cursor[frame], cursor[frame + 1], np.uint64(cursor[frame + 2])
        while bits == 0 and at + WORD < end:  # a block of more than 64
            at += WORD
            bits = find_stabbed_bits(tree.low, tree.high, at, min(at + WORD, end), cursor[POINT])
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
def compute_tie(tree, cursor, source, at):
    """Return the number of an interval; -1 for a block, which goes before intervals of its key: it may contain them."""
    return np.int64(tree.item[at]) if cursor[PENDING + source] < 0 else np.int64(-1)


@inline
def begin_ir_tree_cursor(tree, cursor, point):
    """Begin a cursor: find the path to the point, and take the first entry of each R-tree on it as a head."""
    cursor[POINT] = point
    heads, node = 0, tree.counts[ROOT]
    while node >= 0:
        if tree.root[node] >= 0:
            cursor[LISTS + heads] = 1
            open_block(tree, cursor, STACKS + heads * STACK, np.int64(tree.root[node]))
            at = find_next_entry(tree, cursor, heads)
            if at >= 0:
                heads = push_head(cursor, BODY, heads, tree.key[at], compute_tie(tree, cursor, heads, at), heads)
        if point < tree.centre[node]:
            node = np.int64(tree.left[node])
        elif point > tree.centre[node]:
            node = np.int64(tree.right[node])
        else:
            node = np.int64(-1)
    cursor[HEADS] = heads


@inline
def getnext_in_ir_tree(tree, cursor):
    """Return the number of the best head, and replace it by the next entry of its R-tree; -1 at the end.

    A head that is a block is opened first, when no other head is better.
    """
    number = np.int64(-1)
    while number < 0 and cursor[HEADS] > 0:
        number, source = cursor[BODY + 1], cursor[BODY + 2]
        if number < 0:
            depth = cursor[LISTS + source]
            open_block(tree, cursor, STACKS + source * STACK + FRAME * depth, cursor[PENDING + source])
            cursor[LISTS + source] = depth + 1
        at = find_next_entry(tree, cursor, source)
        if at >= 0:
            replace_best_head(cursor, BODY, cursor[HEADS], tree.key[at], compute_tie(tree, cursor, source, at), source)
        else:
            cursor[HEADS] = drop_best_head(cursor, BODY, cursor[HEADS])
    return number
