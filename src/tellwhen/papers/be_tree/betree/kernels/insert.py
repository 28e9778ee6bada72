"""Kernels that insert conjunctions and divide l-nodes that overflow (BE-Tree, Algorithms 3, 4 and 6)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.kernels.nodes import (
    clear_leaf,
    create_cnode,
    find_table_position,
    get_predicate_on,
    has_room,
    push_cnode,
    put_conjunction,
)
from tellwhen.papers.be_tree.betree.kernels.partition import partition_leaf


@inline
def get_enclosing_half(nodes, c, low, high):
    """Return the half of a split bucket that encloses low..high, created if needed; -1 if neither half does."""
    node = nodes.cnodes[c]
    middle = (node.low + node.high) // 2
    if low <= middle < high:
        return -1
    is_left = high <= middle
    half = node.left if is_left else node.right
    if half < 0:
        half = create_cnode(nodes)
        bucket = nodes.cnodes[half]
        bucket.domain, bucket.whole, bucket.pnode = node.domain, c, node.pnode
        if is_left:
            bucket.low, bucket.high, node.left = node.low, middle, half
        else:
            bucket.low, bucket.high, node.right = middle + 1, node.high, half
    return half


@inline
def split_bucket(nodes, conjunctions, predicates, c):
    """Split a bucket into halves, and move each conjunction into the half that encloses it."""
    node, bounds = nodes.cnodes[c], predicates.bounds
    node.is_split, node.capacity = 1, nodes.state[0].max_cap
    conjunction = clear_leaf(nodes, c)
    while conjunction >= 0:
        following = conjunctions.next[conjunction]
        p = get_predicate_on(conjunctions, predicates, conjunction, node.domain)
        half = get_enclosing_half(nodes, c, bounds.low[p], bounds.high[p])
        if half >= 0:
            nodes.cnodes[half].size += 1
            put_conjunction(nodes, conjunctions, half, conjunction)
        else:
            put_conjunction(nodes, conjunctions, c, conjunction)
        conjunction = following
    for half in (node.left, node.right):
        if half >= 0:
            push_cnode(nodes, half)


@inline
def divide_overflowing(nodes, conjunctions, predicates, marks):
    """Divide every c-node on the stack whose l-node overflows (Algorithm 6); returns False if there is no room for it.

    By the forced split rule, a bucket of several values is split before its c-node is partitioned.
    """
    state = nodes.state[0]
    while state.waiting > 0:
        c = np.int64(nodes.stack[state.waiting - 1])
        node = nodes.cnodes[c]
        if node.count > node.capacity:
            # Each new p-node takes at least min_size conjunctions, and has a domain of its own.
            if not has_room(nodes, min(node.count // state.min_size, marks.group.size)):
                return False
            state.waiting -= 1
            if node.pnode >= 0 and not node.is_split and node.low < node.high:
                split_bucket(nodes, conjunctions, predicates, c)
            if node.count > node.capacity:
                partition_leaf(nodes, conjunctions, predicates, marks, c)
        else:
            state.waiting -= 1
    return True


@inline
def compute_score(nodes, p):
    """Return the score of a p-node: its gain, which is the number of conjunctions below, minus its loss."""
    return nodes.cnodes[nodes.pnodes[p].top].size - nodes.pnodes[p].loss


@inline
def choose_pnode(nodes, conjunctions, predicates, c, conjunction):
    """Return the p-node of the highest score among a c-node's p-nodes on domains of the conjunction; -1 for none.

    No p-node is on a domain of the path to its c-node, so no domain is used twice on a path.
    """
    best, highest = -1, 0
    if nodes.cnodes[c].directory >= 0:
        for i in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
            domain = predicates.domain[conjunctions.predicate[i]]
            p = nodes.table[find_table_position(nodes, c, domain)] - 1
            if p >= 0:
                score = compute_score(nodes, p)
                if best < 0 or score > highest:
                    best, highest = p, score
    return best


@inline
def find_smallest_bucket(nodes, c, low, high):
    """Return the smallest bucket from c down that encloses low..high (the insertion rule).

    Adds one to the sizes of the buckets, and counts a change.
    """
    while True:
        nodes.cnodes[c].size += 1
        nodes.cnodes[c].changes += 1
        half = -1
        if nodes.cnodes[c].is_split:
            half = get_enclosing_half(nodes, c, low, high)
        if half < 0:
            return c
        c = half


@kernel
def insert_conjunctions(nodes, conjunctions, predicates, marks, numbers, done):
    """Insert the conjunctions numbers[done:] one by one; returns how many of `numbers` are inserted.

    The kernel stops early when the arrays of the nodes are full. Then conjunctions are left, or c-nodes on the stack.
    Called again with longer arrays, the kernel continues there.
    """
    bounds = predicates.bounds
    while divide_overflowing(nodes, conjunctions, predicates, marks) and done < numbers.size and has_room(nodes, 0):
        conjunction = numbers[done]
        c = np.int64(0)
        nodes.cnodes[c].size += 1
        while True:
            best = choose_pnode(nodes, conjunctions, predicates, c, conjunction)
            if best < 0:
                break
            p = get_predicate_on(conjunctions, predicates, conjunction, nodes.pnodes[best].domain)
            c = find_smallest_bucket(nodes, np.int64(nodes.pnodes[best].top), bounds.low[p], bounds.high[p])
        put_conjunction(nodes, conjunctions, c, conjunction)
        nodes.cnodes[c].leaf_changes += 1
        push_cnode(nodes, c)
        done += 1
    return done


@kernel
def fill_root(nodes, conjunctions, numbers):
    """Put all conjunctions into the root of an empty tree; `insert_conjunctions` then partitions the root (BE-B)."""
    for conjunction in numbers:
        put_conjunction(nodes, conjunctions, 0, conjunction)
    nodes.cnodes[0].size += numbers.size
    push_cnode(nodes, 0)
