"""Lay out a forest for matching: which child leads to an AND, and what is tested there?"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import ATOMS, CHILD, FIRST_CHILD, KIND, NEXT_CHILD, NONE, Forest
from tellwhen.engines.shared.kernels.tree import AND_NODE, LEAF
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel


@inline
def chance_of(nodes, n, leaf_chance, number, chance):
    """How probable it is that a node is true."""
    return leaf_chance[nodes[n, ATOMS]] if nodes[n, KIND] == LEAF else chance[number[n]]


@kernel
def find_chances(forest, order, number, leaf_chance, chance):
    """By inner node: how probable it is, if all children are independent. `order` has the nodes level by level."""
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    for i in range(order.size):
        is_and = nodes[order[i], KIND] == AND_NODE
        product = 1.0
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            own = chance_of(nodes, edges[edge, CHILD], leaf_chance, number, chance)
            product *= own if is_and else 1.0 - own
            edge = np.int64(edges[edge, NEXT_CHILD])
        chance[i] = product if is_and else 1.0 - product


@kernel
def choose_children(forest, order, number, leaf_chance, chance, draw, access, guard):
    """By AND node: the child that leads to it, the least probable one or, where `draw` is not empty, a random one; and
    the least probable predicate among its other children, NONE without any."""
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    for i in range(order.size):
        access[i] = guard[i] = NONE
        if nodes[order[i], KIND] != AND_NODE:
            continue
        count, best = 0, 2.0
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            own = chance_of(nodes, edges[edge, CHILD], leaf_chance, number, chance)
            if own < best:
                best, access[i] = own, edges[edge, CHILD]
            count += 1
            edge = np.int64(edges[edge, NEXT_CHILD])
        if draw.size > 0:
            skipped = np.int64(draw[i] * count)
            edge = np.int64(nodes[order[i], FIRST_CHILD])
            for _ in range(skipped):
                edge = np.int64(edges[edge, NEXT_CHILD])
            access[i] = edges[edge, CHILD]
        best = 2.0
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            if child != access[i] and nodes[child, KIND] == LEAF and leaf_chance[nodes[child, ATOMS]] < best:
                best, guard[i] = leaf_chance[nodes[child, ATOMS]], nodes[child, ATOMS]
            edge = np.int64(edges[edge, NEXT_CHILD])


@inline
def source_of(nodes, n, number, predicates):
    """The number of a node among predicates and inner nodes."""
    return nodes[n, ATOMS] if nodes[n, KIND] == LEAF else predicates + number[n]


@kernel
def write_links(forest, order, number, access, guard, on_demand, every_child, starts, target, guards, others):
    """Write the links and the other children of all inner nodes.

    `starts` are the starts of both, all zero before a first call, which counts. `on_demand` links an AND to one of its
    children only. Without it, and for ORs too with `every_child`, all children are among the others.
    """
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    link_start, other_start = starts
    is_counting = target.size == 0
    predicates = link_start.size - 2 - order.size
    for i in range(order.size):
        is_and = nodes[order[i], KIND] == AND_NODE
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            source = source_of(nodes, child, number, predicates)
            is_leaf = nodes[child, KIND] == LEAF
            is_linked = not (is_and and on_demand) or child == access[i]
            is_guard = on_demand and is_and and is_leaf and not is_linked and guard[i] == nodes[child, ATOMS]
            is_other = every_child or (is_and and not (on_demand and (is_linked or is_guard)))
            if is_counting:
                link_start[source + 2] += is_linked
                other_start[i + 2] += is_other
            else:
                if is_linked:
                    at = link_start[source + 1]
                    target[at], guards[at] = i, guard[i] if on_demand and is_and and not every_child else NONE
                    link_start[source + 1] += 1
                if is_other:
                    others[other_start[i + 1]] = nodes[child, ATOMS] if is_leaf else ~number[child]
                    other_start[i + 1] += 1
            edge = np.int64(edges[edge, NEXT_CHILD])


@kernel
def sort_others(other_start, others, leaf_chance, chance):
    """The least probable first: it is tested first."""
    for i in range(other_start.size - 1):
        for k in range(other_start[i] + 1, other_start[i + 1]):
            one, at = others[k], k
            own = leaf_chance[one] if one >= 0 else chance[~one]
            while at > other_start[i]:
                before = others[at - 1]
                if (leaf_chance[before] if before >= 0 else chance[~before]) <= own:
                    break
                others[at] = before
                at -= 1
            others[at] = one
