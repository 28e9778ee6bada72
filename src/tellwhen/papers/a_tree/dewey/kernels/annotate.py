"""Kernels that number the nodes of trees and write the Dewey ID of every leaf (A-Tree, section 2, figure 1)."""

from __future__ import annotations

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.dewey.arrays import STAR
from tellwhen.papers.a_tree.shared.kernels.expand import count_children, is_or


@inline
def open_root(word, children, numbers):
    """Open the AND whose children are the first level; return how many nodes of the tree it takes: 1 or 0."""
    is_and = word < 0 and not is_or(word)
    children[0], numbers[0] = count_children(word) if is_and else 1, 0
    return 1 if is_and else 0


@inline
def number_node(word, level, children, numbers):
    """Assign a number to the next node of a tree.

    `level` is the deepest level that the node may be on, children[level] the number of children there, numbers[level]
    how many of them are numbered. Returns the node's level, and the deepest level of the node after it.
    """
    while numbers[level] == children[level]:
        level -= 1
    numbers[level] += 1
    if word >= 0:
        return level, level
    children[level + 1], numbers[level + 1] = count_children(word), 0
    return level, level + 1


@kernel
def measure_ids(start, node, children, numbers, words):
    """Count the words of the IDs of every tree. `children` and `numbers` are scratch by level."""
    for x in range(start.size - 1):
        words[x] = 0
        below = 0
        for i in range(start[x] + open_root(node[start[x]], children, numbers), start[x + 1]):
            level, below = number_node(node[i], below, children, numbers)
            if node[i] >= 0:
                words[x] += level + 2


@kernel
def write_ids(start, node, children, numbers, annotation, ids):
    """Write the IDs of all leaves, each with its length before it, and the offset of every ID to `annotation`."""
    leaves = written = 0
    for x in range(start.size - 1):
        below = 0
        for i in range(start[x] + open_root(node[start[x]], children, numbers), start[x + 1]):
            level, below = number_node(node[i], below, children, numbers)
            if node[i] < 0:
                continue
            annotation[leaves] = written
            leaves += 1
            ids[written] = level + 1
            for k in range(level + 1):
                is_last = k % 2 == 0 and numbers[k] == children[k]
                ids[written + 1 + k] = 2 * numbers[k] + (STAR if is_last else 0)
            written += level + 2
