"""What is the encoding of an expression, how many of its leaves must be true, and which of them does an event count?"""

from __future__ import annotations

from collections.abc import Iterator

from docs.drawing.boxes import Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.leaves import Leaf, found_leaves, posting_arrows, predicate_boxes
from docs.drawing.routed import picture
from docs.drawing.words import Words, structure
from tellwhen.papers.a_tree.bop.arrays import DISJUNCTION_CODE, LEAF_CODE
from tellwhen.papers.a_tree.bop.verify import Node, read_nodes

TITLE = "BoP: every expression has a minimum of satisfied leaves, and an encoding of a few bytes"


def draw() -> str:
    index = example("bop")
    words, bop = Words(index), structure(index)
    found = found_leaves(words, bop.posted)
    boxes, arrows = predicate_boxes(words, found, is_numbered=True), posting_arrows(found)
    matched = []
    for x, slot in enumerate(bop.posted.slot):
        nodes = read_nodes(bop.encoding[bop.start[x] : bop.start[x + 1]])
        count, minimum = len(found.satisfied[x]), int(bop.minimum[x])
        is_true = count >= minimum and accepts(nodes, found.true)
        matched += [words.subscription(slot)] * is_true
        how = "true" if is_true else "evaluated, but false" if count >= minimum else "not evaluated"
        head = f"{words.subscription(slot)} needs {minimum}, has {count}: {how}"
        boxes.append(expression_box(head, f"x{x}", nodes, found.satisfied[x], is_true))
    assert sorted(matched) == sorted(index.match(EVENT))
    return picture(TITLE, boxes, arrows, towards="right", apart=100)


def expression_box(head: str, name: str, nodes: list[Node], satisfied: list[Leaf], is_true: bool) -> Box:
    """The encoding, what it says, and the leaves that the event counts."""
    lines = ["  ".join(f"{code} {number}" for code, number in nodes), said(iter(nodes))]
    if satisfied:
        lines.append("satisfied: " + ", ".join(str(leaf.predicate) for leaf in satisfied))
    return Box(name, head, lines, "result" if is_true else "node", bool(satisfied), marked=[2] if satisfied else ())


def said(nodes: Iterator[Node]) -> str:
    """The next node of an encoding, with all that is below it."""
    code, number = next(nodes)
    if code == LEAF_CODE:
        return str(number)
    return f"{'OR' if code == DISJUNCTION_CODE else 'AND'}({', '.join(said(nodes) for _ in range(number))})"


def accepts(nodes: list[Node], true: set[int]) -> bool:
    """Is the expression true? Children come behind their parent."""
    values: list[bool] = []
    for code, number in reversed(nodes):
        if code == LEAF_CODE:
            values.append(number in true)
        else:
            below = values[-number:]
            values[-number:] = [any(below) if code == DISJUNCTION_CODE else all(below)]
    return values[0]
