"""Which nodes does an A-Tree have, how do they lead to each other, and which of them does an event visit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.routed import picture
from docs.drawing.words import Words, structure
from tellwhen.engines.atree.arrays import LINK_WORDS, LINKS, NONE, RECORD, SLOTS, TESTS, ATreeIndex

TITLE = "An A-Tree: predicates on the left lead to ANDs and ORs, which are subscriptions or lead to others"


class Link(NamedTuple):
    """A way up: the inner node that is worth a look, and a predicate without which it is not."""

    target: int
    guard: int


class Record(NamedTuple):
    """What is known of a predicate or of an inner node."""

    others: list[int]
    slots: list[int]
    links: list[Link]


@dataclass
class Graph:
    """The arrays as records: those of predicates, and those of inner nodes."""

    predicates: list[Record]
    inner: list[Record]
    is_or: list[bool]

    @classmethod
    def of(cls, index: ATreeIndex) -> Graph:
        records = [record(index, n) for n in range(len(index.record_start) - 1)]
        first = len(records) - len(index.is_or)
        return cls(records[:first], records[first:], [bool(flag) for flag in index.is_or])

    def child(self, other: int) -> tuple[bool, int]:
        """One of the others of a node: is it a predicate, and which one or which inner node?"""
        if other >= 0:
            return True, other % len(self.predicates)
        return False, ~other % len(self.inner)

    def is_asked(self, n: int) -> bool:
        """Is an inner node only asked, since nothing leads to it?"""
        return all(link.target != n for one in (*self.predicates, *self.inner) for link in one.links)


def record(index: ATreeIndex, n: int) -> Record:
    words = index.words[index.record_start[n] : index.record_start[n + 1]].tolist()
    slots = RECORD + words[TESTS]
    links = slots + words[SLOTS]
    assert len(words) == links + LINK_WORDS * words[LINKS]
    pairs = [Link(*words[at : at + LINK_WORDS]) for at in range(links, len(words), LINK_WORDS)]
    return Record(words[RECORD:slots], words[slots:links], pairs)


@dataclass
class Walk:
    """What an event makes true, and what it looks at."""

    graph: Graph
    true_predicates: set[int]

    def __post_init__(self) -> None:
        self.looked_at: set[int] = set()
        self.true: set[int] = set()
        self.slots: list[int] = []
        queued: set[int] = set()
        for p in sorted(self.true_predicates):
            self._propagate(self.graph.predicates[p], queued)
        for n, node in enumerate(self.graph.inner):  # numbered level by level
            if n in queued:
                self.looked_at.add(n)
                if self.graph.is_or[n] or all(self._holds(other) for other in node.others):
                    self.true.add(n)
                    self._propagate(node, queued)

    def _propagate(self, source: Record, queued: set[int]) -> None:
        self.slots += source.slots
        queued.update(link.target for link in source.links if self.follows(link))

    def follows(self, link: Link) -> bool:
        """Is the way of a true node to another one open?"""
        return link.guard == NONE or link.guard in self.true_predicates

    def _holds(self, other: int) -> bool:
        is_predicate, n = self.graph.child(other)
        if is_predicate:
            return n in self.true_predicates
        if n not in self.looked_at and self.graph.is_asked(n):
            self.looked_at.add(n)
            values = [self._holds(one) for one in self.graph.inner[n].others]
            if any(values) if self.graph.is_or[n] else all(values):
                self.true.add(n)
        return n in self.true


def draw() -> str:
    index = example("atree")
    words = Words(index)
    graph = Graph.of(structure(index))
    entries = words.entries(EVENT)
    walk = Walk(graph, {p for p in range(len(graph.predicates)) if words.is_satisfied(p, entries)})
    assert sorted(words.subscriptions(walk.slots)) == sorted(index.match(EVENT))
    boxes = [predicate_box(words, walk, p) for p in range(len(graph.predicates))]
    boxes += [inner_box(words, walk, n) for n in range(len(graph.inner))]
    return picture(TITLE, boxes, arrows_of(walk), towards="right", apart=40)


def predicate_box(words: Words, walk: Walk, p: int) -> Box:
    lines = words.subscriptions(walk.graph.predicates[p].slots)
    return Box(f"p{p}", words.predicate(p), lines, "leaf", p in walk.true_predicates)


def inner_box(words: Words, walk: Walk, n: int) -> Box:
    node = walk.graph.inner[n]
    head = "OR" if walk.graph.is_or[n] else "AND"
    lines = words.subscriptions(node.slots)
    marked = range(len(lines)) if n in walk.true else ()
    return Box(f"n{n}", head, lines, "result" if lines else "node", n in walk.looked_at, marked=marked)


def arrows_of(walk: Walk) -> list[Arrow]:
    """Links, guards, and what a node asks for."""
    graph, found, guarded = walk.graph, [], set()
    sources = [(f"p{p}", one, p in walk.true_predicates) for p, one in enumerate(graph.predicates)]
    sources += [(f"n{n}", one, n in walk.true) for n, one in enumerate(graph.inner)]
    for name, one, is_true in sources:
        for link in one.links:
            found.append(Arrow(name, f"n{link.target}", "", is_true and walk.follows(link)))
            if link.guard != NONE:
                guarded.add((link.guard, link.target))
    found += [Arrow(f"p{guard}", f"n{target}", "guard") for guard, target in sorted(guarded)]
    for n, node in enumerate(graph.inner):
        for other in node.others:
            is_predicate, child = graph.child(other)
            found.append(Arrow(f"{'p' if is_predicate else 'n'}{child}", f"n{n}", "asked"))
    return found
