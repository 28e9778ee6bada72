"""Kernels that expand subscriptions to AND/OR trees without shared nodes, each in one list.

A node comes before its children (preorder):

    (a OR b OR c) AND d    AND of 2, OR of 3, a, b, c, d

A register that several parts of a program read becomes a subtree below each of these parts. An expression may therefore
have exponentially more leaves than its program has tests, so leaves are counted before a tree is written. ANDs below
ANDs and ORs below ORs, which appear where a register is read, are merged: kinds alternate from level to level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    OR_NODE,
    REGISTER_LEAF,
    read_tree,
)
from tellwhen.compile.tree import Tree
from tellwhen.kernels.arrays import CONJUNCTION, I64, NEVER
from tellwhen.kernels.jit import inline, kernel

NO_PARENT = -1


class ExpansionWorkspace(NamedTuple):
    """Working arrays to expand one program. Nodes are numbered as `read_tree` writes them."""

    tree: Tree
    leaves: I64  # |1|1|2|4|...   by node: the leaves below it
    parts: I64  # |0|0|2|3|...   by node: its children once groups of its own kind are merged into it
    pending: I64  # |node kind|node kind|...   nodes still to be written, each with the kind of its parent


@inline
def encode_group(children, is_or):
    """Encode a group as a word of a tree: negative, because predicates are not."""
    return np.int32(-1 - (2 * children + is_or))


@inline
def count_children(word):
    """Return the number of children of an encoded group."""
    return (-1 - word) >> 1


@inline
def is_or(word):
    """Return 1 if an encoded group is an OR, 0 if it is an AND."""
    return (-1 - word) & 1


@inline
def resolve_register(work, n):
    """Return the root of the register that node n reads, or n itself if it reads none."""
    nodes, roots = work.tree
    while nodes[n, KIND] == REGISTER_LEAF:
        n = roots[nodes[n, CHILD]]
    return n


@inline
def count_leaves(work, count, leaves_max):
    """Count the leaves below every node, and the children of every group; return the leaves of the whole expression.

    Counting stops at `leaves_max` + 1. A region that cannot be read as a tree counts as that many leaves.
    """
    nodes, leaves, parts = work.tree.nodes, work.leaves, work.parts
    over = leaves_max + 1
    for n in range(count - 1, -1, -1):
        kind = nodes[n, KIND]
        if kind == LEAF:
            leaves[n] = 1
        elif kind == AND_NODE or kind == OR_NODE:
            leaves[n] = parts[n] = 0
            for k in range(nodes[n, CHILD], nodes[n, CHILD] + nodes[n, CHILDREN]):
                child = resolve_register(work, k)
                leaves[n] = min(over, leaves[n] + leaves[child])
                parts[n] = min(over, parts[n] + (parts[child] if nodes[child, KIND] == kind else 1))
        elif kind != REGISTER_LEAF:
            leaves[n] = over
    return leaves[resolve_register(work, 0)]


@inline
def write_program(work, out, written):
    """Write the nodes of a program's tree in preorder; return the new end of `out`."""
    nodes, pending = work.tree.nodes, work.pending
    pending[0], pending[1] = 0, NO_PARENT
    count = 1
    while count > 0:
        count -= 1
        parent = pending[2 * count + 1]
        n = resolve_register(work, pending[2 * count])
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            out[written] = child
            written += 1
            continue
        if kind != parent:
            out[written] = encode_group(work.parts[n], kind == OR_NODE)
            written += 1
        for k in range(child + nodes[n, CHILDREN] - 1, child - 1, -1):
            pending[2 * count], pending[2 * count + 1] = k, kind
            count += 1
    return written


@inline
def write_conjunction(code, start, end, out, written):
    """Write the tree of a conjunction of at least one predicate; return the new end of `out`."""
    if end - start > 1:
        out[written] = encode_group(end - start, 0)
        written += 1
    for i in range(start, end):
        out[written] = code[i]
        written += 1
    return written


@kernel
def write_trees(subscriptions, slots, first, leaves_max, work, start, out):
    """Write the trees of slots[first:], so that the tree of slots[k] is out[start[k]:start[k+1]].

    The tree is empty for an empty conjunction, for a subscription that is never true, and for an expression of more
    than `leaves_max` leaves. Returns the first slot whose tree does not fit into `out`.
    """
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
            count, _ = read_tree(code, begin, end, work.tree)
            total = count_leaves(work, count, leaves_max)
            if total <= leaves_max:
                if 2 * total > out.size - written:  # a group has at least two children
                    return k
                written = write_program(work, out, written)
        start[k + 1] = written
    return slots.size
