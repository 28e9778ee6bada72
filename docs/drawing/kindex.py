"""Which posting lists does a k-index have, and which of them does an event walk?"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.words import Spaces, Words, structure
from tellwhen.papers.be_tree.kindex.arrays import KIndexIndex

TITLE = "k-index: a posting list for each space of each attribute, in pieces by the size of the subscriptions"


def draw() -> str:
    index = example("kindex")
    words, lists = Words(index), structure(index)
    spaces, entries = Spaces(words, lists.cut_start, lists.cuts), words.entries(EVENT)
    sizes = range(1, len(lists.size_start) - 1)
    walked = {spaces.of(domain, point) for domain, point in entries.items()}
    times = Counter(conjunction for space in walked for conjunction in accepted(lists, space))
    boxes, arrows = [event_box()], []
    for domain in range(len(lists.cut_start) - 1):
        mine, name = [space for space in spaces.on(domain) if accepted(lists, space)], words.domain(domain)
        lines = [f"{spaces.said(space)}: {pieces(words, lists, space)}" for space in mine]
        marked = [k for k, space in enumerate(mine) if space in walked]
        boxes.append(Box(name, name, lines, "node", bool(marked), marked=marked))
        arrows.append(Arrow("event", name, visited=bool(marked)))
        for size in sizes:
            met = [c for space in walked & set(mine) for c in accepted(lists, space) if size_of(lists, c) == size]
            if met or any(size_of(lists, c) == size for space in mine for c in accepted(lists, space)):
                arrows.append(Arrow(name, f"size {size}", visited=bool(met)))
    found = []
    for size in sizes:
        of_size = range(lists.size_start[size], lists.size_start[size + 1])
        matched = [c for c in of_size if times[c] == size]
        found += [int(lists.slot[c]) for c in matched]
        rows = [f"{words.subscription(lists.slot[c]):4} in {times[c]} of {size}" for c in of_size]
        is_visited = any(times[c] for c in of_size)
        marked = [c - of_size[0] for c in matched]
        boxes.append(Box(f"size {size}", f"size {size}", rows, "leaf", is_visited, marked=marked))
    assert words.subscriptions(found) == index.match(EVENT)
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def accepted(lists: KIndexIndex, space: int) -> list[int]:
    """The conjunctions in the list of a space: 2 * conjunction + 1."""
    postings = lists.postings[lists.list_start[space] : lists.list_start[space + 1]].tolist()
    assert all(posting % 2 for posting in postings)
    return [posting // 2 for posting in postings]


def size_of(lists: KIndexIndex, conjunction: int) -> int:
    """Conjunctions are numbered by size."""
    return bisect_right(lists.size_start.tolist(), conjunction) - 1


def pieces(words: Words, lists: KIndexIndex, space: int) -> str:
    """The list of a space, with a bar between the sizes."""
    by_size: dict[int, list[str]] = {}
    for conjunction in accepted(lists, space):
        by_size.setdefault(size_of(lists, conjunction), []).append(words.subscription(lists.slot[conjunction]))
    return " | ".join(", ".join(names) for names in by_size.values())
