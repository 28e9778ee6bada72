"""Checks of the encodings and minima of an index, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tellwhen.kernels.arrays import U8
from tellwhen.papers.a_tree.bop.arrays import CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE, BoPIndex
from tellwhen.papers.a_tree.shared.kernels.expand import encode_group
from tellwhen.papers.a_tree.shared.trees import Trees

Node = tuple[int, int]
"""The code of a node in an encoding, and its predicate or the number of its children."""


def check_encodings(index: BoPIndex, trees: Trees) -> None:
    """Check that encodings and minima agree with the trees."""
    posted = index.posted
    assert len(index.start) == posted.trees + 1
    assert len(index.minimum) == len(posted.slot)
    assert (index.minimum[posted.trees :] == 1).all(), "an expression without a tree has a minimum other than 1"
    assert index.start[0] == 0, "the first encoding does not begin at 0"
    assert index.start[-1] == len(index.encoding), "the last encoding does not end with the bytes"
    for x, (begin, end) in enumerate(pairwise(index.start.tolist())):
        nodes = read_nodes(index.encoding[begin:end])
        wanted = trees.node[trees.start[x] : trees.start[x + 1]].tolist()
        assert [encode_node(node) for node in nodes] == wanted, "an encoding differs from its tree"
        assert compute_minimum(nodes) == index.minimum[x], "a minimum differs from its tree"


def read_numbers(encoding: U8) -> Iterator[int]:
    number = shift = 0
    for byte in encoding.tolist():
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0
    assert shift == 0, "an encoding ends within a number"


def read_nodes(encoding: U8) -> list[Node]:
    """Return the nodes of an encoding in preorder."""
    numbers = list(read_numbers(encoding))
    assert len(numbers) % 2 == 0, "a node has no number"
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def encode_node(node: Node) -> int:
    """Encode a node as a word of a tree."""
    code, number = node
    assert code in (CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE), "a node is of no kind"
    return number if code == LEAF_CODE else int(encode_group(number, code == DISJUNCTION_CODE))


def compute_minimum(nodes: list[Node]) -> int:
    """Return the number of leaves that an expression needs to be true."""
    minima: list[int] = []  # of nodes whose parent is further left
    for code, number in reversed(nodes):
        if code == LEAF_CODE:
            minima.append(1)
        else:
            children = minima[-number:]
            minima[-number:] = [sum(children) if code == CONJUNCTION_CODE else min(children)]
    return minima[0]
