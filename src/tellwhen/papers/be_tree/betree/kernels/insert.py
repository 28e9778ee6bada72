"""Where does a conjunction go, and what happens to an l-node that overflows? (BE-Tree, Algorithms 3, 4 and 6.)"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.kernels.nodes import (
    clear_leaf,
    has_room,
    new_cnode,
    predicate_on,
    push,
    put,
    table_position,
)
from tellwhen.papers.be_tree.betree.kernels.partition import partition


@inline
def half_that_encloses(nodes, c, low, high):
    """The half of a split bucket that encloses low..high, created if it is not there; -1 if neither half does."""
    node = nodes.cnodes[c]
    middle = (node.low + node.high) // 2
    if low <= middle < high:
        return -1
    is_left = high <= middle
    half = node.left if is_left else node.right
    if half < 0:
        half = new_cnode(nodes)
        bucket = nodes.cnodes[half]
        bucket.domain, bucket.whole, bucket.pnode = node.domain, c, node.pnode
        if is_left:
            bucket.low, bucket.high, node.left = node.low, middle, half
        else:
            bucket.low, bucket.high, node.right = middle + 1, node.high, half
    return half


@inline
def split(nodes, conjunctions, predicates, c):
    """Split a bucket in halves, each of which takes the conjunctions that it encloses."""
    node, bounds = nodes.cnodes[c], predicates.bounds
    node.is_split, node.capacity = 1, nodes.state[0].max_cap
    conjunction = clear_leaf(nodes, c)
    while conjunction >= 0:
        following = conjunctions.next[conjunction]
        p = predicate_on(conjunctions, predicates, conjunction, node.domain)
        half = half_that_encloses(nodes, c, bounds.low[p], bounds.high[p])
        if half >= 0:
            nodes.cnodes[half].size += 1
            put(nodes, conjunctions, half, conjunction)
        else:
            put(nodes, conjunctions, c, conjunction)
        conjunction = following
    for half in (node.left, node.right):
        if half >= 0:
            push(nodes, half)


@inline
def relieve(nodes, conjunctions, predicates, marks):
    """Space clustering (Algorithm 6) of every c-node on the stack; returns False if there is no room for that.

    The forced split rule: a bucket of several values is split before its c-node is partitioned.
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
                split(nodes, conjunctions, predicates, c)
            if node.count > node.capacity:
                partition(nodes, conjunctions, predicates, marks, c)
        else:
            state.waiting -= 1
    return True


@inline
def best_pnode(nodes, conjunctions, predicates, c, conjunction):
    """Of a c-node's p-nodes on domains of the conjunction, the one of the highest score; -1 if there is none.

    The score is what a p-node has, less what it costs. No p-node is on a domain of the path to its c-node, so a domain
    that was used before is not found again.
    """
    best, highest = -1, 0
    if nodes.cnodes[c].directory >= 0:
        for i in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
            domain = predicates.domain[conjunctions.predicate[i]]
            p = nodes.table[table_position(nodes, c, domain)] - 1
            if p >= 0:
                score = nodes.cnodes[nodes.pnodes[p].top].size - nodes.pnodes[p].loss
                if best < 0 or score > highest:
                    best, highest = p, score
    return best


@inline
def smallest_bucket(nodes, c, low, high):
    """The insertion rule: the smallest bucket that encloses low..high, from c down. The sizes there grow by one."""
    while True:
        nodes.cnodes[c].size += 1
        half = -1
        if nodes.cnodes[c].is_split:
            half = half_that_encloses(nodes, c, low, high)
        if half < 0:
            return c
        c = half


@kernel
def insert(nodes, conjunctions, predicates, marks, numbers, done):
    """Insert the conjunctions numbers[done:] one by one; returns how many of `numbers` are in.

    It stops early when the arrays of the nodes are full. Then not all are in, or some c-nodes are still on the stack;
    called again with longer arrays, it goes on from there.
    """
    bounds = predicates.bounds
    while relieve(nodes, conjunctions, predicates, marks) and done < numbers.size and has_room(nodes, 0):
        conjunction = numbers[done]
        c = np.int64(0)
        nodes.cnodes[c].size += 1
        while True:
            best = best_pnode(nodes, conjunctions, predicates, c, conjunction)
            if best < 0:
                break
            p = predicate_on(conjunctions, predicates, conjunction, nodes.pnodes[best].domain)
            c = smallest_bucket(nodes, np.int64(nodes.pnodes[best].top), bounds.low[p], bounds.high[p])
        put(nodes, conjunctions, c, conjunction)
        push(nodes, c)
        done += 1
    return done


@kernel
def fill_root(nodes, conjunctions, numbers):
    """Put all conjunctions into the root of an empty tree; `insert` then partitions it (BE-B)."""
    for conjunction in numbers:
        put(nodes, conjunctions, 0, conjunction)
    nodes.cnodes[0].size += numbers.size
    push(nodes, 0)
