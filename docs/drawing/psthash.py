"""Which keys does the hash table of `psthash` have, and which does an event look up?"""

from __future__ import annotations

from itertools import combinations

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.records import posted, space_box
from docs.drawing.words import Spaces, Words, structure
from tellwhen.papers.ps_tree.psthash.arrays import PSTHashIndex
from tellwhen.papers.ps_tree.verify import Record, read_records

TITLE = "PSTHash: predicate spaces, and a hash table whose keys are combinations of them"


def draw() -> str:
    index = example("psthash")
    words, hashed = Words(index), structure(index)
    spaces, entries = Spaces(words, hashed.common.cut_start, hashed.common.cuts), words.entries(EVENT)
    records = read_records(hashed.common)
    here = sorted(spaces.of(domain, point) for domain, point in entries.items())
    looked_up = combined(hashed, here)
    boxes, arrows, found = [event_box()], [], []
    for domain in range(len(hashed.common.cut_start) - 1):
        name = words.domain(domain)
        boxes.append(space_box(words, spaces, domain, entries))
        arrows.append(Arrow("event", name, visited=domain in entries))
        arrows.append(Arrow(name, "table", visited=domain in entries))
    rows: list[str] = []
    marked: list[int] = []
    for number, key in enumerate(keys(hashed)):
        mine = [records[at] for at in posted(hashed.common, number)]
        lines = lines_of(words, ", ".join(spaces.said(space) for space in key), mine)
        if key in looked_up:
            found += [one.slot for one in mine if all(words.is_satisfied(p, entries) for p in one.tested)]
            marked += range(len(rows), len(rows) + len(lines))
        rows += lines
    assert words.subscriptions(found) == index.match(EVENT)
    boxes.append(Box("table", "hash table", rows, "leaf", True, marked=marked))
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def keys(hashed: PSTHashIndex) -> list[tuple[int, ...]]:
    """The keys by number: spaces, ascending."""
    return [tuple(space for space in key if space >= 0) for key in hashed.keys.tolist()]


def combined(hashed: PSTHashIndex, here: list[int]) -> set[tuple[int, ...]]:
    """All combinations of the spaces of an event that may be a key: bit n - 1 of a space says it is in keys of n."""
    found: set[tuple[int, ...]] = set()
    for size in range(1, hashed.keys.shape[1] + 1):
        usable = [space for space in here if hashed.key_sizes[space] >> size - 1 & 1]
        found.update(combinations(usable, size))
    return found


def lines_of(words: Words, key: str, records: list[Record]) -> list[str]:
    """A key and its subscriptions; what is left to test for one is in a line of its own."""
    lines = [f"{key}:  {', '.join(words.subscription(one.slot) for one in records)}"]
    for one in records:
        if rest := " AND ".join(words.predicate(p) for p in one.tested):
            lines.append(f"    {words.subscription(one.slot)} if {rest}")
    return lines
