"""The posting lists of a k-index, and those that an event walks."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, Spaces, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from tellwhen.papers.be_tree.kindex.arrays import KIndexIndex

TITLE = "k-index: a posting list for each space of each attribute, in pieces by the size of the subscriptions"


def draw() -> str:
    index = build_example("kindex")
    decoder, lists = IndexDecoder(index), get_arrays(index)
    spaces, event_points = Spaces(decoder, lists.cut_start, lists.cuts), decoder.encode_event(EVENT)
    sizes = range(1, len(lists.size_start) - 1)
    event_spaces = {spaces.find(domain, point) for domain, point in event_points.items()}
    hits = Counter(conjunction for space in event_spaces for conjunction in list_conjunctions(lists, space))
    boxes, arrows = [make_event_box()], []
    for domain in range(len(lists.cut_start) - 1):
        domain_spaces = [space for space in spaces.list_of_domain(domain) if list_conjunctions(lists, space)]
        name = decoder.name_attribute(domain)
        lines = [f"{spaces.format(space)}: {format_list(decoder, lists, space)}" for space in domain_spaces]
        marked = [k for k, space in enumerate(domain_spaces) if space in event_spaces]
        boxes.append(Box(name, name, lines, "node", bool(marked), marked_lines=marked))
        arrows.append(Arrow("event", name, is_visited=bool(marked)))
        for size in sizes:
            hit_conjunctions = [
                c
                for space in event_spaces & set(domain_spaces)
                for c in list_conjunctions(lists, space)
                if get_size(lists, c) == size
            ]
            if hit_conjunctions or any(
                get_size(lists, c) == size for space in domain_spaces for c in list_conjunctions(lists, space)
            ):
                arrows.append(Arrow(name, f"size {size}", is_visited=bool(hit_conjunctions)))
    matched_slots = []
    for size in sizes:
        conjunctions = range(lists.size_start[size], lists.size_start[size + 1])
        matched_conjunctions = [c for c in conjunctions if hits[c] == size]
        matched_slots += [int(lists.slot[c]) for c in matched_conjunctions]
        rows = [f"{decoder.name_subscription(lists.slot[c]):4} in {hits[c]} of {size}" for c in conjunctions]
        is_visited = any(hits[c] for c in conjunctions)
        marked = [c - conjunctions[0] for c in matched_conjunctions]
        boxes.append(Box(f"size {size}", f"size {size}", rows, "leaf", is_visited, marked_lines=marked))
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def list_conjunctions(lists: KIndexIndex, space: int) -> list[int]:
    """Return the conjunctions in the list of a space. A posting is 2 * conjunction + 1."""
    postings = lists.postings[lists.list_start[space] : lists.list_start[space + 1]].tolist()
    assert all(posting % 2 for posting in postings)
    return [posting // 2 for posting in postings]


def get_size(lists: KIndexIndex, conjunction: int) -> int:
    """Return the number of predicates of a conjunction. Conjunctions are numbered by size."""
    return bisect_right(lists.size_start.tolist(), conjunction) - 1


def format_list(decoder: IndexDecoder, lists: KIndexIndex, space: int) -> str:
    """Return the names in the list of a space, with a bar between the sizes."""
    by_size: dict[int, list[str]] = {}
    for conjunction in list_conjunctions(lists, space):
        by_size.setdefault(get_size(lists, conjunction), []).append(decoder.name_subscription(lists.slot[conjunction]))
    return " | ".join(", ".join(names) for names in by_size.values())
