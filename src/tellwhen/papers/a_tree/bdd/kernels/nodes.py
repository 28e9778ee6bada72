"""Kernels of the unique table, which makes every node once, and the garbage collection."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import COUNT, COUNT_MAX, FALSE, FIRST, RESULT, SECOND, TERMINALS

OVER_BUDGET = -1
"""Return value in place of a node that cannot be made within the limits on nodes or steps."""


@inline
def mix_hash(first, second, third):
    """Return a hash of three numbers that are not negative."""
    h = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29)) ^ np.uint64(second)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(31)) ^ np.uint64(third)) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(30))


@inline
def find_place(nodes, unique, predicate, low, high):
    """Return the place of a node in the unique table, or the empty place where the node belongs."""
    mask = np.uint64(unique.size - 1)
    at = mix_hash(predicate, low, high) & mask
    while True:
        n = unique[at]
        if n == FALSE or (nodes.predicate[n] == predicate and nodes.low[n] == low and nodes.high[n] == high):
            return at
        at = (at + np.uint64(1)) & mask


@inline
def make_node(nodes, tables, predicate, low, high):
    """Return the node with this predicate and these children. Append it if the diagram has no such node.

    Equal children need no node: the child is returned.
    """
    if low == high:
        return low
    at = find_place(nodes, tables.unique, predicate, low, high)
    n = tables.unique[at]
    if n == FALSE:
        n = np.int32(tables.state[COUNT])
        if n == tables.state[COUNT_MAX]:
            return np.int32(OVER_BUDGET)
        nodes.predicate[n], nodes.low[n], nodes.high[n] = predicate, low, high
        tables.unique[at] = n
        tables.state[COUNT] = n + 1
    return n


@inline
def drop_nodes(nodes, tables, first):
    """Drop the nodes from `first` on, which no other node has as a child.

    They leave the unique table in the reverse order of their arrival, so that no search is cut short.
    """
    for n in range(tables.state[COUNT] - 1, first - 1, -1):
        tables.unique[find_place(nodes, tables.unique, nodes.predicate[n], nodes.low[n], nodes.high[n])] = FALSE
    tables.state[COUNT] = first
    cache = tables.cache
    for k in range(cache.shape[0]):
        if max(cache[k, FIRST], cache[k, SECOND], cache[k, RESULT]) >= first:
            cache[k, FIRST] = cache[k, SECOND] = FALSE


@kernel
def fill_unique(nodes, unique, count):
    """Enter the first `count` nodes into a unique table of zeros."""
    for n in range(TERMINALS, count):
        unique[find_place(nodes, unique, nodes.predicate[n], nodes.low[n], nodes.high[n])] = n


@kernel
def collect_garbage(nodes, count, roots, number):
    """Drop all nodes that no root leads to, renumber the others in the same order, and return how many are left.

    `roots` gets the new numbers; negative entries stay. `number` is scratch with a zero for every node.
    """
    for k in range(roots.size):
        if roots[k] >= 0:
            number[roots[k]] = 1
    for n in range(count - 1, TERMINALS - 1, -1):  # parents before their children
        if number[n]:
            number[nodes.low[n]] = number[nodes.high[n]] = 1
    left = TERMINALS
    for n in range(TERMINALS):
        number[n] = n
    for n in range(TERMINALS, count):
        if number[n]:
            nodes.predicate[left] = nodes.predicate[n]
            nodes.low[left], nodes.high[left] = number[nodes.low[n]], number[nodes.high[n]]
            number[n] = left
            left += 1
    for k in range(roots.size):
        if roots[k] >= 0:
            roots[k] = number[roots[k]]
    return left
