"""Kernels that insert intervals into an IR-tree and delete them, in the R-tree of the node that has the interval.

The R-trees are B+-trees by (key, number) whose inner entries also have extents. A full block is split in two; one with
less than a quarter of the fan-out joins a neighbour, or takes some of its entries. So score order, extents and balance
are kept. The interval tree is balanced by weight: `find_link_to_rebuild` finds the subtree that must be rebuilt.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above
from tellwhen.papers.ranked.arrays import IRTreeArrays
from tellwhen.papers.ranked.kernels.ir_pool import (
    ROOT,
    allocate_block,
    allocate_node,
    close_gap,
    copy_entry,
    follow_link,
    free_block,
    grow_run,
    has_room_for_insertion,
    open_gap,
    set_link,
    write_block_entry,
)
from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX

DONE, FULL, UNBALANCED, MISSING = range(4)
"""Why a kernel returned: all is done; a pool is full; a subtree must be rebuilt; an interval to delete is missing."""

BALANCED = -2
"""Return value in place of a link: every subtree is balanced."""

HEIGHT_MAX = LEVELS_MAX - 3
"""Most levels of an R-tree. A higher one, which needs a fan-out below 8, is rebuilt."""


@inline
def is_unbalanced(tree, node):
    """Return whether one child has more than 3/4 of the node's weight, and 8 more.

    After a rebuild none has more than 2/3.
    """
    bound = 3 * tree.weight[node] + 32
    left, right = tree.left[node], tree.right[node]
    return (left >= 0 and 4 * tree.weight[left] > bound) or (right >= 0 and 4 * tree.weight[right] > bound)


@inline
def find_link_to_rebuild(tree, low, high):
    """Return the link of the highest node on the path of an interval that must be rebuilt, or BALANCED.

    A node must be rebuilt if it is unbalanced or its R-tree is too high.
    """
    link, node = -1, tree.counts[ROOT]
    while node >= 0:
        if is_unbalanced(tree, node):
            return link
        if tree.root[node] >= 0 and tree.level[tree.root[node]] > HEIGHT_MAX:
            return link
        if high < tree.centre[node]:
            link = 2 * node
        elif low > tree.centre[node]:
            link = 2 * node + 1
        else:
            break
        node = follow_link(tree, link)
    return np.int64(BALANCED)


@inline
def add_weight_on_path(tree, low, high, change):
    """Add `change` to the weights of all nodes on the path of an interval."""
    node = tree.counts[ROOT]
    while node >= 0:
        tree.weight[node] += change
        if high < tree.centre[node]:
            node = np.int64(tree.left[node])
        elif low > tree.centre[node]:
            node = np.int64(tree.right[node])
        else:
            break


@inline
def find_link(tree, low, high):
    """Return the link of the node for an interval, which may not exist yet."""
    link, node = -1, tree.counts[ROOT]
    while node >= 0:
        if high < tree.centre[node]:
            link = 2 * node
        elif low > tree.centre[node]:
            link = 2 * node + 1
        else:
            break
        node = follow_link(tree, link)
    return np.int64(link)


@inline
def find_first_number(tree, block):
    """Return the number of the first interval below a block."""
    while tree.level[block] > 0:
        block = tree.item[tree.first[block]]
    return tree.item[tree.first[block]]


@inline
def find_insertion_offset(tree, block, key, number):
    """Return the number of entries in a block that are not behind (key, number)."""
    first = tree.first[block]
    at = find_first_above(tree.key, first, first + tree.size[block], key)
    while at > first and tree.key[at - 1] == key:
        item = tree.item[at - 1]
        if (item if tree.level[block] == 0 else find_first_number(tree, item)) <= number:
            break
        at -= 1
    return at - first


@inline
def descend_to_leaf(tree, block, key, number, stack):
    """Return the leaf for (key, number), and the number of blocks above it.

    `stack` gets the blocks above, each with the offset of the entry that leads down.
    """
    depth = 0
    while tree.level[block] > 0:
        offset = max(find_insertion_offset(tree, block, key, number) - 1, 0)
        stack[2 * depth] = block
        stack[2 * depth + 1] = offset
        depth += 1
        block = np.int64(tree.item[tree.first[block] + offset])
    return block, depth


@inline
def split_block(tree, block):
    """Move the second half of a full block to a new block; return the new block."""
    other = allocate_block(tree, tree.fan_out, tree.level[block])
    half = (tree.size[block] + 1) >> 1
    for k in range(half, tree.size[block]):
        copy_entry(tree, tree.first[block] + k, tree.first[other] + k - half)
    tree.size[other] = tree.size[block] - half
    tree.size[block] = half
    return other


@inline
def grow_block(tree, block, size):
    """Grow the capacity of a block to at least `size` entries, up to the fan-out."""
    capacity = np.int64(tree.capacity[block])
    while capacity < size:
        capacity = min(2 * capacity, np.int64(tree.fan_out))
    if capacity > tree.capacity[block]:
        grow_run(tree, block, capacity)


@inline
def insert_interval(tree, node, low, high, key, number, stack):
    """Insert an interval into the R-tree of a node. Splits go up as far as blocks are full."""
    if tree.root[node] < 0:
        tree.root[node] = allocate_block(tree, 1, 0)
    block, depth = descend_to_leaf(tree, np.int64(tree.root[node]), key, number, stack)
    offset = find_insertion_offset(tree, block, key, number)
    new_block = np.int64(-1)  # the block whose entry is inserted; -1: the interval
    while True:
        other = np.int64(-1)
        target = block
        if tree.size[block] == tree.fan_out:
            other = split_block(tree, block)
            if offset > tree.size[block]:
                offset -= tree.size[block]
                target = other
        grow_block(tree, target, tree.size[target] + 1)
        at = open_gap(tree, target, offset)
        if new_block < 0:
            tree.low[at] = low
            tree.high[at] = high
            tree.key[at] = key
            tree.item[at] = number
        else:
            write_block_entry(tree, new_block, at)
        if other < 0:
            break
        if depth == 0:
            top = allocate_block(tree, min(2, tree.fan_out), tree.level[block] + 1)
            tree.size[top] = 2
            write_block_entry(tree, block, tree.first[top])
            write_block_entry(tree, other, tree.first[top] + 1)
            tree.root[node] = top
            break
        depth -= 1
        block, offset = stack[2 * depth], stack[2 * depth + 1] + 1
        at = tree.first[block] + offset - 1
        write_block_entry(tree, np.int64(tree.item[at]), at)
        new_block = other
    while depth > 0:
        depth -= 1
        at = tree.first[stack[2 * depth]] + stack[2 * depth + 1]
        write_block_entry(tree, np.int64(tree.item[at]), at)


@kernel
def insert_intervals(packed, low, high, key, number, done):
    """Insert the intervals from index `done` on.

    Returns the number of inserted intervals, the reason why the kernel stopped, and the link of the subtree to rebuild.
    """
    tree = unpack(packed, IRTreeArrays)
    stack = np.empty(2 * LEVELS_MAX, dtype=np.int64)
    for i in range(done, low.size):
        if not has_room_for_insertion(tree):
            return i, FULL, np.int64(BALANCED)
        link = find_link(tree, low[i], high[i])
        node = follow_link(tree, link)
        weight = 1
        if node < 0:
            node = allocate_node(tree, low[i])
            tree.weight[node] = 0
            set_link(tree, link, node)
            weight = 2
        add_weight_on_path(tree, low[i], high[i], weight)
        insert_interval(tree, node, low[i], high[i], key[i], number[i], stack)
        unbalanced_link = find_link_to_rebuild(tree, low[i], high[i])
        if unbalanced_link != BALANCED:
            return i + 1, UNBALANCED, unbalanced_link
    return low.size, DONE, np.int64(BALANCED)


@inline
def merge_or_balance(tree, parent, offset):
    """Refill the child at `offset` of a block, which has few entries, with the help of a neighbour.

    Merge the two into one block, or divide their entries evenly.
    """
    if tree.size[parent] < 2:
        return
    offset -= offset == tree.size[parent] - 1
    at = tree.first[parent] + offset
    left, right = np.int64(tree.item[at]), np.int64(tree.item[at + 1])
    before, total = np.int64(tree.size[left]), np.int64(tree.size[left] + tree.size[right])
    if 4 * total <= 3 * tree.fan_out:
        grow_block(tree, left, total)
        for k in range(tree.size[right]):
            copy_entry(tree, tree.first[right] + k, tree.first[left] + before + k)
        tree.size[left] = total
        write_block_entry(tree, left, at)
        free_block(tree, right)
        close_gap(tree, parent, offset + 1)
        return
    half = total >> 1
    grow_block(tree, left, half)
    grow_block(tree, right, total - half)
    a, b = tree.first[left], tree.first[right]
    if before < half:
        moved = half - before
        for k in range(moved):
            copy_entry(tree, b + k, a + before + k)
        for k in range(total - half):
            copy_entry(tree, b + moved + k, b + k)
    else:
        moved = before - half
        k = total - before - 1
        while k >= 0:
            copy_entry(tree, b + k, b + k + moved)
            k -= 1
        for k in range(moved):
            copy_entry(tree, a + half + k, b + k)
    tree.size[left] = half
    tree.size[right] = total - half
    write_block_entry(tree, left, at)
    write_block_entry(tree, right, at + 1)


@inline
def delete_interval(tree, node, key, number, stack):
    """Delete an interval from the R-tree of a node; return whether the R-tree had it."""
    if tree.root[node] < 0:
        return False
    block, depth = descend_to_leaf(tree, np.int64(tree.root[node]), key, number, stack)
    offset = find_insertion_offset(tree, block, key, number) - 1
    at = tree.first[block] + offset
    if offset < 0 or tree.key[at] != key or tree.item[at] != number:
        return False
    close_gap(tree, block, offset)
    while depth > 0:
        depth -= 1
        parent, offset = stack[2 * depth], stack[2 * depth + 1]
        if tree.size[block] == 0:
            free_block(tree, block)
            close_gap(tree, parent, offset)
        else:
            write_block_entry(tree, block, tree.first[parent] + offset)
            if 4 * tree.size[block] < tree.fan_out:
                merge_or_balance(tree, parent, offset)
        block = parent
    if tree.size[block] == 0:
        free_block(tree, block)
        tree.root[node] = -1
    else:
        while tree.level[block] > 0 and tree.size[block] == 1:
            only_child = np.int64(tree.item[tree.first[block]])
            free_block(tree, block)
            block = only_child
        tree.root[node] = block
    return True


@kernel
def delete_intervals(packed, low, high, key, number, done):
    """Delete the intervals from index `done` on.

    Returns the number of deleted intervals, the reason why the kernel stopped, and the link of the subtree to rebuild.
    """
    tree = unpack(packed, IRTreeArrays)
    stack = np.empty(2 * LEVELS_MAX, dtype=np.int64)
    for i in range(done, low.size):
        if not has_room_for_insertion(tree):  # a block that takes entries from its neighbour may need a longer run
            return i, FULL, np.int64(BALANCED)
        node = follow_link(tree, find_link(tree, low[i], high[i]))
        if node < 0 or not delete_interval(tree, node, key[i], number[i], stack):
            return i, MISSING, np.int64(BALANCED)
        add_weight_on_path(tree, low[i], high[i], -1)
        unbalanced_link = find_link_to_rebuild(tree, low[i], high[i])
        if unbalanced_link != BALANCED:
            return i + 1, UNBALANCED, unbalanced_link
    return low.size, DONE, np.int64(BALANCED)
