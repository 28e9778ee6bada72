"""Which clusters does `propagation` have, and which of them does an event open?"""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.stabbing import member_lists
from docs.drawing.words import Words, structure
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex

TITLE = "Propagation: true predicates open clusters of subscriptions, whose other predicates are tested"


def draw() -> str:
    index = example("propagation")
    words, propagation = Words(index), structure(index)
    entries = words.entries(EVENT)
    true = {p for one in member_lists(propagation.stabbing) if one.is_stabbed(entries) for p in one.members}
    predicates = range(len(propagation.cluster) - 2)
    lines = [f"{int(p in true)} {words.predicate(p)}" for p in predicates]
    marked = [k for k, p in enumerate(predicates) if p in true]
    boxes = [event_box(), Box("bits", "bits of predicates", lines, "node", True, marked=marked)]
    arrows, found = [Arrow("event", "bits", visited=True)], []
    for p in (*predicates, len(predicates)):
        conjunctions = range(propagation.cluster[p], propagation.cluster[p + 1])
        if not conjunctions:
            continue
        is_open = p in true or p == len(predicates)
        matched = [c for c in conjunctions if is_open and all(q in true for q in code(propagation, c))]
        found += [int(propagation.slot[c]) for c in matched]
        rows = [row(words, propagation, c) for c in conjunctions]
        head = "without access predicate" if p == len(predicates) else words.predicate(p)
        marked = [c - conjunctions[0] for c in matched]
        boxes.append(Box(f"cluster {p}", head, rows, "leaf", is_open, marked=marked))
        arrows.append(Arrow("bits", f"cluster {p}", visited=is_open))
    assert words.subscriptions(found) == index.match(EVENT)
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def code(propagation: PropagationIndex, conjunction: int) -> list[int]:
    """The predicates of a conjunction without its access predicate."""
    found: list[int] = propagation.code[
        propagation.code_start[conjunction] : propagation.code_start[conjunction + 1]
    ].tolist()
    return found


def row(words: Words, propagation: PropagationIndex, conjunction: int) -> str:
    rest = " AND ".join(words.predicate(p) for p in code(propagation, conjunction))
    return f"{words.subscription(propagation.slot[conjunction])}: {rest or 'nothing left to test'}"
