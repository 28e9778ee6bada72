"""Kernels that build an IR-tree, or a subtree of it, from its intervals, and that remove a subtree."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import IRTreeArrays
from tellwhen.papers.ranked.kernels.ir_pool import (
    ROOT,
    allocate_block,
    allocate_node,
    choose_run_length,
    follow_link,
    free_block,
    free_node,
    set_link,
    write_block_entry,
)
from tellwhen.papers.ranked.kernels.layout import PATH_MAX


@kernel
def measure_r_trees(start, fan_out):
    """Return the number of blocks and of entries that the R-trees of these nodes need."""
    blocks, entries = 0, 0
    for node in range(start.size - 1):
        size = start[node + 1] - start[node]
        while size > 0:
            count = (size + fan_out - 1) // fan_out
            blocks += count
            entries += (count - 1) * fan_out + choose_run_length(size - (count - 1) * fan_out, fan_out)
            size = count if count > 1 else 0
    return blocks, entries


@inline
def build_r_tree(tree, begin, end, low, high, key, number, below, above):
    """Pack the intervals begin:end, which are in score order, into an R-tree, level by level; return its root.

    `below` and `above` are working arrays for the blocks of two levels.
    """
    fan_out = tree.fan_out
    size, level = end - begin, 0
    while True:
        count = (size + fan_out - 1) // fan_out
        for b in range(count):
            block_size = min(fan_out, size - b * fan_out)
            block = allocate_block(tree, choose_run_length(block_size, fan_out), level)
            tree.size[block] = block_size
            first = tree.first[block]
            for k in range(block_size):
                i = b * fan_out + k
                if level == 0:
                    tree.low[first + k] = low[begin + i]
                    tree.high[first + k] = high[begin + i]
                    tree.key[first + k] = key[begin + i]
                    tree.item[first + k] = number[begin + i]
                else:
                    write_block_entry(tree, below[i], first + k)
            above[b] = block
        if count == 1:
            return above[0]
        below[:count] = above[:count]
        size, level = count, level + 1


@kernel
def insert_subtree(packed, link, centre, left, right, start, low, high, key, number):
    """Hang a tree of nodes at a link, each with an R-tree of its intervals start[v]:start[v+1].

    The pools must have room, and nothing hangs at the link: the nodes above have the weights of a tree without it.
    """
    tree = unpack(packed, IRTreeArrays)
    nodes = centre.size
    pool_nodes = np.empty(nodes, dtype=np.int64)
    size_max = 1
    for v in range(nodes):
        size_max = max(size_max, start[v + 1] - start[v])
    below, above = np.empty(size_max, dtype=np.int64), np.empty(size_max, dtype=np.int64)
    for v in range(nodes):
        pool_nodes[v] = allocate_node(tree, centre[v])
    for v in range(nodes - 1, -1, -1):  # children have higher numbers: their weights are known
        node = pool_nodes[v]
        weight = 1 + start[v + 1] - start[v]
        if left[v] >= 0:
            tree.left[node] = pool_nodes[left[v]]
            weight += tree.weight[pool_nodes[left[v]]]
        if right[v] >= 0:
            tree.right[node] = pool_nodes[right[v]]
            weight += tree.weight[pool_nodes[right[v]]]
        tree.weight[node] = weight
        tree.root[node] = build_r_tree(tree, start[v], start[v + 1], low, high, key, number, below, above)
    set_link(tree, link, pool_nodes[0] if nodes else np.int64(-1))
    if nodes:
        add_weight_above(tree, link, centre[0], tree.weight[pool_nodes[0]])


@inline
def add_weight_above(tree, link, centre, change):
    """Add `change` to the weights of all nodes above a link, where a node with this centre hangs."""
    node = tree.counts[ROOT]
    while link >= 0:
        tree.weight[node] += change
        if node == link >> 1:
            break
        node = np.int64(tree.left[node] if centre < tree.centre[node] else tree.right[node])


@kernel
def remove_subtree(packed, link):
    """Remove the subtree at a link, and free its nodes and blocks.

    Returns its intervals (low, high, key, number), in score order within each node.
    """
    tree = unpack(packed, IRTreeArrays)
    top = follow_link(tree, link)
    size_max = tree.weight[top]
    low, high = np.empty(size_max, dtype=np.int64), np.empty(size_max, dtype=np.int64)
    key, number = np.empty(size_max, dtype=np.int64), np.empty(size_max, dtype=np.int32)
    add_weight_above(tree, link, tree.centre[top], -size_max)
    set_link(tree, link, np.int64(-1))
    nodes = np.empty(2 * PATH_MAX, dtype=np.int64)
    blocks = np.empty(64 * tree.fan_out, dtype=np.int64)
    nodes[0] = top
    node_count, found = 1, 0
    while node_count:
        node_count -= 1
        node = nodes[node_count]
        block_count = 0
        if tree.root[node] >= 0:
            blocks[0] = tree.root[node]
            block_count = 1
        while block_count:
            block_count -= 1
            block = blocks[block_count]
            first = tree.first[block]
            for k in range(tree.size[block]):
                if tree.level[block] > 0:  # push the last child first, so that children are popped in order
                    blocks[block_count + tree.size[block] - 1 - k] = tree.item[first + k]
                else:
                    low[found] = tree.low[first + k]
                    high[found] = tree.high[first + k]
                    key[found] = tree.key[first + k]
                    number[found] = tree.item[first + k]
                    found += 1
            block_count += tree.size[block] if tree.level[block] > 0 else 0
            free_block(tree, block)
        for child in (tree.left[node], tree.right[node]):
            if child >= 0:
                nodes[node_count] = child
                node_count += 1
        free_node(tree, node)
    return low[:found], high[:found], key[:found], number[:found]
