"""Which branches does the tree of `gryphon` have, and which of them does an event follow?"""

from __future__ import annotations

from collections.abc import Iterator

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, example
from docs.drawing.words import Words, structure
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex

TITLE = "Gryphon: a tree of predicates, one attribute after the other, with subscriptions at its nodes"

ROOT = 0


def draw() -> str:
    index = example("gryphon")
    words, tree = Words(index), structure(index)
    entries = words.entries(EVENT)
    branches = {n: branches_of(words, tree, n, entries) for n in range(len(tree.group_start) - 1)}
    visited, waiting = set(), [ROOT]
    while waiting:
        node = waiting.pop()
        visited.add(node)
        waiting += [child for child, (_, is_true) in branches[node].items() if is_true]
    found = [int(slot) for node in visited for slot in slots(tree, node)]
    assert words.subscriptions(found) == index.match(EVENT)
    boxes, arrows = [Box("0", "root", slots_said(words, tree, ROOT), "node", True)], []
    for node, children in branches.items():
        for child, (predicate, is_true) in children.items():
            ends = slots_said(words, tree, child)
            is_visited = child in visited
            boxes.append(
                Box(str(child), predicate, ends, "leaf" if ends else "node", is_visited,
                    marked=range(len(ends)) if is_visited else ())
            )  # fmt: skip
            arrows.append(Arrow(str(node), str(child), visited=node in visited and is_true))
    return picture(TITLE, boxes, arrows, "right")


def branches_of(words: Words, tree: GryphonIndex, node: int, entries: dict[int, int]) -> dict[int, tuple[str, bool]]:
    """The nodes that branches lead to; the predicate of each branch, and whether an event follows it."""
    points: dict[int, list[int]] = {}
    domains, found = {}, {}
    for group, domain in groups(tree, node):
        for k in range(tree.point_start[group], tree.point_start[group + 1]):
            points.setdefault(int(tree.point_child[k]), []).append(int(tree.point[k]))
            domains[int(tree.point_child[k])] = domain
        for k in range(tree.other_start[group], tree.other_start[group + 1]):
            predicate = int(tree.other[k])
            found[int(tree.other_child[k])] = words.predicate(predicate), words.is_satisfied(predicate, entries)
    for child, mine in points.items():
        said = words.said(domains[child], [(point, point) for point in mine])
        found[child] = said, entries.get(domains[child]) in mine
    return dict(sorted(found.items()))


def groups(tree: GryphonIndex, node: int) -> Iterator[tuple[int, int]]:
    """The groups of a node's branches, and the domain that each tests."""
    for group in range(tree.group_start[node], tree.group_start[node + 1]):
        yield group, int(tree.group_domain[group])


def slots(tree: GryphonIndex, node: int) -> list[int]:
    found: list[int] = tree.slot[tree.slot_start[node] : tree.slot_start[node + 1]].tolist()
    return found


def slots_said(words: Words, tree: GryphonIndex, node: int) -> list[str]:
    ends = words.subscriptions(slots(tree, node))
    return [", ".join(ends)] if ends else []
