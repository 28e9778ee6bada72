"""Which node of the diagram is this expression? Its AND/OR tree is combined from the leaves up."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    REGISTER_LEAF,
    UNREADABLE,
    grow_tree,
)
from tellwhen.kernels.arrays import CONJUNCTION, NEVER
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import COUNT, COUNT_MAX, FALSE, LISTED, STEPS, TRUE
from tellwhen.papers.a_tree.bdd.kernels.combine import combine, tested_by
from tellwhen.papers.a_tree.bdd.kernels.nodes import OVER_BUDGET, drop_from, node_of

STEPS_PER_NODE = 16
"""Steps of `combine` for each node that an expression may make."""


@inline
def order_parts(nodes, parts, count):
    """Those that are tested last come first: what is combined with them then stands above, and is not walked again."""
    for k in range(1, count):
        part = parts[k]
        tested = tested_by(nodes, part)
        while k > 0 and tested_by(nodes, parts[k - 1]) > tested:
            parts[k] = parts[k - 1]
            k -= 1
        parts[k] = part


@inline
def join_parts(is_and, count, nodes, tables, work):
    """The AND, or the OR, of the first `count` parts; OVER_BUDGET if one is that."""
    parts = work.parts
    for k in range(count):
        if parts[k] == OVER_BUDGET:
            return np.int32(OVER_BUDGET)
    order_parts(nodes, parts, count)
    found = np.int32(TRUE if is_and else FALSE)
    for k in range(count):
        found = combine(is_and, parts[k], found, nodes, tables, work.frames)
        if found == OVER_BUDGET:
            break
    return found


@inline
def function_of_conjunction(code, start, end, nodes, tables, work):
    """The node of an AND of predicates."""
    for k in range(end - start):
        work.parts[k] = node_of(nodes, tables, code[start + k], FALSE, TRUE)
    return join_parts(True, end - start, nodes, tables, work)


@inline
def function_of_program(code, start, end, nodes, tables, work):
    """The node of a program. The trees of registers come before the tree that uses them."""
    tree, function = work.tree, work.function
    registers, count = grow_tree(code, start, end, tree, work.register_roots)
    last = count
    for region in range(registers + 1):
        first = work.register_roots[region]
        last = work.register_roots[region + 1] if region < registers else count
        for n in range(last - 1, first - 1, -1):  # children before their parents
            kind, child = tree[n, KIND], tree[n, CHILD]
            if kind == LEAF:
                function[n] = node_of(nodes, tables, child, FALSE, TRUE)
            elif kind == REGISTER_LEAF:
                function[n] = function[work.register_roots[child]]
            elif kind == UNREADABLE:
                return np.int32(OVER_BUDGET)
            else:
                for k in range(tree[n, CHILDREN]):
                    work.parts[k] = function[child + k]
                function[n] = join_parts(kind == AND_NODE, tree[n, CHILDREN], nodes, tables, work)
            if function[n] == OVER_BUDGET:
                return np.int32(OVER_BUDGET)
    return function[work.register_roots[registers]]


@kernel
def add_functions(subscriptions, slots, roots, done, nodes, tables, work, nodes_max):
    """Write the root of every slot from `done` on; returns the first that is left, because the nodes may not fit.

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
            roots[k] = function_of_conjunction(code, start, end, nodes, tables, work)
        else:
            roots[k] = function_of_program(code, start, end, nodes, tables, work)
        if roots[k] == OVER_BUDGET:
            drop_from(nodes, tables, before)
            roots[k] = LISTED
    return slots.size
