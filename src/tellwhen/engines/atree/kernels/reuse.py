"""Reuse nodes: existing nodes become children of a new one (Algorithm 2), and a new one of existing ones (Algorithm 3).

A node may be a child of another if both have the same operator, and its atoms are a subset of the other's. An atom may
be in several children, since an operand that is ANDed or ORed twice changes nothing. (This is not true of XOR, which is
expressed by AND and OR before.)
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import (
    ATOM_COUNT,
    ATOMS,
    CHILD,
    FIRST_CHILD,
    FIRST_PARENT,
    KIND,
    NEXT_CHILD,
    NEXT_PAIR,
    NEXT_PARENT,
    NONE,
    PARENT,
    PARENT_COUNT,
)
from tellwhen.engines.atree.kernels.nodes import add_edge, drop_edge, hash_pair, update_levels
from tellwhen.kernels.jit import inline, kernel

PAIR_DISTANCE = 24
"""Only pairs of atoms at most 24 places apart are looked up: all pairs of a long list would take quadratic time."""

CHAIN_MAX, CANDIDATES_MAX = 16, 64
"""The most nodes of a chain that are compared, and the most candidates. These limits and CLIMB_MAX bound the work for
parts that very many expressions share; a node beyond the limits is merely not reused."""

CLIMB_MAX = 64
"""The most nodes above the atoms of a new node that are tried for reusing it."""


@inline
def find_position(members, first, count, atom):
    """Return the position of an atom among ascending ones, or NONE."""
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        if members[middle] < atom:
            low = middle + 1
        else:
            high = middle
    return low - first if low < first + count and members[low] == atom else NONE


@inline
def is_within(inner, inner_first, inner_count, outer, outer_first, outer_count):
    """Return whether a list of ascending atoms is a subset of another one."""
    i, o = inner_first, outer_first
    while i < inner_first + inner_count:
        while o < outer_first + outer_count and outer[o] < inner[i]:
            o += 1
        if o == outer_first + outer_count or outer[o] != inner[i]:
            return False
        i += 1
        o += 1
    return True


@kernel
def find_contained_nodes(forest, kind, growth, count):
    """List the nodes whose atoms are a subset of growth.members[:count]; return how many.

    Nodes are found by their two last atoms, which are the rarest: predicates are numbered in the order of arrival, so
    that common ones come first.
    """
    nodes, members, candidates = forest.nodes, growth.members, growth.candidates
    found = 0
    for i in range(1, count):
        for j in range(max(0, i - PAIR_DISTANCE), i):
            n = np.int64(forest.pair[hash_pair(kind, members[i], members[j]) & (forest.pair.size - 1)])
            looked_at = 0
            while n != NONE and looked_at < CHAIN_MAX and found < CANDIDATES_MAX:
                first, many = np.int64(nodes[n, ATOMS]), np.int64(nodes[n, ATOM_COUNT])
                if (
                    nodes[n, KIND] == kind
                    and many < count
                    and forest.atoms[first + many - 1] == members[i]
                    and forest.atoms[first + many - 2] == members[j]
                    and is_within(forest.atoms, first, many, members, 0, count)
                ):
                    candidates[found] = n
                    found += 1
                n = np.int64(nodes[n, NEXT_PAIR])
                looked_at += 1
    return found


@inline
def count_uncovered_atoms(forest, n, growth, count):
    """Count the atoms of candidate n that no chosen child has."""
    first = forest.nodes[n, ATOMS]
    found = 0
    for i in range(first, first + forest.nodes[n, ATOM_COUNT]):
        found += growth.is_covered[find_position(growth.members, 0, count, forest.atoms[i])] == 0
    return found


@kernel
def reorganize(forest, kind, growth, count):
    """Choose children for the atoms growth.members[:count] by a greedy set cover (Algorithm 2); return how many."""
    members, children, is_covered = growth.members, growth.children, growth.is_covered
    candidates = find_contained_nodes(forest, kind, growth, count) if count > 2 else 0
    for i in range(count):
        is_covered[i] = 0
    made = 0
    while candidates > 0:
        best, most = np.int64(NONE), 1  # with a single new atom, nothing is saved
        for c in range(candidates):
            new = count_uncovered_atoms(forest, growth.candidates[c], growth, count)
            if new > most:
                best, most = np.int64(growth.candidates[c]), new
        if best == NONE:
            break
        children[made] = best
        made += 1
        first = forest.nodes[best, ATOMS]
        for i in range(first, first + forest.nodes[best, ATOM_COUNT]):
            is_covered[find_position(members, 0, count, forest.atoms[i])] = 1
    for i in range(count):
        if is_covered[i] == 0:
            children[made] = members[i]
            made += 1
    return made


@inline
def is_replaceable(forest, child, parent, n):
    """Return whether node n can replace a child of `parent`, because n has all atoms that the child contributes.

    A child that is an atom of the parent must be an atom of n. Another child contributes its own atoms.
    """
    nodes, atoms = forest.nodes, forest.atoms
    first, count = np.int64(nodes[n, ATOMS]), np.int64(nodes[n, ATOM_COUNT])
    if find_position(atoms, first, count, child) != NONE:
        return True
    if find_position(atoms, np.int64(nodes[parent, ATOMS]), np.int64(nodes[parent, ATOM_COUNT]), child) != NONE:
        return False
    return is_within(atoms, np.int64(nodes[child, ATOMS]), np.int64(nodes[child, ATOM_COUNT]), atoms, first, count)


@kernel
def reuse_node(forest, n, parent):
    """Make node n a child of `parent` in place of all children that n can replace, if these are at least two."""
    nodes, edges = forest.nodes, forest.edges
    replaced = 0
    edge = np.int64(nodes[parent, FIRST_CHILD])
    while edge != NONE:
        if edges[edge, CHILD] == n:
            return
        replaced += is_replaceable(forest, edges[edge, CHILD], parent, n)
        edge = np.int64(edges[edge, NEXT_CHILD])
    if replaced < 2:
        return
    before, edge = np.int64(NONE), np.int64(nodes[parent, FIRST_CHILD])
    while edge != NONE:
        after = np.int64(edges[edge, NEXT_CHILD])
        if is_replaceable(forest, edges[edge, CHILD], parent, n):
            drop_edge(forest, edge, before)
        else:
            before = edge
        edge = after
    add_edge(forest, n, parent)
    update_levels(forest, parent)


@kernel
def self_adjust(forest, n, growth):
    """Make a new node a child of the nodes that have all of its atoms, and more (Algorithm 3).

    Such nodes are above each of the atoms, so only those above the atom with the fewest parents are tried.
    """
    nodes, edges, stack = forest.nodes, forest.edges, growth.candidates
    kind, first, count = nodes[n, KIND], np.int64(nodes[n, ATOMS]), np.int64(nodes[n, ATOM_COUNT])
    rarest = np.int64(forest.atoms[first])
    for i in range(first + 1, first + count):
        if nodes[forest.atoms[i], PARENT_COUNT] < nodes[rarest, PARENT_COUNT]:
            rarest = np.int64(forest.atoms[i])
    stack[0] = rarest
    depth, left = 1, CLIMB_MAX
    while depth > 0:
        depth -= 1
        edge = np.int64(nodes[stack[depth], FIRST_PARENT])
        while edge != NONE and left > 0:
            parent = np.int64(edges[edge, PARENT])
            edge = np.int64(edges[edge, NEXT_PARENT])  # before `reuse` changes the edges
            left -= 1
            if parent != n and nodes[parent, KIND] == kind:
                if depth < CANDIDATES_MAX:
                    stack[depth] = parent
                    depth += 1
                many = np.int64(nodes[parent, ATOM_COUNT])
                if many > count and is_within(forest.atoms, first, count, forest.atoms, nodes[parent, ATOMS], many):
                    reuse_node(forest, n, parent)
