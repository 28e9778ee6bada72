"""Add expressions to a forest (Algorithm 4), and remove them (Algorithm 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.kernels import tree as program
from tellwhen.compile.kernels.tree import AND_NODE, LEAF, REGISTER_LEAF, read_tree
from tellwhen.engines.atree.arrays import (
    ATOM_COUNT,
    ATOM_END,
    ATOMS,
    CHILD,
    DEAD,
    EDGE_END,
    FIRST_CHILD,
    FIRST_PARENT,
    KIND,
    NEXT_CHILD,
    NODE_END,
    NONE,
    PARENT,
    PARENT_COUNT,
    USES,
    Forest,
    Growth,
)
from tellwhen.engines.atree.kernels.nodes import (
    add_edge,
    add_to_chains,
    create_node,
    drop_edge,
    find_equal_node,
    free_node,
    get_or_create_leaf,
    update_levels,
)
from tellwhen.engines.atree.kernels.reuse import reorganize, self_adjust
from tellwhen.kernels.arrays import CONJUNCTION, NEVER, Subscriptions
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

APART, EQUAL_PARTS, REORGANIZED, ADJUSTED = range(4)
"""Levels of sharing, each including the level before it: predicates; equal parts; existing parts; later parts."""

ALWAYS, IMPOSSIBLE = -2, -3
"""Stand for the node of a subscription that is always true, and of one that is never true."""

SORTED_BY_INSERTION = 32
"""Up to 32 atoms are sorted by insertion."""


@kernel
def deduplicate_members(members, count):
    """Sort the atoms and remove duplicates; return how many are left."""
    if count > SORTED_BY_INSERTION:
        members[:count].sort()
    else:
        for i in range(1, count):
            atom, at = members[i], i
            while at > 0 and members[at - 1] > atom:
                members[at] = members[at - 1]
                at -= 1
            members[at] = atom
    kept = 1
    for i in range(1, count):
        if members[i] != members[kept - 1]:
            members[kept] = members[i]
            kept += 1
    return kept


@inline
def get_or_create_node(forest, kind, growth, count, sharing):
    """Return the node of an operator and the ascending atoms growth.members[:count]. Create it if there is none."""
    members, children = growth.members, growth.children
    if sharing >= EQUAL_PARTS:
        n = find_equal_node(forest, kind, members, count)
        if n != NONE:
            return n
    if sharing >= REORGANIZED:
        made = reorganize(forest, kind, growth, count)
    else:
        made = count
        for i in range(count):
            children[i] = members[i]
    n = create_node(forest, kind, members, count, children, made, sharing >= EQUAL_PARTS)
    if sharing >= ADJUSTED:
        self_adjust(forest, n, growth)
    return n


@kernel
def join_atoms(forest, kind, growth, count, sharing, is_binary):
    """Join the atoms growth.members[:count] by an operator; return the node. P AND P is P."""
    members = growth.members
    count = deduplicate_members(members, count)
    if count == 1:
        return np.int64(members[0])
    if not is_binary:
        return get_or_create_node(forest, kind, growth, count, sharing)
    rest = growth.children  # two at a time, from the first on
    for i in range(count):
        rest[i] = members[i]
    n = np.int64(rest[0])
    for i in range(1, count):
        if rest[i] != n:
            members[0], members[1] = min(n, np.int64(rest[i])), max(n, np.int64(rest[i]))
            n = get_or_create_pair(forest, kind, members, sharing)
    return n


@inline
def get_or_create_pair(forest, kind, members, sharing):
    """Return the node of an operator and two atoms. Create the node if the forest has none."""
    n = find_equal_node(forest, kind, members, 2) if sharing >= EQUAL_PARTS else np.int64(NONE)
    if n == NONE:
        n = create_node(forest, kind, members, 2, members, 2, sharing >= EQUAL_PARTS)
    return n


@kernel
def plant_tree(forest, subscriptions, slot, growth, sharing, is_binary):
    """Add the nodes of a program's tree, from its last node to the root; return the node of the root."""
    nodes, roots = growth.tree
    node, members = growth.node, growth.members
    rows, _ = read_tree(subscriptions.code, subscriptions.start[slot], subscriptions.start[slot + 1], growth.tree)
    for row in range(rows - 1, -1, -1):
        kind, first = np.int64(nodes[row, program.KIND]), np.int64(nodes[row, program.CHILD])
        count = np.int64(nodes[row, program.CHILDREN])
        if kind == LEAF:
            node[row] = get_or_create_leaf(forest, first)
        elif kind == REGISTER_LEAF:
            node[row] = node[roots[first]]
        else:
            for i in range(count):
                members[i] = node[first + i]
            node[row] = join_atoms(forest, kind, growth, count, sharing, is_binary)
    return np.int64(node[0])


