"""The clusters of `propagation`, and those that an event opens."""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from docs.drawing.stabbing import read_member_lists
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex

TITLE = "Propagation: true predicates open clusters of subscriptions, whose other predicates are tested"


def draw() -> str:
    index = build_example("propagation")
    decoder, propagation = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    lists = read_member_lists(propagation.stabbing)
    true_predicates = {p for one in lists if one.is_stabbed(event_points) for p in one.members}
    predicates = range(len(propagation.cluster) - 2)
    lines = [f"{int(p in true_predicates)} {decoder.format_predicate(p)}" for p in predicates]
    marked = [k for k, p in enumerate(predicates) if p in true_predicates]
    boxes = [make_event_box(), Box("bits", "bits of predicates", lines, "node", True, marked_lines=marked)]
    arrows, matched_slots = [Arrow("event", "bits", is_visited=True)], []
    for p in (*predicates, len(predicates)):
        conjunctions = range(propagation.cluster[p], propagation.cluster[p + 1])
        if not conjunctions:
            continue
        is_open = p in true_predicates or p == len(predicates)
        matched = [c for c in conjunctions if is_open and all(q in true_predicates for q in read_rest(propagation, c))]
        matched_slots += [int(propagation.slot[c]) for c in matched]
        rows = [format_conjunction(decoder, propagation, c) for c in conjunctions]
        head = "without access predicate" if p == len(predicates) else decoder.format_predicate(p)
        marked = [c - conjunctions[0] for c in matched]
        boxes.append(Box(f"cluster {p}", head, rows, "leaf", is_open, marked_lines=marked))
        arrows.append(Arrow("bits", f"cluster {p}", is_visited=is_open))
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def read_rest(propagation: PropagationIndex, conjunction: int) -> list[int]:
    """Return the predicates of a conjunction without its access predicate."""
    first, end = propagation.code_start[conjunction : conjunction + 2].tolist()
    predicates: list[int] = propagation.code[first:end].tolist()
    return predicates


def format_conjunction(decoder: IndexDecoder, propagation: PropagationIndex, conjunction: int) -> str:
    rest = " AND ".join(decoder.format_predicate(p) for p in read_rest(propagation, conjunction))
    return f"{decoder.name_subscription(propagation.slot[conjunction])}: {rest or 'nothing left to test'}"
