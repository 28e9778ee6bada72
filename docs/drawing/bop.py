"""The encoding of each expression, the minimum of its true leaves, and the leaves that an event counts."""

from __future__ import annotations

from collections.abc import Iterator

from docs.drawing.boxes import Box
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.leaves import Leaf, make_posting_arrows, make_predicate_boxes, read_leaves
from docs.drawing.routing import draw_routed_graph
from tellwhen.papers.a_tree.bop.arrays import DISJUNCTION_CODE, LEAF_CODE
from tellwhen.papers.a_tree.bop.verify import Node, read_nodes

TITLE = "BoP: every expression has a minimum of satisfied leaves, and an encoding of a few bytes"


def draw() -> str:
    index = build_example("bop")
    decoder, bop = IndexDecoder(index), get_arrays(index)
    table = read_leaves(decoder, bop.posted)
    boxes, arrows = make_predicate_boxes(decoder, table, is_numbered=True), make_posting_arrows(table)
    matched_names = []
    for x, slot in enumerate(bop.posted.slot):
        nodes = read_nodes(bop.encoding[bop.start[x] : bop.start[x + 1]])
        count, minimum = len(table.satisfied_leaves[x]), int(bop.minimum[x])
        is_true = count >= minimum and evaluate(nodes, table.true_predicates)
        matched_names += [decoder.name_subscription(slot)] * is_true
        outcome = "true" if is_true else "evaluated, but false" if count >= minimum else "not evaluated"
        head = f"{decoder.name_subscription(slot)} needs {minimum}, has {count}: {outcome}"
        boxes.append(make_expression_box(head, f"x{x}", nodes, table.satisfied_leaves[x], is_true))
    assert sorted(matched_names) == sorted(index.match(EVENT))
    return draw_routed_graph(TITLE, boxes, arrows, towards="right", extra_gap=100)


def make_expression_box(head: str, name: str, nodes: list[Node], satisfied_leaves: list[Leaf], is_true: bool) -> Box:
    """Return a box with an encoding, the expression it stands for, and the leaves that the event satisfies."""
    lines = ["  ".join(f"{code} {number}" for code, number in nodes), format_node(iter(nodes))]
    if satisfied_leaves:
        lines.append("satisfied: " + ", ".join(str(leaf.predicate) for leaf in satisfied_leaves))
    return Box(
        name,
        head,
        lines,
        "result" if is_true else "node",
        bool(satisfied_leaves),
        marked_lines=[2] if satisfied_leaves else (),
    )


def format_node(nodes: Iterator[Node]) -> str:
    """Return the text of the next node of an encoding with all its descendants."""
    code, number = next(nodes)
    if code == LEAF_CODE:
        return str(number)
    return f"{'OR' if code == DISJUNCTION_CODE else 'AND'}({', '.join(format_node(nodes) for _ in range(number))})"


def evaluate(nodes: list[Node], true_predicates: set[int]) -> bool:
    """Return whether an expression is true. In an encoding, children follow their parent."""
    values: list[bool] = []
    for code, number in reversed(nodes):
        if code == LEAF_CODE:
            values.append(number in true_predicates)
        else:
            children = values[-number:]
            values[-number:] = [any(children) if code == DISJUNCTION_CODE else all(children)]
    return values[0]
