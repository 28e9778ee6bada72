"""Which nodes does the shared decision diagram have, and which of them does an event make true?"""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.routed import picture
from docs.drawing.words import Words, structure
from tellwhen.papers.a_tree.bdd.arrays import PARENTS, RECORD_HEADER, ROOT, TERMINALS, TRUE, BDDIndex
from tellwhen.papers.a_tree.bdd.layout import place_records

TITLE = "A binary decision diagram with a root for every subscription: each node tests a predicate"


def draw() -> str:
    index = example("bdd")
    words, bdd = Words(index), structure(index)
    entries = words.entries(EVENT)
    true = {p for p in set(bdd.nodes.predicate[TERMINALS:].tolist()) if words.is_satisfied(p, entries)}
    reached = reached_nodes(bdd, true)
    slots = {int(n): bdd.slots[bdd.slot_start[r] : bdd.slot_start[r + 1]] for r, n in enumerate(bdd.roots)}
    found = [name for n in reached for name in words.subscriptions(slots.get(n, []))]
    assert sorted(found) == sorted(index.match(EVENT))
    every = range(TERMINALS, len(bdd.nodes.predicate))
    boxes = [node_box(words, bdd, n, words.subscriptions(slots.get(n, [])), true, reached) for n in every]
    return picture(TITLE, boxes, arrows_of(bdd, true, reached), towards="right")


def reached_nodes(bdd: BDDIndex, true: set[int]) -> set[int]:
    """The nodes that are true: from the seeds of true predicates upwards, as the kernel goes."""
    upward, place = bdd.upward, place_records(bdd.nodes)
    node_at = {int(at): n for n, at in enumerate(place[:-1]) if n >= TERMINALS}
    waiting = [int(seed) for p in true for seed in upward.seeds[upward.seed_start[p] : upward.seed_start[p + 1]]]
    reached = set(waiting)
    while waiting:
        at = waiting.pop()
        first = at + RECORD_HEADER
        for k in range(first, first + 2 * int(upward.records[at + PARENTS]), 2):
            parent, needs = int(upward.records[k]), int(upward.records[k + 1])
            if (needs < 0 or needs in true) and parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    roots = {int(upward.records[at + ROOT]) for at in reached} - {-1}
    assert {int(bdd.roots[r]) for r in roots} == {node_at[at] for at in reached} & set(bdd.roots.tolist())
    return {node_at[at] for at in reached}


def node_box(words: Words, bdd: BDDIndex, n: int, names: list[str], true: set[int], reached: set[int]) -> Box:
    p, _, high = (int(column[n]) for column in bdd.nodes)
    lines = [*names, "yes: true"] if high == TRUE else names
    marked = {k for k in range(len(names)) if n in reached} | ({len(names)} if p in true else set())
    return Box(str(n), words.predicate(p), lines, "result" if names else "node", n in reached, marked=marked)


def arrows_of(bdd: BDDIndex, true: set[int], reached: set[int]) -> list[Arrow]:
    """From every node to its children, without FALSE and TRUE."""
    found = []
    for n in range(TERMINALS, len(bdd.nodes.predicate)):
        p, low, high = (int(column[n]) for column in bdd.nodes)
        if high >= TERMINALS:
            found.append(Arrow(str(n), str(high), "yes", high in reached and p in true))
        if low >= TERMINALS:
            found.append(Arrow(str(n), str(low), "no", low in reached))
    return found
