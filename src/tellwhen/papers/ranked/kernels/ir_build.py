"""How is an IR-tree, or a subtree of it, built from all its intervals? And how are they taken out again?"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import IRTreeArrays
from tellwhen.papers.ranked.kernels.ir_pool import (
    ROOT,
    describe,
    free_block,
    free_node,
    linked,
    new_block,
    new_node,
    room_for,
    set_link,
)
from tellwhen.papers.ranked.kernels.layout import PATH_MAX


@kernel
def planted_size(start, fan_out):
    """How many blocks and entries do the R-trees of these nodes need?"""
    blocks, entries = 0, 0
    for node in range(start.size - 1):
        size = start[node + 1] - start[node]
        while size > 0:
            count = (size + fan_out - 1) // fan_out
            blocks += count
            entries += (count - 1) * fan_out + room_for(size - (count - 1) * fan_out, fan_out)
            size = count if count > 1 else 0
    return blocks, entries


@inline
def build_r_tree(tree, begin, end, low, high, key, number, below, above):
    """Pack the intervals begin:end, which are in score order, level by level; returns the root."""
    fan_out = tree.fan_out
    size, level = end - begin, 0
    while True:
        count = (size + fan_out - 1) // fan_out
        for b in range(count):
            inside = min(fan_out, size - b * fan_out)
            block = new_block(tree, room_for(inside, fan_out), level)
            tree.size[block] = inside
            first = tree.first[block]
            for k in range(inside):
                i = b * fan_out + k
                if level == 0:
                    tree.low[first + k] = low[begin + i]
                    tree.high[first + k] = high[begin + i]
                    tree.key[first + k] = key[begin + i]
                    tree.item[first + k] = number[begin + i]
                else:
                    describe(tree, below[i], first + k)
            above[b] = block
        if count == 1:
            return above[0]
        below[:count] = above[:count]
        size, level = count, level + 1


@kernel
def plant(packed, link, centre, left, right, start, low, high, key, number):
    """Hang a tree of nodes at a link, each with an R-tree of its intervals start[v]:start[v+1]. The pools have room,
    and the weights above are as if nothing hung there before."""
    tree = unpack(packed, IRTreeArrays)
    nodes = centre.size
    planted = np.empty(nodes, dtype=np.int64)
    most = 1
    for v in range(nodes):
        most = max(most, start[v + 1] - start[v])
    below, above = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for v in range(nodes):
        planted[v] = new_node(tree, centre[v])
    for v in range(nodes - 1, -1, -1):  # children have higher numbers: their weights are known
        node = planted[v]
        weight = 1 + start[v + 1] - start[v]
        if left[v] >= 0:
            tree.left[node] = planted[left[v]]
            weight += tree.weight[planted[left[v]]]
        if right[v] >= 0:
            tree.right[node] = planted[right[v]]
            weight += tree.weight[planted[right[v]]]
        tree.weight[node] = weight
        tree.root[node] = build_r_tree(tree, start[v], start[v + 1], low, high, key, number, below, above)
    set_link(tree, link, planted[0] if nodes else np.int64(-1))
    if nodes:
        add_above(tree, link, centre[0], tree.weight[planted[0]])


@inline
def add_above(tree, link, centre, more):
    """Change the weights of all nodes above a link, at which a node with this centre hangs."""
    node = tree.counts[ROOT]
    while link >= 0:
        tree.weight[node] += more
        if node == link >> 1:
            break
        node = np.int64(tree.left[node] if centre < tree.centre[node] else tree.right[node])


@kernel
def uproot(packed, link):
    """Take all intervals of the subtree at a link out, and free its nodes and blocks: (low, high, key, number), in
    score order within each node."""
    tree = unpack(packed, IRTreeArrays)
    top = linked(tree, link)
    most = tree.weight[top]
    low, high = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    key, number = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int32)
    add_above(tree, link, tree.centre[top], -most)
    set_link(tree, link, np.int64(-1))
    nodes = np.empty(2 * PATH_MAX, dtype=np.int64)
    blocks = np.empty(64 * tree.fan_out, dtype=np.int64)
    nodes[0] = top
    waiting, found = 1, 0
    while waiting:
        waiting -= 1
        node = nodes[waiting]
        todo = 0
        if tree.root[node] >= 0:
            blocks[0] = tree.root[node]
            todo = 1
        while todo:
            todo -= 1
            block = blocks[todo]
            first = tree.first[block]
            for k in range(tree.size[block]):
                if tree.level[block] > 0:  # the last one on top: in order
                    blocks[todo + tree.size[block] - 1 - k] = tree.item[first + k]
                else:
                    low[found] = tree.low[first + k]
                    high[found] = tree.high[first + k]
                    key[found] = tree.key[first + k]
                    number[found] = tree.item[first + k]
                    found += 1
            todo += tree.size[block] if tree.level[block] > 0 else 0
            free_block(tree, block)
        for child in (tree.left[node], tree.right[node]):
            if child >= 0:
                nodes[waiting] = child
                waiting += 1
        free_node(tree, node)
    return low[:found], high[:found], key[:found], number[:found]
