"""What happens to nodes whose conjunctions are taken out? (BE-Tree, section 4.3, the merge rule.)"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.betree.arrays import FREED
from tellwhen.engines.betree.kernels.nodes import capacity_for, emptied, free_cnode, free_pnode, put
from tellwhen.kernels.jit import inline, kernel


@kernel
def take_out(nodes, conjunctions, numbers, touched):
    """Take conjunctions out of their l-nodes; returns how many c-nodes in `touched` have lost some. Nodes stay.

    `numbers` come sorted by c-node.
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
        conjunction = emptied(nodes, c)
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
    """The bucket that it is a half of, or else the c-node of its p-node; -1 for the root."""
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
    """After conjunctions were taken out of c-nodes: free what is empty and merge buckets, from there up to the root."""
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
    """Is there nothing in its subtree, and no node below?"""
    return node.size == 0 and node.directory < 0 and node.left < 0 and node.right < 0


@inline
def free(nodes, c):
    """Free an empty c-node; if it is a top bucket, its p-node too."""
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
    """The merge rule: is the bucket not partitioned, nor its halves divided further, and would an l-node be half empty?"""
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
            conjunction = emptied(nodes, half)
            while conjunction >= 0:
                following = conjunctions.next[conjunction]
                put(nodes, conjunctions, c, conjunction)
                conjunction = following
            free_cnode(nodes, half)
    node.left = node.right = -1
    node.is_split = 0


@kernel
def conjunctions_below(nodes, conjunctions, tops, found):
    """All conjunctions in the subtrees of some c-nodes; returns how many. Subtrees that are nested repeat them."""
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
