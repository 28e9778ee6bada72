"""Where do the nodes, blocks and entries of an IR-tree live? In three pools, from which freed parts are taken again.

Entries come in runs of 1, 2, 4, ... and at last of the fan-out: an R-tree of one interval takes one entry, not a whole
block. A run that is full is moved to one of twice its length, until it has the fan-out; then a block is split.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX

ROOT, NODES, BLOCKS, ENTRIES, FREE_NODE, FREE_BLOCK, FREE_RUN = range(7)
"""Words of `counts`: the root node; how far each pool is in use; the first free one, -1 for none. A free node has the
next one in `left`, a free block in `size`, and a free run of entries, of which each length has a list, in `key`."""

RUN_LENGTHS = 32
COUNTS = FREE_RUN + RUN_LENGTHS

SPLITS_MAX = LEVELS_MAX + 2
"""Blocks that one insertion takes at most: one for each level, a new root, and one that is moved to a longer run."""


@inline
def room_for(size, fan_out):
    """The shortest run that has so many entries."""
    room = 1
    while room < size:
        room *= 2
    return min(room, fan_out)


@inline
def run_list(room):
    """The list in which runs of this length are kept when they are free."""
    found = FREE_RUN
    while 1 << (found - FREE_RUN) < room:
        found += 1
    return found


@inline
def take_run(tree, room):
    """The first of `room` entries that are not in use."""
    free = run_list(room)
    at = tree.counts[free]
    if at >= 0:
        tree.counts[free] = tree.key[at]
        return at
    at = tree.counts[ENTRIES]
    tree.counts[ENTRIES] = at + room
    return at


@inline
def free_run(tree, at, room):
    """Give entries back."""
    free = run_list(room)
    tree.key[at] = tree.counts[free]
    tree.counts[free] = at


@inline
def new_block(tree, room, level):
    """An empty block."""
    block = tree.counts[FREE_BLOCK]
    if block >= 0:
        tree.counts[FREE_BLOCK] = tree.size[block]
    else:
        block = tree.counts[BLOCKS]
        tree.counts[BLOCKS] = block + 1
    tree.first[block] = take_run(tree, room)
    tree.size[block] = 0
    tree.room[block] = room
    tree.level[block] = level
    return block


@inline
def free_block(tree, block):
    """Give a block and its entries back."""
    free_run(tree, tree.first[block], tree.room[block])
    tree.size[block] = tree.counts[FREE_BLOCK]
    tree.counts[FREE_BLOCK] = block


@inline
def new_node(tree, centre):
    """A node without children and intervals."""
    node = tree.counts[FREE_NODE]
    if node >= 0:
        tree.counts[FREE_NODE] = tree.left[node]
    else:
        node = tree.counts[NODES]
        tree.counts[NODES] = node + 1
    tree.centre[node] = centre
    tree.left[node] = -1
    tree.right[node] = -1
    tree.root[node] = -1
    tree.weight[node] = 1
    return node


@inline
def free_node(tree, node):
    """Give a node back."""
    tree.left[node] = tree.counts[FREE_NODE]
    tree.counts[FREE_NODE] = node


@inline
def has_room(tree):
    """Is there room for an insertion, whatever it splits?"""
    counts = tree.counts
    return (
        counts[NODES] < tree.centre.size
        and counts[BLOCKS] + SPLITS_MAX <= tree.first.size
        and counts[ENTRIES] + SPLITS_MAX * tree.fan_out <= tree.low.size
    )


# links: where a node hangs


@inline
def linked(tree, link):
    """The node at a link: 2 * parent, + 1 for its right child; -1 for the root."""
    if link < 0:
        return tree.counts[ROOT]
    return np.int64(tree.right[link >> 1] if link & 1 else tree.left[link >> 1])


@inline
def set_link(tree, link, node):
    """Hang a node at a link."""
    if link < 0:
        tree.counts[ROOT] = node
    elif link & 1:
        tree.right[link >> 1] = node
    else:
        tree.left[link >> 1] = node


# entries


@inline
def copy_entry(tree, at, to):
    tree.low[to] = tree.low[at]
    tree.high[to] = tree.high[at]
    tree.key[to] = tree.key[at]
    tree.item[to] = tree.item[at]


@inline
def grow_run(tree, block, room):
    """Move the entries of a block to a longer run."""
    before, size = tree.first[block], tree.size[block]
    to = take_run(tree, room)
    for k in range(size):
        copy_entry(tree, before + k, to + k)
    free_run(tree, before, tree.room[block])
    tree.first[block] = to
    tree.room[block] = room


@inline
def open_gap(tree, block, offset):
    """Make place for an entry in a block that has room; returns where."""
    first, size = tree.first[block], tree.size[block]
    k = first + size
    while k > first + offset:
        copy_entry(tree, k - 1, k)
        k -= 1
    tree.size[block] = size + 1
    return k


@inline
def close_gap(tree, block, offset):
    """Remove an entry from a block."""
    first, size = tree.first[block], tree.size[block] - 1
    for k in range(first + offset, first + size):
        copy_entry(tree, k + 1, k)
    tree.size[block] = size


@inline
def describe(tree, block, at):
    """Write the entry of a block: its extent, and the key of its first interval."""
    first = tree.first[block]
    low, high = tree.low[first], tree.high[first]
    for k in range(first + 1, first + tree.size[block]):
        low, high = min(low, tree.low[k]), max(high, tree.high[k])
    tree.low[at] = low
    tree.high[at] = high
    tree.key[at] = tree.key[first]
    tree.item[at] = block
