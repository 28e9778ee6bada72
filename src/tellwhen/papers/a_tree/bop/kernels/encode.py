"""How is a tree encoded in few bytes, and how many of its leaves must be true at least? (A-Tree, section 2, figure 2.)

    (1 OR 2 OR 3) AND 4 AND (5 OR 6)    1 3  2 3  4 1  4 2  4 3  4 4  2 2  4 5  4 6    minimum 3

A leaf needs itself; an AND needs the sum of what its children need, an OR the least of it.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bop.arrays import CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE
from tellwhen.papers.a_tree.shared.kernels.expand import children_of, is_or


@inline
def size_of(number):
    """The bytes that a number takes."""
    size = 1
    while number > 127:
        number >>= 7
        size += 1
    return size


@inline
def put_number(encoding, at, number):
    """Write a number; returns where the next one begins."""
    while number > 127:
        encoding[at] = (number & 127) | 128
        number >>= 7
        at += 1
    encoding[at] = number
    return at + 1


@inline
def number_at(encoding, at):
    """The number that begins there, and where the next one does."""
    byte = np.int64(encoding[np.uint64(at)])
    number, shift = byte & 127, 0
    while byte > 127:
        at += 1
        shift += 7
        byte = np.int64(encoding[np.uint64(at)])
        number |= (byte & 127) << shift
    return number, at + 1


@inline
def least_leaves(node, start, end, pending):
    """How many leaves of a tree must be true at least. Children come behind their parent."""
    count = 0
    for i in range(end - 1, start - 1, -1):
        least = np.int64(1)
        if node[i] < 0:
            count -= 1
            least = pending[count]
            for _ in range(children_of(node[i]) - 1):
                count -= 1
                least = min(least, pending[count]) if is_or(node[i]) else least + pending[count]
        pending[count] = least
        count += 1
    return pending[0]


@kernel
def measure(tree_start, node, pending, minimum, start):
    """The minimum of every tree, and where its encoding begins and ends. `pending` is scratch, for all its nodes."""
    for x in range(tree_start.size - 1):
        minimum[x] = least_leaves(node, tree_start[x], tree_start[x + 1], pending)
        start[x + 1] = start[x]
        for i in range(tree_start[x], tree_start[x + 1]):
            start[x + 1] += 1 + size_of(node[i] if node[i] >= 0 else children_of(node[i]))


@kernel
def encode(node, encoding):
    """Write the encodings of all trees, one after the other."""
    at = 0
    for word in node:
        if word >= 0:
            encoding[at] = LEAF_CODE
            at = put_number(encoding, at + 1, word)
        else:
            encoding[at] = DISJUNCTION_CODE if is_or(word) else CONJUNCTION_CODE
            at = put_number(encoding, at + 1, children_of(word))
