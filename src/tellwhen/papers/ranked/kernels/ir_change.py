"""How does an IR-tree change? An interval comes or goes, in the R-tree of the node that has it.

The R-trees are B+-trees by (key, number) whose inner entries also have extents. A full block is split in two; one with
less than a quarter of the fan-out joins a neighbour, or takes some of its entries. So score order, extents and balance
are kept. The interval tree is balanced by weight: `changed_link` says which subtree must be built again.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import first_above
from tellwhen.papers.ranked.arrays import IRTreeArrays
from tellwhen.papers.ranked.kernels.ir_pool import (
    ROOT,
    close_gap,
    copy_entry,
    describe,
    free_block,
    grow_run,
    has_room,
    linked,
    new_block,
    new_node,
    open_gap,
    set_link,
)
from tellwhen.papers.ranked.kernels.layout import LEVELS_MAX

DONE, FULL, UNBALANCED, MISSING = range(4)
"""Why a kernel returned: all is done; a pool is full; a subtree must be built again; there is no such interval."""

BALANCED = -2
"""No link: every subtree is balanced."""

HEIGHT_MAX = LEVELS_MAX - 3
"""An R-tree of more levels, which only a fan-out below 8 can have, is built again."""


@inline
def is_unbalanced(tree, node):
    """Does one child have more than 3/4 of the weight, and 8 more? After building, none has more than 2/3."""
    bound = 3 * tree.weight[node] + 32
    left, right = tree.left[node], tree.right[node]
    return (left >= 0 and 4 * tree.weight[left] > bound) or (right >= 0 and 4 * tree.weight[right] > bound)


@inline
def changed_link(tree, low, high):
    """The link of the highest node on the way of an interval that is unbalanced, or whose R-tree is too high."""
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
        node = linked(tree, link)
    return np.int64(BALANCED)


@inline
def add_weight(tree, low, high, more):
    """Change the weights on the way of an interval."""
    node = tree.counts[ROOT]
    while node >= 0:
        tree.weight[node] += more
        if high < tree.centre[node]:
            node = np.int64(tree.left[node])
        elif low > tree.centre[node]:
            node = np.int64(tree.right[node])
        else:
            break


@inline
def find_link(tree, low, high):
    """The link of the node that has an interval, or of the place where it is missing."""
    link, node = -1, tree.counts[ROOT]
    while node >= 0:
        if high < tree.centre[node]:
            link = 2 * node
        elif low > tree.centre[node]:
            link = 2 * node + 1
        else:
            break
        node = linked(tree, link)
    return np.int64(link)


@inline
def first_number(tree, block):
    """The number of the first interval below a block."""
    while tree.level[block] > 0:
        block = tree.item[tree.first[block]]
    return tree.item[tree.first[block]]


@inline
def offset_behind(tree, block, key, number):
    """How many entries of a block are not behind (key, number)."""
    first = tree.first[block]
    at = first_above(tree.key, first, first + tree.size[block], key)
    while at > first and tree.key[at - 1] == key:
        item = tree.item[at - 1]
        if (item if tree.level[block] == 0 else first_number(tree, item)) <= number:
            break
        at -= 1
    return at - first


@inline
def descend(tree, block, key, number, stack):
    """The leaf that has, or should have, (key, number); `stack` gets the blocks above and the offsets. Returns the leaf
    and their number."""
    depth = 0
    while tree.level[block] > 0:
        offset = max(offset_behind(tree, block, key, number) - 1, 0)
        stack[2 * depth] = block
        stack[2 * depth + 1] = offset
        depth += 1
        block = np.int64(tree.item[tree.first[block] + offset])
    return block, depth


@inline
def split(tree, block):
    """Move the second half of a full block to a new one."""
    other = new_block(tree, tree.fan_out, tree.level[block])
    half = (tree.size[block] + 1) >> 1
    for k in range(half, tree.size[block]):
        copy_entry(tree, tree.first[block] + k, tree.first[other] + k - half)
    tree.size[other] = tree.size[block] - half
    tree.size[block] = half
    return other


@inline
def make_room(tree, block, size):
    """Let a block have room for so many entries, up to the fan-out."""
    room = np.int64(tree.room[block])
    while room < size:
        room = min(2 * room, np.int64(tree.fan_out))
    if room > tree.room[block]:
        grow_run(tree, block, room)


@inline
def insert_entry(tree, node, low, high, key, number, stack):
    """Insert an interval into the R-tree of a node. Splits go up as far as blocks are full."""
    if tree.root[node] < 0:
        tree.root[node] = new_block(tree, 1, 0)
    block, depth = descend(tree, np.int64(tree.root[node]), key, number, stack)
    offset = offset_behind(tree, block, key, number)
    described = np.int64(-1)  # the block whose entry is inserted; -1: the interval
    while True:
        other = np.int64(-1)
        target = block
        if tree.size[block] == tree.fan_out:
            other = split(tree, block)
            if offset > tree.size[block]:
                offset -= tree.size[block]
                target = other
        make_room(tree, target, tree.size[target] + 1)
        at = open_gap(tree, target, offset)
        if described < 0:
            tree.low[at] = low
            tree.high[at] = high
            tree.key[at] = key
            tree.item[at] = number
        else:
            describe(tree, described, at)
        if other < 0:
            break
        if depth == 0:
            top = new_block(tree, min(2, tree.fan_out), tree.level[block] + 1)
            tree.size[top] = 2
            describe(tree, block, tree.first[top])
            describe(tree, other, tree.first[top] + 1)
            tree.root[node] = top
            break
        depth -= 1
        block, offset = stack[2 * depth], stack[2 * depth + 1] + 1
        at = tree.first[block] + offset - 1
        describe(tree, np.int64(tree.item[at]), at)
        described = other
    while depth > 0:
        depth -= 1
        at = tree.first[stack[2 * depth]] + stack[2 * depth + 1]
        describe(tree, np.int64(tree.item[at]), at)


@kernel
def insert_intervals(packed, low, high, key, number, done):
    """Insert intervals from `done` on; returns how many are in, why it stopped, and the link of what is unbalanced."""
    tree = unpack(packed, IRTreeArrays)
    stack = np.empty(2 * LEVELS_MAX, dtype=np.int64)
    for i in range(done, low.size):
        if not has_room(tree):
            return i, FULL, np.int64(BALANCED)
        link = find_link(tree, low[i], high[i])
        node = linked(tree, link)
        more = 1
        if node < 0:
            node = new_node(tree, low[i])
            tree.weight[node] = 0
            set_link(tree, link, node)
            more = 2
        add_weight(tree, low[i], high[i], more)
        insert_entry(tree, node, low[i], high[i], key[i], number[i], stack)
        changed = changed_link(tree, low[i], high[i])
        if changed != BALANCED:
            return i + 1, UNBALANCED, changed
    return low.size, DONE, np.int64(BALANCED)


@inline
def join(tree, parent, offset):
    """A block has few entries: give them to a neighbour, or take some from it."""
    if tree.size[parent] < 2:
        return
    offset -= offset == tree.size[parent] - 1
    at = tree.first[parent] + offset
    left, right = np.int64(tree.item[at]), np.int64(tree.item[at + 1])
    before, total = np.int64(tree.size[left]), np.int64(tree.size[left] + tree.size[right])
    if 4 * total <= 3 * tree.fan_out:
        make_room(tree, left, total)
        for k in range(tree.size[right]):
            copy_entry(tree, tree.first[right] + k, tree.first[left] + before + k)
        tree.size[left] = total
        describe(tree, left, at)
        free_block(tree, right)
        close_gap(tree, parent, offset + 1)
        return
    half = total >> 1
    make_room(tree, left, half)
    make_room(tree, right, total - half)
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
    describe(tree, left, at)
    describe(tree, right, at + 1)


@inline
def delete_entry(tree, node, key, number, stack):
    """Delete an interval from the R-tree of a node; returns whether it was there."""
    if tree.root[node] < 0:
        return False
    block, depth = descend(tree, np.int64(tree.root[node]), key, number, stack)
    offset = offset_behind(tree, block, key, number) - 1
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
            describe(tree, block, tree.first[parent] + offset)
            if 4 * tree.size[block] < tree.fan_out:
                join(tree, parent, offset)
        block = parent
    if tree.size[block] == 0:
        free_block(tree, block)
        tree.root[node] = -1
    else:
        while tree.level[block] > 0 and tree.size[block] == 1:
            only = np.int64(tree.item[tree.first[block]])
            free_block(tree, block)
            block = only
        tree.root[node] = block
    return True


@kernel
def delete_intervals(packed, low, high, key, number, done):
    """Delete intervals from `done` on; returns how many are out, why it stopped, and the link of what is unbalanced."""
    tree = unpack(packed, IRTreeArrays)
    stack = np.empty(2 * LEVELS_MAX, dtype=np.int64)
    for i in range(done, low.size):
        if not has_room(tree):  # a block that takes entries from its neighbour may need a longer run
            return i, FULL, np.int64(BALANCED)
        node = linked(tree, find_link(tree, low[i], high[i]))
        if node < 0 or not delete_entry(tree, node, key[i], number[i], stack):
            return i, MISSING, np.int64(BALANCED)
        add_weight(tree, low[i], high[i], -1)
        changed = changed_link(tree, low[i], high[i])
        if changed != BALANCED:
            return i + 1, UNBALANCED, changed
    return low.size, DONE, np.int64(BALANCED)
