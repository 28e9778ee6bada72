"""Which nodes does a BE-Tree have, and which of them does an event visit?"""

from __future__ import annotations

from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, example
from docs.drawing.words import Spaces, Words, structure
from tellwhen.papers.be_tree.betree.arrays import DIRECTORY, DOMAIN, HIGH, LEFT, LOW, RIGHT, WORDS, BETreeIndex

TITLE = "A BE-Tree: the root has p-nodes for two attributes, below them are c-nodes with buckets of values"

ROOT = 0


class Conjunction(NamedTuple):
    """A conjunction in an l-node: its slot, and the predicates that its path does not answer."""

    slot: int
    predicates: list[int]


def draw() -> str:
    index = example("betree", max_cap=1, min_size=2)
    words, tree = Words(index), structure(index)
    spaces, entries = Spaces(words, tree.cut_start, tree.cuts), words.entries(EVENT)
    visited = visited_nodes(tree, spaces, entries)
    boxes, arrows, found = [], [], []
    for n in range(len(tree.nodes) - 1):
        conjunctions = conjunctions_of(tree, n)
        is_true = [all(words.is_satisfied(p, entries) for p in one.predicates) for one in conjunctions]
        matched = [k for k, _ in enumerate(conjunctions) if n in visited and is_true[k]]
        found += [words.subscription(conjunctions[k].slot) for k in matched]
        boxes.append(cnode_box(words, spaces, tree, n, n in visited, matched))
        for k in range(tree.nodes[n, DIRECTORY], tree.nodes[n + 1, DIRECTORY]):
            top, domain = int(tree.pnode_top[k]), int(tree.pnode_domain[k])
            boxes.append(Box(f"p{k}", f"p-node: {words.domain(domain)}", visited=top in visited))
            arrows.append(Arrow(str(n), f"p{k}", visited=top in visited))
            arrows.append(Arrow(f"p{k}", str(top), visited=top in visited))
        for half in halves(tree, n):
            arrows.append(Arrow(str(n), str(half), visited=half in visited))
    assert sorted(found) == sorted(index.match(EVENT))
    return picture(TITLE, boxes, arrows)


def visited_nodes(tree: BETreeIndex, spaces: Spaces, entries: dict[int, int]) -> set[int]:
    """The nodes that an event reaches: below p-nodes on its attributes, and the halves of buckets with its values."""
    visited, waiting = set(), [ROOT]
    while waiting:
        n = waiting.pop()
        visited.add(n)
        for k in range(tree.nodes[n, DIRECTORY], tree.nodes[n + 1, DIRECTORY]):
            if int(tree.pnode_domain[k]) in entries:
                waiting.append(int(tree.pnode_top[k]))
        for half in halves(tree, n):
            domain, low, high = (int(tree.nodes[half, column]) for column in (DOMAIN, LOW, HIGH))
            if low <= spaces.of(domain, entries[domain]) <= high:
                waiting.append(half)
    return visited


def halves(tree: BETreeIndex, n: int) -> list[int]:
    """The halves of a bucket that are there."""
    return [int(tree.nodes[n, column]) for column in (LEFT, RIGHT) if tree.nodes[n, column] >= 0]


def conjunctions_of(tree: BETreeIndex, n: int) -> list[Conjunction]:
    """The l-node of a node: words are a number of predicates, a slot, and the predicates."""
    at, end, found = int(tree.nodes[n, WORDS]), int(tree.nodes[n + 1, WORDS]), []
    while at < end:
        count, slot = tree.words[at : at + 2].tolist()
        found.append(Conjunction(slot, tree.words[at + 2 : at + 2 + count].tolist()))
        at += 2 + count
    return found


def cnode_box(words: Words, spaces: Spaces, tree: BETreeIndex, n: int, is_visited: bool, matched: list[int]) -> Box:
    _, low, high = (int(tree.nodes[n, column]) for column in (DOMAIN, LOW, HIGH))
    head = "root" if n == ROOT else spaces.said(low, high)
    lines = []
    for slot, predicates in conjunctions_of(tree, n):
        left = " AND ".join(words.predicate(p) for p in predicates)
        lines.append(f"{words.subscription(slot)}: {left or 'nothing left to test'}")
    return Box(str(n), head, lines, "leaf" if lines else "node", is_visited, marked=matched)
