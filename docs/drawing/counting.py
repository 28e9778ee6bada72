"""Which lists does an event find in `counting`, and how far do they count the subscriptions down?"""

from __future__ import annotations

from collections import Counter

import numpy as np

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.stabbing import member_lists
from docs.drawing.words import Words, structure
from tellwhen.engines.counting.arrays import CountingIndex

TITLE = "Counting: each value of the event finds lists of subscriptions, which count down the counters"


def draw() -> str:
    index = example("counting")
    words, counting = Words(index), structure(index)
    entries = words.entries(EVENT)
    lists = member_lists(counting.stabbing)
    found = Counter(member for one in lists if one.is_stabbed(entries) for member in one.members)
    need = needed(counting)
    boxes, arrows = [event_box()], []
    for domain in sorted({one.domain for one in lists}):
        mine, name = [one for one in lists if one.domain == domain], words.domain(domain)
        lines = [f"{words.stretch(*one[:3])}: {', '.join(words.subscriptions(one.members))}" for one in mine]
        marked = [k for k, one in enumerate(mine) if one.is_stabbed(entries)]
        boxes.append(Box(name, name, lines, "node", domain in entries, marked=marked))
        arrows.append(Arrow("event", name, visited=domain in entries))
        arrows.append(Arrow(name, "counters", visited=bool(marked)))
    done = [slot for slot in need if found[slot] == need[slot]]
    assert words.subscriptions(done) == index.match(EVENT)
    rows = [f"{words.subscription(slot):4} {need[slot]} - {found[slot]} = {need[slot] - found[slot]}" for slot in need]
    marked = [k for k, slot in enumerate(need) if slot in done]
    boxes.append(Box("counters", "counters", rows, "leaf", True, marked=marked))
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def needed(counting: CountingIndex) -> dict[int, int]:
    """By slot: the predicates that must be true. A byte each, eight of them in a word."""
    need = counting.need.view(np.uint8)[: counting.conjunctions].tolist()
    return dict(enumerate(need))