@inline
def has_room(forest, tests):
    """Return whether there is room for an expression of `tests` tests, whose tree has fewer than two nodes per test."""
    counters, most = forest.counters, 2 * tests + 2
    return (
        counters[NODE_END] + most <= forest.nodes.shape[0]
        and counters[EDGE_END] + most <= forest.edges.shape[0]
        and counters[ATOM_END] + most <= forest.atoms.size
    )


@kernel
def plant_expressions(forest, growth, subscriptions, slots, first, sharing, is_binary, roots):
    """Add the expressions of slots[first:], and write the node of slots[k] to roots[k].

    Returns the first k for which there is no room.
    """
    forest, growth = unpack(forest, Forest), unpack(growth, Growth)
    subscriptions = unpack(subscriptions, Subscriptions)
    for k in range(first, slots.size):
        slot = slots[k]
        kind, begin = subscriptions.kind[slot], subscriptions.start[slot]
        tests = subscriptions.start[slot + 1] - begin
        if not has_room(forest, tests):
            return k
        if kind == NEVER:
            roots[k] = IMPOSSIBLE
        elif kind == CONJUNCTION:
            for i in range(tests):
                growth.members[i] = get_or_create_leaf(forest, np.int64(subscriptions.code[begin + i]))
            roots[k] = join_atoms(forest, AND_NODE, growth, tests, sharing, is_binary) if tests > 0 else ALWAYS
        else:
            roots[k] = plant_tree(forest, subscriptions, slot, growth, sharing, is_binary)
        if roots[k] >= 0:
            forest.nodes[roots[k], USES] += 1
    return slots.size


@inline
def release_use(forest, n):
    """Subtract one use of a node. A node without uses is dead."""
    forest.nodes[n, USES] -= 1
    if forest.nodes[n, USES] == 0:
        forest.dead[forest.counters[DEAD]] = n
        forest.counters[DEAD] += 1


@inline
def replace_by_children(forest, n, parent):
    """Make the children of node n children of `parent` in place of n."""
    nodes, edges = forest.nodes, forest.edges
    before, edge = np.int64(NONE), np.int64(nodes[parent, FIRST_CHILD])
    while edges[edge, CHILD] != n:
        before, edge = edge, np.int64(edges[edge, NEXT_CHILD])
    drop_edge(forest, edge, before)
    inner = np.int64(nodes[n, FIRST_CHILD])
    while inner != NONE:
        child = np.int64(edges[inner, CHILD])
        edge = np.int64(nodes[parent, FIRST_CHILD])
        while edge != NONE and edges[edge, CHILD] != child:
            edge = np.int64(edges[edge, NEXT_CHILD])
        if edge == NONE:
            add_edge(forest, child, parent)
        inner = np.int64(edges[inner, NEXT_CHILD])
    update_levels(forest, parent)


@kernel
def remove_node(forest, n):
    """Remove a dead node, and make its parents the parents of its children. No node has it as an atom."""
    nodes, edges = forest.nodes, forest.edges
    while nodes[n, FIRST_PARENT] != NONE:
        replace_by_children(forest, n, np.int64(edges[nodes[n, FIRST_PARENT], PARENT]))
    while nodes[n, FIRST_CHILD] != NONE:
        drop_edge(forest, np.int64(nodes[n, FIRST_CHILD]), NONE)
    if nodes[n, KIND] != LEAF:
        for i in range(nodes[n, ATOMS], nodes[n, ATOMS] + nodes[n, ATOM_COUNT]):
            release_use(forest, np.int64(forest.atoms[i]))
    free_node(forest, n)


@kernel
def uproot_expressions(forest, roots):
    """Subtract one use of each root, and remove the nodes that no other node or subscription uses.

    Return False if there is no room for new edges; then call again, without roots.
    """
    forest = unpack(forest, Forest)
    counters, nodes = forest.counters, forest.nodes
    for root in roots:
        if root >= 0:
            release_use(forest, np.int64(root))
    while counters[DEAD] > 0:
        n = np.int64(forest.dead[counters[DEAD] - 1])
        children = np.int64(0)
        edge = np.int64(nodes[n, FIRST_CHILD])
        while edge != NONE:
            children += 1
            edge = np.int64(forest.edges[edge, NEXT_CHILD])
        if counters[EDGE_END] + nodes[n, PARENT_COUNT] * children > forest.edges.shape[0]:
            return False
        counters[DEAD] -= 1
        remove_node(forest, n)
    return True


@kernel
def chain_all_nodes(forest):
    """Put all AND and OR nodes into their hash chains, which are empty before."""
    forest = unpack(forest, Forest)
    for n in range(forest.counters[NODE_END]):
        if forest.nodes[n, KIND] >= 0 and forest.nodes[n, KIND] != LEAF:
            add_to_chains(forest, n)
