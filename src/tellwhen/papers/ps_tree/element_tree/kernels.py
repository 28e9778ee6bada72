"""Kernels of an element tree: locate a value, split and merge leaf nodes (PS-Tree, sections 4.1 to 4.4).

Indexes on the way to a value are unsigned: Numba tests every signed one for being negative, which takes half of the
time.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ps_tree.element_tree.arrays import (
    BEGINS,
    CELL,
    CELLS,
    COUNT,
    COVERS,
    ENDS,
    HEAD,
    LEAVES,
    NEED,
    NEXT,
    NODES,
    NUMBER,
    VALUES,
    E,
    ElementTreeArrays,
    G,
    L,
)

# locating


@inline
def make_key(tree, point):
    """Return the distance of a point from the least value of the domain."""
    return np.uint64(point) + (np.uint64(1) << tree.shift[np.uint64(0)])  # wraps around


@inline
def get_element(tree, key, k):
    """Return element k of a key."""
    return (key >> tree.shift[np.uint64(k)]) & tree.mask[np.uint64(k)]


@inline
def get_child(tree, node, element):
    return tree.children[np.uint64(node), np.uint64(element)]


@inline
def find_value(tree, key):
    """Follow the elements of a key to the row of its value; return 0 if the value is absent."""
    node = get_child(tree, 0, get_element(tree, key, 0))
    for k in range(1, tree.shift.size):
        if node == 0:
            break
        node = get_child(tree, node, get_element(tree, key, k))
    return node


@inline
def trace_path(tree, key):
    """Fill `tree.path` with the inner nodes on the way to a key; return the index of the last one."""
    node = np.int32(0)
    for k in range(tree.shift.size):
        tree.path[np.uint64(k)] = node
        node = get_child(tree, node, get_element(tree, key, k))
        if node == 0:
            return k
    return tree.shift.size - 1


@inline
def find_next_value(tree, key):
    """Return the row of the least value above a key, or 0, the root. Calls `trace_path`.

    The search climbs until a node has a child on the right of the way (the paper's GetRNode), and descends from that
    child on the left (GetLNode).
    """
    for k in range(trace_path(tree, key), -1, -1):
        for element in range(get_element(tree, key, k) + np.uint64(1), np.uint64(tree.children.shape[1])):
            node = get_child(tree, tree.path[np.uint64(k)], element)
            if node:
                for _ in range(k + 1, tree.shift.size):
                    first = np.uint64(0)
                    while get_child(tree, node, first) == 0:
                        first += np.uint64(1)
                    node = get_child(tree, node, first)
                return node
    return np.int32(0)


@inline
def find_leaf(tree, point):
    """Return the leaf node whose space has the point (MatchPair, Algorithm 3)."""
    key = make_key(tree, point)
    value = find_value(tree, key)
    if value:
        return tree.values[np.uint64(value), E]
    return tree.values[np.uint64(find_next_value(tree, key)), L]


@kernel
def locate_leaves(tree, points, leaves):
    """Fill `leaves` with the leaf node of every point."""
    tree = borrow(tree, ElementTreeArrays)
    for i in range(points.size):
        leaves[i] = find_leaf(tree, points[i])


# rows


@inline
def take_row(tree, rows, pool):
    """Return a spare row, filled with zeros."""
    row = np.int32(tree.spare[pool, HEAD])
    tree.spare[pool, HEAD] = rows[row, 0]
    tree.spare[pool, COUNT] -= 1
    for k in range(rows.shape[1]):
        rows[row, k] = 0
    return row


@inline
def give_row_back(tree, rows, pool, row):
    rows[row, 0] = tree.spare[pool, HEAD]
    tree.spare[pool, HEAD] = row
    tree.spare[pool, COUNT] += 1


@inline
def push_number(tree, leaf, number):
    """Add an interval to the front of the list of a leaf node."""
    cell = take_row(tree, tree.cells, CELLS)
    tree.cells[cell, NUMBER], tree.cells[cell, NEXT] = number, tree.leaves[leaf, CELL]
    tree.leaves[leaf, CELL] = cell


@inline
def drop_number(tree, leaf, number):
    """Remove an interval from the list of a leaf node."""
    before, cell = np.int32(0), tree.leaves[leaf, CELL]
    while tree.cells[cell, NUMBER] != number:
        before, cell = cell, tree.cells[cell, NEXT]
    if before:
        tree.cells[before, NEXT] = tree.cells[cell, NEXT]
    else:
        tree.leaves[leaf, CELL] = tree.cells[cell, NEXT]
    give_row_back(tree, tree.cells, CELLS, cell)


@inline
def copy_leaf(tree, leaf):
    """Return a new leaf node with the counter and the list of another one."""
    copy = take_row(tree, tree.leaves, LEAVES)
    tree.leaves[copy, COVERS] = tree.leaves[leaf, COVERS]
    cell = tree.leaves[leaf, CELL]
    while cell:
        push_number(tree, copy, tree.cells[cell, NUMBER])
        cell = tree.cells[cell, NEXT]
    return copy


@inline
def drop_leaf(tree, leaf):
    """Remove a leaf node and its list."""
    cell = tree.leaves[leaf, CELL]
    while cell:
        after = tree.cells[cell, NEXT]
        give_row_back(tree, tree.cells, CELLS, cell)
        cell = after
    give_row_back(tree, tree.leaves, LEAVES, leaf)


# inserting


@inline
def reserve_value(tree, key):
    """Return the row of a value, which is added with its inner nodes if it is absent (Partition, Algorithm 2)."""
    value = find_value(tree, key)
    if value:
        return value
    leaf = tree.values[find_next_value(tree, key), L]
    last = tree.shift.size - 1
    for k in range(trace_path(tree, key), last):
        tree.path[k + 1] = take_row(tree, tree.children, NODES)
        tree.children[tree.path[k], get_element(tree, key, k)] = tree.path[k + 1]
    value = take_row(tree, tree.values, VALUES)
    tree.children[tree.path[last], get_element(tree, key, last)] = value
    tree.values[value, L] = tree.values[value, E] = tree.values[value, G] = leaf
    return value


@inline
def split_at(tree, point, side):
    """Make a border between spaces directly below a point if `side` is L, or directly above it if `side` is G.

    There may be one already. Returns the row of the value. The paper calls this PartitionLeafNode.
    """
    key = make_key(tree, point)
    value = reserve_value(tree, key)
    below, leaf, above = tree.values[value, L], tree.values[value, E], tree.values[value, G]
    if leaf != (below if side == L else above):
        return value
    fresh = copy_leaf(tree, leaf)
    if below == above:  # the value has no other border: the fresh leaf node is the upper part, up to the next value
        tree.values[value, G] = fresh
        if side == L:
            tree.values[value, E] = fresh
        move_upper_links(tree, find_next_value(tree, key), below, fresh)
        tree.leaves[fresh, NEXT] = tree.leaves[below, NEXT]
    else:  # the value has the other border: the fresh leaf node is the space of the point alone
        tree.values[value, E] = fresh
        tree.leaves[fresh, NEXT] = above
    tree.leaves[below, NEXT] = fresh
    return value


@inline
def move_upper_links(tree, value, old_leaf, leaf):
    """Link the value above a space to `leaf`, the new leaf node of the space."""
    if tree.values[value, E] == old_leaf:
        tree.values[value, E] = leaf
    tree.values[value, L] = leaf


@inline
def find_least_and_greatest(tree):
    """Return the least and the greatest value of the domain."""
    half = np.int64((np.uint64(1) << tree.shift[0]) - np.uint64(1))
    return -half - 1, half


@inline
def count_leaves(tree, first, last):
    count = 1
    while first != last:
        first = tree.leaves[first, NEXT]
        count += 1
    return count


@inline
def has_room(tree, low, high):
    """Return whether there are spare rows to split the spaces at both ends of an interval; store the number needed."""
    spare = tree.spare
    spare[NODES, NEED], spare[VALUES, NEED], spare[LEAVES, NEED] = 2 * tree.shift.size, 2, 2
    spare[CELLS, NEED] = tree.leaves[find_leaf(tree, low), COVERS] + tree.leaves[find_leaf(tree, high), COVERS]
    for pool in range(spare.shape[0]):
        if spare[pool, COUNT] < spare[pool, NEED]:
            return False
    return True


@kernel
def insert_intervals(tree, low, high, number, done):
    """Insert the intervals from `done` on (InsertPredicate, Algorithm 1).

    Return the first interval for which there are too few spare rows, or the number of intervals.
    """
    tree = borrow(tree, ElementTreeArrays)
    least, greatest = find_least_and_greatest(tree)
    for i in range(done, low.size):
        if not has_room(tree, low[i], high[i]):
            return i
        begin = split_at(tree, low[i], L) if low[i] != least else np.int32(0)
        end = split_at(tree, high[i], G) if high[i] != greatest else np.int32(0)
        leaf, last = tree.values[begin, E if begin else G], tree.values[end, E if end else L]
        tree.spare[CELLS, NEED] = count_leaves(tree, leaf, last)
        if tree.spare[CELLS, COUNT] < tree.spare[CELLS, NEED]:
            return i  # the spaces are split already; splitting them again does nothing
        tree.values[begin, BEGINS] += 1
        tree.values[end, ENDS] += 1
        while True:
            tree.leaves[leaf, COVERS] += 1
            push_number(tree, leaf, number[i])
            if leaf == last:
                break
            leaf = tree.leaves[leaf, NEXT]
    return low.size


# deleting


@inline
def merge_at(tree, point, side):
    """Remove the border below a value if `side` is L, or above it if `side` is G, and merge the spaces there.

    Drop the value if it has no other border.
    """
    key = make_key(tree, point)
    value = find_value(tree, key)
    below, leaf, above = tree.values[value, L], tree.values[value, E], tree.values[value, G]
    if below != leaf and leaf != above:  # the space of the point alone
        tree.values[value, E] = below if side == L else above
        tree.leaves[below, NEXT] = above
        drop_leaf(tree, leaf)
    else:
        move_upper_links(tree, find_next_value(tree, key), above, below)
        tree.leaves[below, NEXT] = tree.leaves[above, NEXT]
        drop_leaf(tree, above)
        drop_value(tree, key, value)


@inline
def drop_value(tree, key, value):
    """Remove a value, and the inner nodes that then have no child."""
    give_row_back(tree, tree.values, VALUES, value)
    for k in range(tree.shift.size - 1, -1, -1):
        tree.children[tree.path[k], get_element(tree, key, k)] = 0
        if k == 0 or tree.children[tree.path[k]].any():
            break
        give_row_back(tree, tree.children, NODES, tree.path[k])


@kernel
def delete_intervals(tree, low, high, number):
    """Delete intervals that were inserted (DeletePredicate, section 4.4)."""
    tree = borrow(tree, ElementTreeArrays)
    least, greatest = find_least_and_greatest(tree)
    for i in range(low.size):
        begin = find_value(tree, make_key(tree, low[i])) if low[i] != least else np.int32(0)
        end = find_value(tree, make_key(tree, high[i])) if high[i] != greatest else np.int32(0)
        leaf, last = tree.values[begin, E if begin else G], tree.values[end, E if end else L]
        while True:
            tree.leaves[leaf, COVERS] -= 1
            drop_number(tree, leaf, number[i])
            if leaf == last:
                break
            leaf = tree.leaves[leaf, NEXT]
        tree.values[begin, BEGINS] -= 1
        tree.values[end, ENDS] -= 1
        if begin and tree.values[begin, BEGINS] == 0:
            merge_at(tree, low[i], L)
        if end and tree.values[end, ENDS] == 0:
            merge_at(tree, high[i], G)
