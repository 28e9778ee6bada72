"""What tree of ANDs and ORs is a subscription, without shared nodes, in one list?

A node comes before its children (preorder):

    (a OR b OR c) AND d    AND of 2, OR of 3, a, b, c, d

A register, which several parts of a program read, is a tree of its own below each of them. So an expression may have
exponentially more leaves than its program has tests: leaves are counted first. ANDs below ANDs and ORs below ORs, which
appear where a register is read, are merged, so that kinds alternate from level to level.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    OR_NODE,
    REGISTER_LEAF,
    grow_tree,
)
from tellwhen.kernels.arrays import CONJUNCTION, NEVER
from tellwhen.kernels.jit import inline, kernel

NO_PARENT = -1


@inline
def group_word(children, is_or):
    """A group in a list of nodes: negative, since predicates are not."""
    return np.int32(-1 - (2 * children + is_or))


@inline
def children_of(word):
    """How many children a group has."""
    return (-1 - word) >> 1


@inline
def is_or(word):
    """Is a group an OR? Else it is an AND."""
    return (-1 - word) & 1


@inline
def behind_registers(nodes, roots, n):
    """The node itself, or the root of the register that it reads."""
    while nodes[n, KIND] == REGISTER_LEAF:
        n = roots[nodes[n, CHILD]]
    return n


@inline
def measure(nodes, count, roots, registers, leaves_max, leaves, parts):
    """Count the leaves below every node, and its children once groups of its own kind are merged into it.

    No count goes beyond leaves_max + 1. Returns the leaves of the whole expression.
    """
    over = leaves_max + 1
    for r in range(registers + 1):
        end = roots[r + 1] if r < registers else count
        for n in range(end - 1, roots[r] - 1, -1):
            kind = nodes[n, KIND]
            if kind == LEAF:
                leaves[n] = 1
            elif kind == AND_NODE or kind == OR_NODE:
                leaves[n] = parts[n] = 0
                for k in range(nodes[n, CHILD], nodes[n, CHILD] + nodes[n, CHILDREN]):
                    child = behind_registers(nodes, roots, k)
                    leaves[n] = min(over, leaves[n] + leaves[child])
                    parts[n] = min(over, parts[n] + (parts[child] if nodes[child, KIND] == kind else 1))
            elif kind != REGISTER_LEAF:
                leaves[n] = over  # a region that cannot be read as a tree
    return leaves[behind_registers(nodes, roots, roots[registers])]


@inline
def write_tree(nodes, root, roots, parts, pending, out, written):
    """Write the nodes of a tree in preorder; returns the new end. `pending` has room for a pair for every leaf."""
    pending[0], pending[1] = root, NO_PARENT
    count = 1
    while count > 0:
        count -= 1
        parent = pending[2 * count + 1]
        n = behind_registers(nodes, roots, pending[2 * count])
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            out[written] = child
            written += 1
            continue
        if kind != parent:
            out[written] = group_word(parts[n], kind == OR_NODE)
            written += 1
        for k in range(child + nodes[n, CHILDREN] - 1, child - 1, -1):
            pending[2 * count], pending[2 * count + 1] = k, kind
            count += 1
    return written


@inline
def write_conjunction(code, start, end, out, written):
    """Write the tree of a conjunction of at least one predicate; returns the new end."""
    if end - start > 1:
        out[written] = group_word(end - start, 0)
        written += 1
    for i in range(start, end):
        out[written] = code[i]
        written += 1
    return written


@kernel
def expand(subscriptions, slots, first, leaves_max, scratch, start, out):
    """Write the trees of slots[first:]: that of the k-th is out[start[k]:start[k+1]].

    It is empty for what has no tree: the empty conjunction, what is never true, and what has too many leaves. Returns
    the first slot whose tree does not fit into `out`.
    """
    nodes, roots, leaves, parts, pending = scratch
    kind, code, code_start = subscriptions.kind, subscriptions.code, subscriptions.start
    for k in range(first, slots.size):
        written = start[k]
        slot = slots[k]
        begin, end = code_start[slot], code_start[slot + 1]
        if kind[slot] == CONJUNCTION:
            if 0 < end - begin <= leaves_max:
                if end - begin + 1 > out.size - written:
                    return k
                written = write_conjunction(code, begin, end, out, written)
        elif kind[slot] != NEVER:
            registers, count = grow_tree(code, begin, end, nodes, roots)
            total = measure(nodes, count, roots, registers, leaves_max, leaves, parts)
            if total <= leaves_max:
                if 2 * total > out.size - written:  # a group has at least two children
                    return k
                written = write_tree(nodes, roots[registers], roots, parts, pending, out, written)
        start[k + 1] = written
    return slots.size
