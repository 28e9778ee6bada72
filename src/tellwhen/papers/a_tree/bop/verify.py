"""Is an index of `bop` whole? Its invariants, checked; for tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tellwhen.kernels.arrays import U8
from tellwhen.papers.a_tree.bop.arrays import CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE, BoPIndex
from tellwhen.papers.a_tree.shared.kernels.expand import group_word
from tellwhen.papers.a_tree.shared.trees import Trees

Node = tuple[int, int]
"""What it begins with in an encoding, and its predicate or the number of its children."""


def check_encodings(index: BoPIndex, trees: Trees) -> None:
    """Encodings are those of the trees, and minima are theirs."""
    posted = index.posted
    assert len(index.start) == posted.trees + 1
    assert len(index.minimum) == len(posted.slot)
    assert (index.minimum[posted.trees :] == 1).all(), "code has a minimum other than 1"
    assert index.start[0] == 0, "the first encoding does not begin at 0"
    assert index.start[-1] == len(index.encoding), "the last encoding does not end with the bytes"
    for x, (begin, end) in enumerate(pairwise(index.start.tolist())):
        nodes = read_nodes(index.encoding[begin:end])
        wanted = trees.node[trees.start[x] : trees.start[x + 1]].tolist()
        assert [word(node) for node in nodes] == wanted, "an encoding is not that of its tree"
        assert least_leaves(nodes) == index.minimum[x], "a minimum is not that of its tree"


def numbers(encoding: U8) -> Iterator[int]:
    """The numbers of an encoding."""
    number = shift = 0
    for byte in encoding.tolist():
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0
    assert shift == 0, "an encoding ends within a number"


def read_nodes(encoding: U8) -> list[Node]:
    """The nodes of an encoding."""
    read = list(numbers(encoding))
    assert len(read) % 2 == 0, "a node has no number"
    return list(zip(read[::2], read[1::2], strict=True))


def word(node: Node) -> int:
    """The node as it is in a tree."""
    code, number = node
    assert code in (CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE), "a node is of no kind"
    return number if code == LEAF_CODE else int(group_word(number, code == DISJUNCTION_CODE))


def least_leaves(nodes: list[Node]) -> int:
    """How many leaves must be true at least."""
    needs: list[int] = []  # of nodes whose parent comes further left
    for code, number in reversed(nodes):
        if code == LEAF_CODE:
            needs.append(1)
        else:
            below = needs[-number:]
            needs[-number:] = [sum(below) if code == CONJUNCTION_CODE else min(below)]
    return needs[0]
