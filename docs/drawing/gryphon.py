"""The branches of the tree of `gryphon`, and those that an event follows."""

from __future__ import annotations

from typing import NamedTuple

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
    branches = {n: read_branches(tree, n) for n in range(len(tree.nodes) - 1)}
    visited, waiting = set(), [ROOT]
    while waiting:
        node = waiting.pop()
        visited.add(node)
        waiting += [child for child, test in branches[node].items() if is_true(test, event_points)]
    conjunctions = {n: read_conjunctions(tree, n) for n in branches}
    matched_slots = [
        slot for n in visited for slot, tail in conjunctions[n] if all(is_true(test, event_points) for test in tail)
    ]
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    tests: dict[int, str] = {ROOT: "root"}
    boxes, arrows = [], []
    for node, children in branches.items():
        for child, test in children.items():
            tests[child] = format_test(decoder, test)
            arrows.append(Arrow(str(node), str(child), is_visited=node in visited and is_true(test, event_points)))
    for node, of_node in conjunctions.items():
        lines = [format_conjunction(decoder, slot, tail) for slot, tail in of_node]
        marked = [k for k, (slot, _) in enumerate(of_node) if node in visited and slot in matched_slots]
        boxes.append(
            Box(str(node), tests[node], lines, "leaf" if lines else "node", node in visited, marked_lines=marked)
        )
    return draw_graph(TITLE, boxes, arrows, "right")


class Test(NamedTuple):
    """A domain, and the intervals of its points that satisfy a predicate."""

    domain: int
    intervals: list[tuple[int, int]]


def is_true(test: Test, event_points: dict[int, int]) -> bool:
    point = event_points.get(test.domain)
    return point is not None and any(low <= point <= high for low, high in test.intervals)


def read_branches(tree: GryphonIndex, node: int) -> dict[int, Test]:
    """Return the test on each branch of a node, by the child it leads to."""
    branches: dict[int, Test] = {}
    for group in range(tree.nodes[node, 0], tree.nodes[node + 1, 0]):
        domain, first_point, first_other = tree.groups[group].tolist()
        for value, child in tree.points[first_point : tree.groups[group + 1, 1]].tolist():
            branches.setdefault(child, Test(domain, [])).intervals.append((value, value))
        for k in range(first_other, tree.groups[group + 1, 2]):
            intervals = slice(tree.other.start[k], tree.other.start[k + 1])
            low, high = tree.other.low[intervals].tolist(), tree.other.high[intervals].tolist()
            branches[int(tree.other_child[k])] = Test(domain, list(zip(low, high, strict=True)))
    return dict(sorted(branches.items()))


def read_conjunctions(tree: GryphonIndex, node: int) -> list[tuple[int, list[Test]]]:
    """Return the slot and the tail of each conjunction at a node. No test of the example has several intervals."""
    found = []
    for k in range(tree.nodes[node, 1], tree.nodes[node + 1, 1]):
        tail = tree.tails[tree.slots[k, 1] : tree.slots[k + 1, 1]].tolist()
        assert all(domain >= 0 for domain, *_ in tail), "a test has several intervals"
        found.append((int(tree.slots[k, 0]), [Test(domain, [(low, high)]) for domain, low, high in tail]))
    return found


def format_test(decoder: IndexDecoder, test: Test) -> str:
    return decoder.format_intervals(test.domain, test.intervals)


def format_conjunction(decoder: IndexDecoder, slot: int, tail: list[Test]) -> str:
    """Return the name of a subscription, with the tests that are left."""
    return (
        f"{decoder.name_subscription(slot)}{': ' if tail else ''}{' AND '.join(format_test(decoder, t) for t in tail)}"
    )
