"""The branches of the tree of `gryphon`, and those that an event follows."""

from __future__ import annotations

from collections.abc import Iterator

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example import EVENT, build_example
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex

TITLE = "Gryphon: a tree of predicates, one attribute after the other, with subscriptions at its nodes"

ROOT = 0


def draw() -> str:
    index = build_example("gryphon")
    decoder, tree = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    branches = {n: read_branches(decoder, tree, n, event_points) for n in range(len(tree.group_start) - 1)}
    visited, waiting = set(), [ROOT]
    while waiting:
        node = waiting.pop()
        visited.add(node)
        waiting += [child for child, (_, is_true) in branches[node].items() if is_true]
    matched_slots = [int(slot) for node in visited for slot in read_slots(tree, node)]
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    boxes, arrows = [Box("0", "root", format_slots(decoder, tree, ROOT), "node", True)], []
    for node, children in branches.items():
        for child, (predicate, is_true) in children.items():
            lines = format_slots(decoder, tree, child)
            is_visited = child in visited
            boxes.append(
                Box(str(child), predicate, lines, "leaf" if lines else "node", is_visited,
                    marked_lines=range(len(lines)) if is_visited else ())
            )  # fmt: skip
            arrows.append(Arrow(str(node), str(child), is_visited=node in visited and is_true))
    return draw_graph(TITLE, boxes, arrows, "right")


def read_branches(
    decoder: IndexDecoder, tree: GryphonIndex, node: int, event_points: dict[int, int]
) -> dict[int, tuple[str, bool]]:
    """Return (predicate, whether an event follows it) of each branch of a node, by the child it leads to."""
    points: dict[int, list[int]] = {}
    domains, branches = {}, {}
    for group, domain in list_groups(tree, node):
        for k in range(tree.point_start[group], tree.point_start[group + 1]):
            points.setdefault(int(tree.point_child[k]), []).append(int(tree.point[k]))
            domains[int(tree.point_child[k])] = domain
        for k in range(tree.other_start[group], tree.other_start[group + 1]):
            predicate = int(tree.other[k])
            branches[int(tree.other_child[k])] = (
                decoder.format_predicate(predicate),
                decoder.is_satisfied(predicate, event_points),
            )
    for child, child_points in points.items():
        predicate_text = decoder.format_intervals(domains[child], [(point, point) for point in child_points])
        branches[child] = predicate_text, event_points.get(domains[child]) in child_points
    return dict(sorted(branches.items()))


def list_groups(tree: GryphonIndex, node: int) -> Iterator[tuple[int, int]]:
    """Yield the groups of a node's branches, and the domain that each group tests."""
    for group in range(tree.group_start[node], tree.group_start[node + 1]):
        yield group, int(tree.group_domain[group])


def read_slots(tree: GryphonIndex, node: int) -> list[int]:
    slots: list[int] = tree.slot[tree.slot_start[node] : tree.slot_start[node + 1]].tolist()
    return slots


def format_slots(decoder: IndexDecoder, tree: GryphonIndex, node: int) -> list[str]:
    lines = decoder.name_subscriptions(read_slots(tree, node))
    return [", ".join(lines)] if lines else []
