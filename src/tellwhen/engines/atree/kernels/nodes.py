"""The nodes and edges of a forest: make, find and remove them."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.kernels.tree import LEAF
from tellwhen.engines.atree.arrays import (
    ATOM_COUNT,
    ATOM_END,
    ATOMS,
    BEFORE_PAIR,
    BEFORE_PARENT,
    CHILD,
    EDGE_END,
    EDGES,
    FIRST_CHILD,
    FIRST_PARENT,
    FREE,
    FREE_EDGE,
    FREE_NODE,
    HASH,
    KIND,
    LEVEL,
    NEXT_CHILD,
    NEXT_EQUAL,
    NEXT_PAIR,
    NEXT_PARENT,
    NODE_END,
    NODES,
    NONE,
    PARENT,
    PARENT_COUNT,
    USES,
    WASTE,
)
from tellwhen.kernels.jit import inline, kernel

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inline
def mix_hash(word, value):
    """Combine a hash with one more number. The order counts, so equal sums and products do not collide."""
    word = (word ^ np.uint64(value)) * MULTIPLIER
    return word ^ (word >> np.uint64(29))


@inline
def hash_atoms(kind, members, first, count):
    """Return the hash of an operator and ascending atoms, a non-negative int32."""
    word = np.uint64(kind + 1)
    for i in range(first, first + count):
        word = mix_hash(word, members[i])
    return np.int64(word >> np.uint64(33))


@inline
def hash_pair(kind, last, before):
    """Return the hash of an operator and the two last atoms."""
    return np.int64(mix_hash(mix_hash(np.uint64(kind + 1), last), before) >> np.uint64(33))


@inline
def find_equal_node(forest, kind, members, count):
    """Return the node with this operator and these atoms, or NONE. Atoms are compared, not only hashes."""
    hashed = hash_atoms(kind, members, 0, count)
    n = np.int64(forest.equal[hashed & (forest.equal.size - 1)])
    while n != NONE:
        row = forest.nodes[n]
        if row[HASH] == hashed and row[KIND] == kind and row[ATOM_COUNT] == count:
            first, same = np.int64(row[ATOMS]), True
            for i in range(count):
                if forest.atoms[first + i] != members[i]:
                    same = False
                    break
            if same:
                return n
        n = np.int64(row[NEXT_EQUAL])
    return np.int64(NONE)


@inline
def take_row(counters, free, end, used, rows, next_free):
    """Take a free row of `rows`, or a new one behind the last row; return its number.

    `free`, `end` and `used` are indexes into `counters`; `next_free` is the column that links free rows.
    """
    row = counters[free]
    if row != NONE:
        counters[free] = rows[row, next_free]
    else:
        row = counters[end]
        counters[end] += 1
    counters[used] += 1
    return row


@inline
def allocate_node(forest, kind):
    """Allocate a node without atoms, edges and uses."""
    nodes = forest.nodes
    n = take_row(forest.counters, FREE_NODE, NODE_END, NODES, nodes, NEXT_EQUAL)
    nodes[n, KIND], nodes[n, USES], nodes[n, LEVEL] = kind, 0, 1
    nodes[n, ATOM_COUNT], nodes[n, PARENT_COUNT] = 0, 0
    nodes[n, FIRST_CHILD] = nodes[n, FIRST_PARENT] = NONE
    nodes[n, NEXT_EQUAL] = nodes[n, NEXT_PAIR] = nodes[n, BEFORE_PAIR] = NONE
    return n


@inline
def get_or_create_leaf(forest, predicate):
    """Return the l-node of a predicate. Create the node if the forest has none."""
    n = np.int64(forest.leaf[predicate])
    if n == NONE:
        n = allocate_node(forest, LEAF)
        forest.nodes[n, ATOMS] = predicate
        forest.leaf[predicate] = n
    return n


@inline
def add_to_chains(forest, n):
    """Put a node into its two hash chains: that of its atoms, and that of its two last atoms."""
    nodes, atoms = forest.nodes, forest.atoms
    last = nodes[n, ATOMS] + nodes[n, ATOM_COUNT] - 1
    at = nodes[n, HASH] & (forest.equal.size - 1)
    nodes[n, NEXT_EQUAL], forest.equal[at] = forest.equal[at], n
    at = hash_pair(nodes[n, KIND], atoms[last], atoms[last - 1]) & (forest.pair.size - 1)
    head = np.int64(forest.pair[at])
    if head != NONE:
        nodes[head, BEFORE_PAIR] = n
    nodes[n, NEXT_PAIR], nodes[n, BEFORE_PAIR], forest.pair[at] = head, NONE, n


@inline
def unchain_equal(forest, n):
    """Remove a node from the chain of its hash, if it is there. The chain is short."""
    heads, nodes = forest.equal, forest.nodes
    at = nodes[n, HASH] & (heads.size - 1)
    before, current = np.int64(NONE), np.int64(heads[at])
    while current != NONE and current != n:
        before, current = current, np.int64(nodes[current, NEXT_EQUAL])
    if current == n:
        if before == NONE:
            heads[at] = nodes[n, NEXT_EQUAL]
        else:
            nodes[before, NEXT_EQUAL] = nodes[n, NEXT_EQUAL]


@inline
def unchain_pair(forest, n):
    """Remove a node from the chain of its two last atoms, if it is there.

    The chain may be long, because any number of nodes may have the same two last atoms.
    """
    heads, nodes, atoms = forest.pair, forest.nodes, forest.atoms
    last = nodes[n, ATOMS] + nodes[n, ATOM_COUNT] - 1
    at = hash_pair(nodes[n, KIND], atoms[last], atoms[last - 1]) & (heads.size - 1)
    before, after = np.int64(nodes[n, BEFORE_PAIR]), np.int64(nodes[n, NEXT_PAIR])
    if before != NONE:
        nodes[before, NEXT_PAIR] = after
    elif heads[at] == n:
        heads[at] = after
    if after != NONE:
        nodes[after, BEFORE_PAIR] = before


@inline
def add_edge(forest, child, parent):
    """Make one node a child of another."""
    nodes, edges = forest.nodes, forest.edges
    edge = take_row(forest.counters, FREE_EDGE, EDGE_END, EDGES, edges, NEXT_CHILD)
    after = np.int64(nodes[child, FIRST_PARENT])
    edges[edge, CHILD], edges[edge, PARENT] = child, parent
    edges[edge, NEXT_CHILD], edges[edge, NEXT_PARENT] = nodes[parent, FIRST_CHILD], after
    edges[edge, BEFORE_PARENT] = NONE
    if after != NONE:
        edges[after, BEFORE_PARENT] = edge
    nodes[parent, FIRST_CHILD] = nodes[child, FIRST_PARENT] = edge
    nodes[child, PARENT_COUNT] += 1


@inline
def drop_edge(forest, edge, before):
    """Remove an edge; `before` is the edge in front of it among those of its parent, or NONE."""
    counters, nodes, edges = forest.counters, forest.nodes, forest.edges
    child, parent = edges[edge, CHILD], edges[edge, PARENT]
    after = edges[edge, NEXT_CHILD]
    if before == NONE:
        nodes[parent, FIRST_CHILD] = after
    else:
        edges[before, NEXT_CHILD] = after
    up, down = np.int64(edges[edge, BEFORE_PARENT]), np.int64(edges[edge, NEXT_PARENT])
    if up == NONE:
        nodes[child, FIRST_PARENT] = down
    else:
        edges[up, NEXT_PARENT] = down
    if down != NONE:
        edges[down, BEFORE_PARENT] = up
    nodes[child, PARENT_COUNT] -= 1
    edges[edge, NEXT_CHILD] = counters[FREE_EDGE]
    counters[FREE_EDGE] = edge
    counters[EDGES] -= 1


@kernel
def create_node(forest, kind, members, count, children, child_count, is_shared):
    """Create an AND or OR node with these atoms and children. Lookups by atoms find it if `is_shared` is true."""
    nodes, counters = forest.nodes, forest.counters
    n = allocate_node(forest, kind)
    first = counters[ATOM_END]
    for i in range(count):
        forest.atoms[first + i] = members[i]
        nodes[members[i], USES] += 1
    counters[ATOM_END] += count
    nodes[n, ATOMS], nodes[n, ATOM_COUNT] = first, count
    nodes[n, HASH] = hash_atoms(kind, members, 0, count)
    level = np.int64(0)
    for i in range(child_count):
        add_edge(forest, children[i], n)
        level = max(level, np.int64(nodes[children[i], LEVEL]))
    nodes[n, LEVEL] = level + 1
    if is_shared:
        add_to_chains(forest, n)
    return n


@inline
def free_node(forest, n):
    """Free a node without edges."""
    nodes, counters = forest.nodes, forest.counters
    if nodes[n, KIND] == LEAF:
        forest.leaf[nodes[n, ATOMS]] = NONE
    else:
        unchain_equal(forest, n)
        unchain_pair(forest, n)
        counters[WASTE] += nodes[n, ATOM_COUNT]
    nodes[n, KIND] = FREE
    nodes[n, NEXT_EQUAL] = counters[FREE_NODE]
    counters[FREE_NODE] = n
    counters[NODES] -= 1


@kernel
def update_levels(forest, n):
    """Correct the level of a node, and of all nodes above it."""
    nodes, edges, queue, waiting = forest.nodes, forest.edges, forest.queue, forest.waiting
    queue[0], waiting[n] = n, 1
    count = 1
    while count > 0:
        count -= 1
        n = np.int64(queue[count])
        waiting[n] = 0
        level = np.int64(0)
        edge = np.int64(nodes[n, FIRST_CHILD])
        while edge != NONE:
            level = max(level, np.int64(nodes[edges[edge, CHILD], LEVEL]))
            edge = np.int64(edges[edge, NEXT_CHILD])
        if level + 1 != nodes[n, LEVEL]:
            nodes[n, LEVEL] = level + 1
            edge = np.int64(nodes[n, FIRST_PARENT])
            while edge != NONE:
                parent = np.int64(edges[edge, PARENT])
                if waiting[parent] == 0:
                    waiting[parent] = 1
                    queue[count] = parent
                    count += 1
                edge = np.int64(edges[edge, NEXT_PARENT])
