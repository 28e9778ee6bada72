"""How is an IR-tree stabbed in score order? By a heap of the best interval of every node on the path (section 3.1).

All intervals of a node contain its centre, so the extent of a block has no holes: if the point is inside, an interval
below contains it, and a way down never ends in vain (Lemma 3.1).
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.ranked.kernels.heap import drop_top, push, replace_top
from tellwhen.ranked.kernels.ir_pool import ROOT
from tellwhen.ranked.kernels.layout import BODY, HEADS, LEVELS_MAX, LISTS, POINT, STACKS


@inline
def next_entry(tree, cursor, source):
    """The entry of the next interval that contains the point in the R-tree of a node, or -1. Its stack has the blocks
    on the way down, each with the offset at which it goes on."""
    point, depth = cursor[POINT], cursor[LISTS + source]
    bottom = STACKS + source * 2 * LEVELS_MAX
    while depth > 0:
        top = bottom + 2 * (depth - 1)
        block = cursor[top]
        at = tree.first[block] + cursor[top + 1]
        end = tree.first[block] + tree.size[block]
        while at < end and not (tree.low[at] <= point and point <= tree.high[at]):
            at += 1
        if at == end:
            depth -= 1
            continue
        cursor[top + 1] = at + 1 - tree.first[block]
        if tree.level[block] == 0:
            cursor[LISTS + source] = depth
            return at
        cursor[top + 2] = tree.item[at]
        cursor[top + 3] = 0
        depth += 1
    cursor[LISTS + source] = 0
    return np.int64(-1)


@inline
def begin_ir_tree(tree, cursor, point):
    """The path to the point; the best interval of each node on it becomes a head."""
    cursor[POINT] = point
    heads, node = 0, tree.counts[ROOT]
    while node >= 0:
        if tree.root[node] >= 0:
            cursor[LISTS + heads] = 1
            cursor[STACKS + heads * 2 * LEVELS_MAX] = tree.root[node]
            cursor[STACKS + heads * 2 * LEVELS_MAX + 1] = 0
            at = next_entry(tree, cursor, heads)
            if at >= 0:
                heads = push(cursor, BODY, heads, tree.key[at], tree.item[at], heads)
        if point < tree.centre[node]:
            node = np.int64(tree.left[node])
        elif point > tree.centre[node]:
            node = np.int64(tree.right[node])
        else:
            node = np.int64(-1)
    cursor[HEADS] = heads


@inline
def next_in_ir_tree(tree, cursor):
    """The number of the best head, which the next interval of its node replaces; -1 at the end."""
    heads = cursor[HEADS]
    if heads == 0:
        return np.int64(-1)
    number, source = cursor[BODY + 1], cursor[BODY + 2]
    at = next_entry(tree, cursor, source)
    if at >= 0:
        replace_top(cursor, BODY, heads, tree.key[at], tree.item[at], source)
    else:
        cursor[HEADS] = drop_top(cursor, BODY, heads)
    return number
