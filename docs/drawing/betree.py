"""The nodes of a BE-Tree, and those that an event visits."""

from __future__ import annotations

from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, Spaces, get_arrays
from docs.drawing.example import EVENT, build_example
from tellwhen.papers.be_tree.betree.arrays import DIRECTORY, DOMAIN, HIGH, LEFT, LOW, RIGHT, WORDS, BETreeIndex

TITLE = "A BE-Tree: the root has p-nodes for two attributes, below them are c-nodes with buckets of values"

ROOT = 0


class Conjunction(NamedTuple):
    """A conjunction in an l-node: its slot, and the predicates that the path to the node does not decide."""

    slot: int
    predicates: list[int]


def draw() -> str:
    index = build_example("betree", max_cap=1, min_size=2)
    decoder, tree = IndexDecoder(index), get_arrays(index)
    spaces, event_points = Spaces(decoder, tree.cut_start, tree.cuts), decoder.encode_event(EVENT)
    visited = find_visited_nodes(tree, spaces, event_points)
    boxes, arrows, matched_names = [], [], []
    for n in range(len(tree.nodes) - 1):
        conjunctions = read_conjunctions(tree, n)
        is_true = [all(decoder.is_satisfied(p, event_points) for p in one.predicates) for one in conjunctions]
        matched_lines = [k for k, _ in enumerate(conjunctions) if n in visited and is_true[k]]
        matched_names += [decoder.name_subscription(conjunctions[k].slot) for k in matched_lines]
        boxes.append(make_cnode_box(decoder, spaces, tree, n, n in visited, matched_lines))
        for k in range(tree.nodes[n, DIRECTORY], tree.nodes[n + 1, DIRECTORY]):
            top, domain = int(tree.pnode_top[k]), int(tree.pnode_domain[k])
            boxes.append(Box(f"p{k}", f"p-node: {decoder.name_attribute(domain)}", is_visited=top in visited))
            arrows.append(Arrow(str(n), f"p{k}", is_visited=top in visited))
            arrows.append(Arrow(f"p{k}", str(top), is_visited=top in visited))
        for half in list_halves(tree, n):
            arrows.append(Arrow(str(n), str(half), is_visited=half in visited))
    assert sorted(matched_names) == sorted(index.match(EVENT))
    return draw_graph(TITLE, boxes, arrows)


def find_visited_nodes(tree: BETreeIndex, spaces: Spaces, event_points: dict[int, int]) -> set[int]:
    """Return the nodes that an event reaches: those whose minimal interval contains its value, from the root down."""
    visited, waiting = set(), [ROOT]
    while waiting:
        n = waiting.pop()
        domain, low, high = (int(tree.nodes[n, column]) for column in (DOMAIN, LOW, HIGH))
        if n == ROOT or (domain in event_points and low <= spaces.find(domain, event_points[domain]) <= high):
            visited.add(n)
            waiting += tree.pnode_top[tree.nodes[n, DIRECTORY] : tree.nodes[n + 1, DIRECTORY]].tolist()
            waiting += list_halves(tree, n)
    return visited


def list_halves(tree: BETreeIndex, n: int) -> list[int]:
    """Return the children of a bucket; each of the two halves may be absent."""
    return [int(tree.nodes[n, column]) for column in (LEFT, RIGHT) if tree.nodes[n, column] >= 0]


def read_conjunctions(tree: BETreeIndex, n: int) -> list[Conjunction]:
    """Return the conjunctions in the l-node of a node. Each is stored as (number of predicates, slot, *predicates)."""
    offset, end, conjunctions = int(tree.nodes[n, WORDS]), int(tree.nodes[n + 1, WORDS]), []
    while offset < end:
        count, slot = tree.words[offset : offset + 2].tolist()
        conjunctions.append(Conjunction(slot, tree.words[offset + 2 : offset + 2 + count].tolist()))
        offset += 2 + count
    return conjunctions


def make_cnode_box(
    decoder: IndexDecoder, spaces: Spaces, tree: BETreeIndex, n: int, is_visited: bool, marked_lines: list[int]
) -> Box:
    _, low, high = (int(tree.nodes[n, column]) for column in (DOMAIN, LOW, HIGH))
    head = "root" if n == ROOT else spaces.format(low, high)
    lines = []
    for slot, predicates in read_conjunctions(tree, n):
        rest = " AND ".join(decoder.format_predicate(p) for p in predicates)
        lines.append(f"{decoder.name_subscription(slot)}: {rest or 'nothing left to test'}")
    return Box(str(n), head, lines, "leaf" if lines else "node", is_visited, marked_lines=marked_lines)
