"""Kernels that build the node of an expression: its AND/OR tree is combined from the leaves up."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    REGISTER_LEAF,
    UNREADABLE,
    read_tree,
)
from tellwhen.kernels.arrays import CONJUNCTION, NEVER
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import COUNT, COUNT_MAX, FALSE, LISTED, STEPS, TRUE
from tellwhen.papers.a_tree.bdd.kernels.combine import combine, read_predicate
from tellwhen.papers.a_tree.bdd.kernels.nodes import OVER_BUDGET, drop_nodes, make_node

STEPS_PER_NODE = 16
"""Steps of `combine` for each node that an expression may make."""


@inline
def sort_parts(nodes, parts, count):
    """Sort parts by predicate, the lowest first.

    The diagram tests the highest predicate first, so the parts that are combined later stand above the result so far,
    and its nodes are not walked again.
    """
    for k in range(1, count):
        part = parts[k]
        predicate = read_predicate(nodes, part)
        while k > 0 and read_predicate(nodes, parts[k - 1]) > predicate:
            parts[k] = parts[k - 1]
            k -= 1
        parts[k] = part


@inline
def join_parts(is_and, count, nodes, tables, work):
    """Return the node of the AND, or the OR, of the first `count` parts; OVER_BUDGET if a part is over budget."""
    parts = work.parts
    for k in range(count):
        if parts[k] == OVER_BUDGET:
            return np.int32(OVER_BUDGET)
    sort_parts(nodes, parts, count)
    result = np.int32(TRUE if is_and else FALSE)
    for k in range(count):
        result = combine(is_and, parts[k], result, nodes, tables, work.frames)
        if result == OVER_BUDGET:
            break
    return result


@inline
def build_conjunction(code, start, end, nodes, tables, work):
    """Return the node of an AND of predicates."""
    for k in range(end - start):
        work.parts[k] = make_node(nodes, tables, code[start + k], FALSE, TRUE)
    return join_parts(True, end - start, nodes, tables, work)


@inline
def build_program(code, start, end, nodes, tables, work):
    """Return the node of a program, built from the last node of its tree to the root."""
    tree, roots = work.tree
    function = work.function
    count, _ = read_tree(code, start, end, work.tree)
    for n in range(count - 1, -1, -1):
        kind, child = tree[n, KIND], tree[n, CHILD]
        if kind == LEAF:
            function[n] = make_node(nodes, tables, child, FALSE, TRUE)
        elif kind == REGISTER_LEAF:
            function[n] = function[roots[child]]
        elif kind == UNREADABLE:
            return np.int32(OVER_BUDGET)
        else:
            for k in range(tree[n, CHILDREN]):
                work.parts[k] = function[child + k]
            function[n] = join_parts(kind == AND_NODE, tree[n, CHILDREN], nodes, tables, work)
        if function[n] == OVER_BUDGET:
            return np.int32(OVER_BUDGET)
    return function[0]


@kernel
def build_roots(subscriptions, slots, roots, done, nodes, tables, work, nodes_max):
    """Write the root of every slot from `done` on; return the first slot left, because its nodes may not fit.

    An expression that makes more than `nodes_max` nodes is LISTED, and its nodes are dropped.
    """
    kind, code, state = subscriptions.kind, subscriptions.code, tables.state
    for k in range(done, slots.size):
        slot = slots[k]
        if state[COUNT] + nodes_max > nodes.predicate.size:
            return k
        before = state[COUNT]
        state[COUNT_MAX], state[STEPS] = before + nodes_max, STEPS_PER_NODE * nodes_max
        start, end = subscriptions.start[slot], subscriptions.start[slot + 1]
        if kind[slot] == NEVER:
            roots[k] = FALSE
        elif kind[slot] == CONJUNCTION:
            roots[k] = build_conjunction(code, start, end, nodes, tables, work)
        else:
            roots[k] = build_program(code, start, end, nodes, tables, work)
        if roots[k] == OVER_BUDGET:
            drop_nodes(nodes, tables, before)
            roots[k] = LISTED
    return slots.size
