"""Which Dewey IDs do the leaves of expressions have, and which of them does an event evaluate?"""

from __future__ import annotations

from docs.drawing.boxes import Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.leaves import Found, Leaf, aligned, found_leaves, posting_arrows, predicate_boxes
from docs.drawing.routed import picture
from docs.drawing.words import Words, structure
from tellwhen.papers.a_tree.dewey.arrays import STAR, DeweyIndex

TITLE = "Dewey IDs: every predicate has a list of the leaves that it is on, each with the ID of its place in a tree"

ID = list[int]
"""The components of an ID, as they are stored."""


def draw() -> str:
    index = example("dewey")
    words, dewey = Words(index), structure(index)
    found = found_leaves(words, dewey.posted)
    boxes, arrows = predicate_boxes(words, found), posting_arrows(found)
    matched = []
    for x, slot in enumerate(dewey.posted.slot):
        used = satisfying([id_of(dewey, leaf) for leaf in found.satisfied[x]])
        matched += [words.subscription(slot)] if used else []
        boxes.append(expression_box(words, dewey, found, x, used))
    assert sorted(matched) == sorted(index.match(EVENT))
    return picture(TITLE, boxes, arrows, towards="right", apart=100)


def id_of(dewey: DeweyIndex, leaf: Leaf) -> ID:
    """The ID is where the annotation says, behind its length."""
    begin = leaf.annotation + 1
    return [int(word) for word in dewey.ids[begin : begin + int(dewey.ids[leaf.annotation])]]


def said(one: ID) -> str:
    return ".".join(f"{word // 2}{'*' if word & STAR else ''}" for word in one)


def expression_box(words: Words, dewey: DeweyIndex, found: Found, x: int, used: list[ID]) -> Box:
    """The leaves with their IDs, and if it is true, by which of them."""
    leaves = found.leaves[x]
    ids = aligned([said(id_of(dewey, leaf)) for leaf in leaves])
    lines = [f"{ids[k]}  {words.predicate(leaf.predicate)}" for k, leaf in enumerate(leaves)]
    marked = [k for k, leaf in enumerate(leaves) if leaf in found.satisfied[x]]
    head = words.subscription(dewey.posted.slot[x])
    if used:
        head += ": true by " + ", ".join(said(one) for one in used)
    return Box(f"x{x}", head, lines, "result" if used else "node", bool(marked), marked=marked)


def satisfying(ids: list[ID]) -> list[ID]:
    """The IDs up to the one that makes the root true; none if it stays false. As `root_is_true` of the kernel."""
    done: dict[tuple[int, ...], int] = {}  # by AND, named by the way to it: its first children up to here are true
    for count, one in enumerate(ids, 1):
        for level in range(len(one) - 1, -1, -1):
            if level % 2 == 0:  # a child of an AND
                number, way = one[level] // 2, tuple(one[:level])
                if done.get(way, 0) != number - 1:
                    break
                done[way] = number
                if not one[level] & STAR:
                    break
        else:
            return ids[:count]
    return []
