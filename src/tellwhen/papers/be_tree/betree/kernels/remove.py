"""What happens to nodes when conjunctions are taken out of them? (BE-Tree, section 4.3, the merge rule.)"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FREED
from tellwhen.papers.be_tree.betree.kernels.nodes import capacity_for, clear_leaf, free_cnode, free_pnode, put


@kernel
def take_out(nodes, conjunctions, numbers, touched):
    """Take conjunctions out of their l-nodes, and list these c-nodes in `touched`; returns how many. No node is freed.

    `numbers` are sorted by c-node.
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
                put(nodes, conjunctions, c, conjunction)
            conjunction = following
        shrink(nodes, c, before - node.count)
        node.capacity = capacity_for(nodes, node.count)
    return count


@inline
def above(nodes, c):
    """The bucket that a c-node is a half of, or else the parent of its p-node; -1 for the root."""
    node = nodes.cnodes[c]
    if node.whole >= 0:
        return node.whole
    return nodes.pnodes[node.pnode].parent if node.pnode >= 0 else -1


@inline
def shrink(nodes, c, by):
    """Subtract from the size of a c-node, and of all above it."""
    while c >= 0:
        nodes.cnodes[c].size -= by
        c = above(nodes, c)


@kernel
def mend(nodes, conjunctions, touched):
    """After conjunctions were taken out of c-nodes: free empty nodes and merge halves, from there up to the root."""
    for c in touched:
        while c > 0 and nodes.cnodes[c].domain != FREED:
            following = above(nodes, c)
            if is_empty(nodes.cnodes[c]):
                free(nodes, c)
            elif nodes.cnodes[c].whole >= 0 and takes_halves_back(nodes, following):
                take_halves_back(nodes, conjunctions, following)
            c = following


@inline
def is_empty(node):
    """Has the c-node no conjunctions, and no nodes below?"""
    return node.size == 0 and node.directory < 0 and node.left < 0 and node.right < 0


@inline
def free(nodes, c):
    """Free an empty c-node, and its p-node if it is the top."""
    node = nodes.cnodes[c]
    if node.whole < 0:
        free_pnode(nodes, node.pnode)
    elif nodes.cnodes[node.whole].left == c:
        nodes.cnodes[node.whole].left = -1
    else:
        nodes.cnodes[node.whole].right = -1
    free_cnode(nodes, c)


@inline
def takes_halves_back(nodes, c):
    """The merge rule: are neither the bucket nor its halves divided further, and would one l-node be half empty?"""
    node = nodes.cnodes[c]
    for half in (node.left, node.right):
        if half >= 0 and (nodes.cnodes[half].is_split or nodes.cnodes[half].directory >= 0):
            return False
    return node.directory < 0 and 2 * node.size <= nodes.state[0].max_cap


@inline
def take_halves_back(nodes, conjunctions, c):
    """Undo the split of a bucket."""
    node = nodes.cnodes[c]
    for half in (node.left, node.right):
        if half >= 0:
            conjunction = clear_leaf(nodes, half)
            while conjunction >= 0:
                following = conjunctions.next[conjunction]
                put(nodes, conjunctions, c, conjunction)
                conjunction = following
            free_cnode(nodes, half)
    node.left = node.right = -1
    node.is_split = 0


@kernel
def conjunctions_below(nodes, conjunctions, tops, found):
    """List the conjunctions in the subtrees of some c-nodes; returns how many. Nested subtrees repeat them."""
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
                found[count] = conjunction
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
