"""Which Dewey ID has each leaf of a tree? (A-Tree, section 2; Fontoura et al., SIGMOD 2010.)"""

from __future__ import annotations

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.dewey.arrays import STAR
from tellwhen.papers.a_tree.shared.kernels.expand import children_of, is_or


@inline
def open_root(word, children, numbers):
    """Begin with the AND that the first level has the children of; returns how many nodes that takes."""
    is_and = word < 0 and not is_or(word)
    children[0], numbers[0] = children_of(word) if is_and else 1, 0
    return 1 if is_and else 0


@inline
def next_node(word, level, children, numbers):
    """Number the next node of a tree. Returns its level, and the one that the node behind it may be on."""
    while numbers[level] == children[level]:
        level -= 1
    numbers[level] += 1
    if word >= 0:
        return level, level
    children[level + 1], numbers[level + 1] = children_of(word), 0
    return level, level + 1


@kernel
def measure_ids(start, node, children, numbers, lengths):
    """By tree the components of its IDs, and their lengths, together. `children` and `numbers` are scratch."""
    for x in range(start.size - 1):
        lengths[x] = 0
        below = 0
        for i in range(start[x] + open_root(node[start[x]], children, numbers), start[x + 1]):
            level, below = next_node(node[i], below, children, numbers)
            if node[i] >= 0:
                lengths[x] += level + 2


@kernel
def write_ids(start, node, children, numbers, annotation, ids):
    """The IDs of all leaves of all trees, each with its length before it, and where each of them is."""
    leaves = written = 0
    for x in range(start.size - 1):
        below = 0
        for i in range(start[x] + open_root(node[start[x]], children, numbers), start[x + 1]):
            level, below = next_node(node[i], below, children, numbers)
            if node[i] < 0:
                continue
            annotation[leaves] = written
            leaves += 1
            ids[written] = level + 1
            for k in range(level + 1):
                is_last = k % 2 == 0 and numbers[k] == children[k]
                ids[written + 1 + k] = 2 * numbers[k] + (STAR if is_last else 0)
            written += level + 2
