"""Pools of the nodes, blocks and entries of an IR-tree, with lists of the free ones.

Entries are allocated in runs of 1, 2, 4, ... and at last of the fan-out, so an R-tree of one interval takes one entry,
not a whole block. The entries of a full run move to a run of twice the length. A block whose run has the fan-out is
split.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX

ROOT, NODES, BLOCKS, ENTRIES, FREE_NODE, FREE_BLOCK, FREE_RUN = range(7)
"""Words of `counts`.

ROOT: the root node. NODES, BLOCKS, ENTRIES: the used length of each pool. FREE_NODE, FREE_BLOCK, FREE_RUN: the first
element of each free list, or -1; there is one FREE_RUN for each run length. A free node has the next one in `left`, a
free block in `size`, a free run in `key`.
"""

RUN_LENGTHS = 32
COUNTS = FREE_RUN + RUN_LENGTHS

SPLITS_MAX = LEVELS_MAX + 2
"""Most blocks that one insertion allocates: one for each level, a new root, and one that moves to a longer run."""


@inline
def choose_run_length(size, fan_out):
    """Return the length of the shortest run for `size` entries."""
    length = 1
    while length < size:
        length *= 2
    return min(length, fan_out)


@inline
def find_free_list(length):
    """Return the index in `counts` of the list of free runs of this length."""
    free_list = FREE_RUN
    while 1 << (free_list - FREE_RUN) < length:
        free_list += 1
    return free_list


@inline
def allocate_run(tree, length):
    """Allocate a run of `length` entries; return its first entry."""
    free_list = find_free_list(length)
    at = tree.counts[free_list]
    if at >= 0:
        tree.counts[free_list] = tree.key[at]
        return at
    at = tree.counts[ENTRIES]
    tree.counts[ENTRIES] = at + length
    return at


@inline
def free_run(tree, at, length):
    """Put a run of entries into the list of free runs."""
    free_list = find_free_list(length)
    tree.key[at] = tree.counts[free_list]
    tree.counts[free_list] = at


@inline
def allocate_block(tree, capacity, level):
    """Allocate an empty block with a run of `capacity` entries."""
    block = tree.counts[FREE_BLOCK]
    if block >= 0:
        tree.counts[FREE_BLOCK] = tree.size[block]
    else:
        block = tree.counts[BLOCKS]
        tree.counts[BLOCKS] = block + 1
    tree.first[block] = allocate_run(tree, capacity)
    tree.size[block] = 0
    tree.capacity[block] = capacity
    tree.level[block] = level
    return block


@inline
def free_block(tree, block):
    """Put a block and its entries into the free lists."""
    free_run(tree, tree.first[block], tree.capacity[block])
    tree.size[block] = tree.counts[FREE_BLOCK]
    tree.counts[FREE_BLOCK] = block


@inline
def allocate_node(tree, centre):
    """Allocate a node without children and intervals."""
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
    """Put a node into the list of free nodes."""
    tree.left[node] = tree.counts[FREE_NODE]
    tree.counts[FREE_NODE] = node


@inline
def has_room_for_insertion(tree):
    """Return whether the pools have room for an insertion, with all splits that it may cause."""
    counts = tree.counts
    return (
        counts[NODES] < tree.centre.size
        and counts[BLOCKS] + SPLITS_MAX <= tree.first.size
        and counts[ENTRIES] + SPLITS_MAX * tree.fan_out <= tree.low.size
    )


# links: where a node hangs


@inline
def follow_link(tree, link):
    """Return the node at a link. A link is 2 * parent, + 1 for the right child, or -1 for the root."""
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
def copy_entry(tree, source, target):
    tree.low[target] = tree.low[source]
    tree.high[target] = tree.high[source]
    tree.key[target] = tree.key[source]
    tree.item[target] = tree.item[source]


@inline
def grow_run(tree, block, length):
    """Move the entries of a block to a longer run."""
    before, size = tree.first[block], tree.size[block]
    to = allocate_run(tree, length)
    for k in range(size):
        copy_entry(tree, before + k, to + k)
    free_run(tree, before, tree.capacity[block])
    tree.first[block] = to
    tree.capacity[block] = length


@inline
def open_gap(tree, block, offset):
    """Shift the entries of a block from `offset` on by one; return the entry that becomes free."""
    first, size = tree.first[block], tree.size[block]
    k = first + size
    while k > first + offset:
        copy_entry(tree, k - 1, k)
        k -= 1
    tree.size[block] = size + 1
    return k


@inline
def close_gap(tree, block, offset):
    """Remove the entry at `offset` from a block."""
    first, size = tree.first[block], tree.size[block] - 1
    for k in range(first + offset, first + size):
        copy_entry(tree, k + 1, k)
    tree.size[block] = size


@inline
def write_block_entry(tree, block, at):
    """Write the entry of a block to entry `at`: its extent, the key of its first interval, and its number."""
    first = tree.first[block]
    low, high = tree.low[first], tree.high[first]
    for k in range(first + 1, first + tree.size[block]):
        low, high = min(low, tree.low[k]), max(high, tree.high[k])
    tree.low[at] = low
    tree.high[at] = high
    tree.key[at] = tree.key[first]
    tree.item[at] = block
