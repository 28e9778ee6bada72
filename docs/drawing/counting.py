"""The lists that an event finds in `counting`, and the counters of subscriptions that they decrement."""

from __future__ import annotations

from collections import Counter

import numpy as np

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from docs.drawing.stabbing import read_member_lists
from tellwhen.engines.counting.arrays import CountingIndex

TITLE = "Counting: each value of the event finds lists of subscriptions, which count down the counters"


def draw() -> str:
    index = build_example("counting")
    decoder, counting = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    lists = read_member_lists(counting.stabbing)
    true_counts = Counter(member for one in lists if one.is_stabbed(event_points) for member in one.members)
    need = read_need(counting)
    boxes, arrows = [make_event_box()], []
    for domain in sorted({one.domain for one in lists}):
        domain_lists, name = [one for one in lists if one.domain == domain], decoder.name_attribute(domain)
        lines = [
            f"{decoder.format_interval(*one[:3])}: {', '.join(decoder.name_subscriptions(one.members))}"
            for one in domain_lists
        ]
        marked = [k for k, one in enumerate(domain_lists) if one.is_stabbed(event_points)]
        boxes.append(Box(name, name, lines, "node", domain in event_points, marked_lines=marked))
        arrows.append(Arrow("event", name, is_visited=domain in event_points))
        arrows.append(Arrow(name, "counters", is_visited=bool(marked)))
    matched_slots = [slot for slot in need if true_counts[slot] == need[slot]]
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    rows = [
        f"{decoder.name_subscription(slot):4} {need[slot]} - {true_counts[slot]} = {need[slot] - true_counts[slot]}"
        for slot in need
    ]
    marked = [k for k, slot in enumerate(need) if slot in matched_slots]
    boxes.append(Box("counters", "counters", rows, "leaf", True, marked_lines=marked))
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def read_need(counting: CountingIndex) -> dict[int, int]:
    """Return by slot how many predicates must be true. The counts are bytes, eight of them in a word."""
    need = counting.need.view(np.uint8)[: counting.conjunctions].tolist()
    return dict(enumerate(need))
