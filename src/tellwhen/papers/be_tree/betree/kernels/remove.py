"""Kernels that take conjunctions out of l-nodes, then free empty nodes and merge halves (BE-Tree, section 4.3)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FREED
from tellwhen.papers.be_tree.betree.kernels.nodes import (
    clear_leaf,
    compute_capacity,
    free_cnode,
    free_pnode,
    put_conjunction,
)


@kernel
def take_out_conjunctions(nodes, conjunctions, numbers, touched):
    """Take conjunctions, sorted by c-node, out of their l-nodes, and list these c-nodes in `touched`; returns how many.

    No node is freed.
    """
    count = 0
    for conjunction in numbers:
        c = conjunctions.node[conjunction]
        conjunctions.node[conjunction] = -1
        if count == 0 or touched[count - 1] != c:
            touched[count] = c
            count += 1
    for c in touched[:count]:
        node = nodes.cnodes[c]
        before = node.count
        conjunction = clear_leaf(nodes, c)
        while conjunction >= 0:
            following = conjunctions.next[conjunction]
            if conjunctions.node[conjunction] == c:
                put_conjunction(nodes, conjunctions, c, conjunction)
            conjunction = following
        node.leaf_changes += before - node.count
        subtract_size(nodes, c, before - node.count)
        node.capacity = compute_capacity(nodes, node.count)
    return count


@inline
def get_node_above(nodes, c):
    """Return the bucket that a c-node is a half of, or else the parent of its p-node; -1 for the root."""
    node = nodes.cnodes[c]
    if node.whole >= 0:
        return node.whole
    return nodes.pnodes[node.pnode].parent if node.pnode >= 0 else -1


@inline
def subtract_size(nodes, c, amount):
    """Subtract `amount` from the size of a c-node, and of all c-nodes above, and count these changes."""
    while c >= 0:
        nodes.cnodes[c].size -= amount
        nodes.cnodes[c].changes += amount
        c = get_node_above(nodes, c)


@kernel
def merge_nodes(nodes, conjunctions, touched):
    """Free empty nodes and merge halves, from c-nodes that have lost conjunctions up to the root (the merge rule)."""
    for c in touched:
        while c > 0 and nodes.cnodes[c].domain != FREED:
            following = get_node_above(nodes, c)
            if is_empty(nodes.cnodes[c]):
                free_empty(nodes, c)
            elif nodes.cnodes[c].whole >= 0 and can_merge_halves(nodes, following):
                merge_halves(nodes, conjunctions, following)
            c = following


@inline
def is_empty(node):
    """Return whether the c-node has no conjunctions, and no nodes below."""
    return node.size == 0 and node.directory < 0 and node.left < 0 and node.right < 0


@inline
def free_empty(nodes, c):
    """Free an empty c-node, and its p-node if the c-node is its top."""
    node = nodes.cnodes[c]
    if node.whole < 0:
        free_pnode(nodes, node.pnode)
    elif nodes.cnodes[node.whole].left == c:
        nodes.cnodes[node.whole].left = -1
    else:
        nodes.cnodes[node.whole].right = -1
    free_cnode(nodes, c)


@inline
def can_merge_halves(nodes, c):
    """Return whether bucket and halves are not divided further, and their conjunctions fill at most half an l-node."""
    node = nodes.cnodes[c]
    for half in (node.left, node.right):
        if half >= 0 and (nodes.cnodes[half].is_split or nodes.cnodes[half].directory >= 0):
            return False
    return node.directory < 0 and 2 * node.size <= nodes.state[0].max_cap


@inline
def merge_halves(nodes, conjunctions, c):
    """Move the conjunctions of both halves into their bucket, and free the halves."""
    node = nodes.cnodes[c]
    for half in (node.left, node.right):
        if half >= 0:
            conjunction = clear_leaf(nodes, half)
            while conjunction >= 0:
                following = conjunctions.next[conjunction]
                put_conjunction(nodes, conjunctions, c, conjunction)
                conjunction = following
            free_cnode(nodes, half)
    node.left = node.right = -1
    node.is_split = 0


@kernel
def list_below(nodes, conjunctions, tops, numbers):
    """List the conjunctions in the subtrees of c-nodes in `numbers`, repeated for nested subtrees; returns how many."""
    stack = np.empty(nodes.cnodes.size + 1, dtype=np.int32)
    count = 0
    for top in tops:
        stack[0] = top
        height = 1
        while height > 0:
            height -= 1
            node = nodes.cnodes[stack[height]]
            conjunction = node.first
            while conjunction >= 0:
                numbers[count] = conjunction
                count += 1
                conjunction = conjunctions.next[conjunction]
            for half in (node.left, node.right):
                if half >= 0:
                    stack[height] = half
                    height += 1
            p = node.directory
            while p >= 0:
                stack[height] = nodes.pnodes[p].top
                height += 1
                p = nodes.pnodes[p].next
    return count
