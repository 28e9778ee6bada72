"""Kernels that encode trees in few bytes and compute the minimum of their satisfied leaves (A-Tree, section 2).

    (1 OR 2 OR 3) AND 4 AND (5 OR 6)    1 3  2 3  4 1  4 2  4 3  4 4  2 2  4 5  4 6    minimum 3

The minimum of a leaf is 1, of an AND the sum of the minima of its children, of an OR the least of these. The example is
the paper's figure 2.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bop.arrays import CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE
from tellwhen.papers.a_tree.shared.kernels.expand import count_children, is_or


@inline
def measure_number(number):
    """Return the bytes of an encoded number."""
    size = 1
    while number > 127:
        number >>= 7
        size += 1
    return size


@inline
def write_number(encoding, at, number):
    """Write a number from byte `at` on; return the offset behind it."""
    while number > 127:
        encoding[at] = (number & 127) | 128
        number >>= 7
        at += 1
    encoding[at] = number
    return at + 1


@inline
def read_number(encoding, at):
    """Return the number that begins at byte `at`, and the offset behind it."""
    byte = np.int64(encoding[np.uint64(at)])
    number, shift = byte & 127, 0
    while byte > 127:
        at += 1
        shift += 7
        byte = np.int64(encoding[np.uint64(at)])
        number |= (byte & 127) << shift
    return number, at + 1


@inline
def compute_minimum(node, start, end, pending):
    """Return the number of leaves that a tree needs to be true. Children come after their parent."""
    count = 0
    for i in range(end - 1, start - 1, -1):
        minimum = np.int64(1)
        if node[i] < 0:
            count -= 1
            minimum = pending[count]
            for _ in range(count_children(node[i]) - 1):
                count -= 1
                minimum = min(minimum, pending[count]) if is_or(node[i]) else minimum + pending[count]
        pending[count] = minimum
        count += 1
    return pending[0]


@kernel
def measure_encodings(tree_start, node, pending, minimum, start):
    """Write the minimum of every tree, and the begin and end of its encoding.

    `pending` is scratch for the nodes of the largest tree.
    """
    for x in range(tree_start.size - 1):
        minimum[x] = compute_minimum(node, tree_start[x], tree_start[x + 1], pending)
        start[x + 1] = start[x]
        for i in range(tree_start[x], tree_start[x + 1]):
            start[x + 1] += 1 + measure_number(node[i] if node[i] >= 0 else count_children(node[i]))


@kernel
def write_encodings(node, encoding):
    """Write the encodings of all trees, one after the other."""
    at = 0
    for word in node:
        if word >= 0:
            encoding[at] = LEAF_CODE
            at = write_number(encoding, at + 1, word)
        else:
            encoding[at] = DISJUNCTION_CODE if is_or(word) else CONJUNCTION_CODE
            at = write_number(encoding, at + 1, count_children(word))
