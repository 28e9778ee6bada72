"""The nodes of an A-Tree, the links between them, and the nodes that an event visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.routing import draw_routed_graph
from tellwhen.engines.atree.arrays import LINK_WORDS, LINKS, NONE, RECORD, SLOTS, TESTS, ATreeIndex

TITLE = "An A-Tree: predicates on the left lead to ANDs and ORs, which are subscriptions or lead to others"


class Link(NamedTuple):
    """A link upwards: the inner node to visit, and a guard, the predicate that must be true for this visit."""

    target: int
    guard: int


class Record(NamedTuple):
    """The record of a predicate or of an inner node: the children that it tests, slots, and links upwards."""

    tests: list[int]
    slots: list[int]
    links: list[Link]


@dataclass
class Graph:
    """The records of all predicates and of all inner nodes."""

    predicates: list[Record]
    inner: list[Record]
    is_or: list[bool]

    @classmethod
    def from_arrays(cls, index: ATreeIndex) -> Graph:
        records = [read_record(index, n) for n in range(len(index.record_start) - 1)]
        first = len(records) - len(index.is_or)
        return cls(records[:first], records[first:], [bool(flag) for flag in index.is_or])

    def decode_child(self, test: int) -> tuple[bool, int]:
        """Return (whether an entry of `Record.tests` is a predicate, the number of the predicate or inner node)."""
        if test >= 0:
            return True, test % len(self.predicates)
        return False, ~test % len(self.inner)

    def is_on_demand(self, n: int) -> bool:
        """Return whether no link leads to an inner node, so that its parents evaluate it on demand."""
        return all(link.target != n for one in (*self.predicates, *self.inner) for link in one.links)


def read_record(index: ATreeIndex, n: int) -> Record:
    values = index.words[index.record_start[n] : index.record_start[n + 1]].tolist()
    slots = RECORD + values[TESTS]
    links = slots + values[SLOTS]
    assert len(values) == links + LINK_WORDS * values[LINKS]
    pairs = [Link(*values[at : at + LINK_WORDS]) for at in range(links, len(values), LINK_WORDS)]
    return Record(values[RECORD:slots], values[slots:links], pairs)


@dataclass
class Walk:
    """The nodes that an event visits, and those that it makes true."""

    graph: Graph
    true_predicates: set[int]

    def __post_init__(self) -> None:
        self.visited: set[int] = set()
        self.true_nodes: set[int] = set()
        self.slots: list[int] = []
        queued: set[int] = set()
        for p in sorted(self.true_predicates):
            self._propagate(self.graph.predicates[p], queued)
        for n, node in enumerate(self.graph.inner):  # numbered level by level
            if n in queued:
                self.visited.add(n)
                if self.graph.is_or[n] or all(self._is_true(test) for test in node.tests):
                    self.true_nodes.add(n)
                    self._propagate(node, queued)

    def _propagate(self, source: Record, queued: set[int]) -> None:
        self.slots += source.slots
        queued.update(link.target for link in source.links if self.is_open(link))

    def is_open(self, link: Link) -> bool:
        """Return whether a link of a true node may be followed: it has no guard, or its guard is true."""
        return link.guard == NONE or link.guard in self.true_predicates

    def _is_true(self, test: int) -> bool:
        is_predicate, n = self.graph.decode_child(test)
        if is_predicate:
            return n in self.true_predicates
        if n not in self.visited and self.graph.is_on_demand(n):
            self.visited.add(n)
            values = [self._is_true(one) for one in self.graph.inner[n].tests]
            if any(values) if self.graph.is_or[n] else all(values):
                self.true_nodes.add(n)
        return n in self.true_nodes


def draw() -> str:
    index = build_example("atree")
    decoder = IndexDecoder(index)
    graph = Graph.from_arrays(get_arrays(index))
    event_points = decoder.encode_event(EVENT)
    walk = Walk(graph, {p for p in range(len(graph.predicates)) if decoder.is_satisfied(p, event_points)})
    assert sorted(decoder.name_subscriptions(walk.slots)) == sorted(index.match(EVENT))
    boxes = [make_predicate_box(decoder, walk, p) for p in range(len(graph.predicates))]
    boxes += [make_inner_box(decoder, walk, n) for n in range(len(graph.inner))]
    return draw_routed_graph(TITLE, boxes, make_arrows(walk), towards="right", extra_gap=40)


def make_predicate_box(decoder: IndexDecoder, walk: Walk, p: int) -> Box:
    lines = decoder.name_subscriptions(walk.graph.predicates[p].slots)
    return Box(f"p{p}", decoder.format_predicate(p), lines, "leaf", p in walk.true_predicates)


def make_inner_box(decoder: IndexDecoder, walk: Walk, n: int) -> Box:
    node = walk.graph.inner[n]
    head = "OR" if walk.graph.is_or[n] else "AND"
    lines = decoder.name_subscriptions(node.slots)
    marked = range(len(lines)) if n in walk.true_nodes else ()
    return Box(f"n{n}", head, lines, "result" if lines else "node", n in walk.visited, marked_lines=marked)


def make_arrows(walk: Walk) -> list[Arrow]:
    """Return the arrows of links, of guards, and from the children that a node evaluates itself."""
    graph, arrows, guards = walk.graph, [], set()
    sources = [(f"p{p}", one, p in walk.true_predicates) for p, one in enumerate(graph.predicates)]
    sources += [(f"n{n}", one, n in walk.true_nodes) for n, one in enumerate(graph.inner)]
    for name, one, is_true in sources:
        for link in one.links:
            arrows.append(Arrow(name, f"n{link.target}", "", is_true and walk.is_open(link)))
            if link.guard != NONE:
                guards.add((link.guard, link.target))
    arrows += [Arrow(f"p{guard}", f"n{target}", "guard") for guard, target in sorted(guards)]
    for n, node in enumerate(graph.inner):
        for test in node.tests:
            is_predicate, child = graph.decode_child(test)
            arrows.append(Arrow(f"{'p' if is_predicate else 'n'}{child}", f"n{n}", "test"))
    return arrows
