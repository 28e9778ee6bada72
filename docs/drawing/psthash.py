"""The keys in the hash table of `psthash`, and those that an event looks up."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, Spaces, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from docs.drawing.records import list_record_offsets, make_space_box
from tellwhen.papers.ps_tree.psthash.arrays import PSTHashIndex
from tellwhen.papers.ps_tree.verify import Record, read_records_by_offset

TITLE = "PSTHash: predicate spaces, and a hash table whose keys are combinations of them"


def draw() -> str:
    index = build_example("psthash")
    decoder, hashed = IndexDecoder(index), get_arrays(index)
    spaces, event_points = Spaces(decoder, hashed.common.cut_start, hashed.common.cuts), decoder.encode_event(EVENT)
    records = read_records_by_offset(hashed.common)
    event_spaces = sorted(int(hashed.key_space[spaces.find(domain, point)]) for domain, point in event_points.items())
    event_keys = combine_spaces(hashed, event_spaces)
    boxes, arrows, matched_slots = [make_event_box()], [], []
    for domain in range(len(hashed.common.cut_start) - 1):
        name = decoder.name_attribute(domain)
        boxes.append(make_space_box(decoder, spaces, domain, event_points))
        arrows.append(Arrow("event", name, is_visited=domain in event_points))
        arrows.append(Arrow(name, "table", is_visited=domain in event_points))
    rows: list[str] = []
    marked: list[int] = []
    for number, key in enumerate(read_keys(hashed)):
        key_records = [records[at] for at in list_record_offsets(hashed.common, number)]
        lines = format_records(decoder, ", ".join(spaces.format(space) for space in key), key_records)
        if key in event_keys:
            matched_slots += [
                one.slot for one in key_records if all(decoder.is_satisfied(p, event_points) for p in one.tested)
            ]
            marked += range(len(rows), len(rows) + len(lines))
        rows += lines
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    boxes.append(Box("table", "hash table", rows, "leaf", True, marked_lines=marked))
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def read_keys(hashed: PSTHashIndex) -> list[tuple[int, ...]]:
    """Return the spaces of each key, ascending, in the order of the posting lists."""
    key_spaces = np.flatnonzero(hashed.key_space >= 0).tolist()
    return [tuple(key_spaces[space] for space in key if space >= 0) for key in hashed.keys.tolist()]


def combine_spaces(hashed: PSTHashIndex, event_spaces: list[int]) -> set[tuple[int, ...]]:
    """Return all combinations of an event's spaces that may be a key.

    `event_spaces` are numbers in keys: the event has no value between two adjacent integers. Bit n - 1 in `key_sizes`
    of a space says that it is in keys of n spaces.
    """
    event_keys: set[tuple[int, ...]] = set()
    for size in range(1, hashed.keys.shape[1] + 1):
        usable = [space for space in event_spaces if hashed.key_sizes[space] >> size - 1 & 1]
        event_keys.update(combinations(usable, size))
    key_spaces = np.flatnonzero(hashed.key_space >= 0).tolist()
    return {tuple(key_spaces[space] for space in key) for key in event_keys}


def format_records(decoder: IndexDecoder, key: str, records: list[Record]) -> list[str]:
    """Return a line with a key and its subscriptions, and one for each record with predicates left to test."""
    lines = [f"{key}:  {', '.join(decoder.name_subscription(one.slot) for one in records)}"]
    for one in records:
        if rest := " AND ".join(decoder.format_predicate(p) for p in one.tested):
            lines.append(f"    {decoder.name_subscription(one.slot)} if {rest}")
    return lines
