"""How do `pstbloom` and `psthash` keep their predicate spaces and their conjunctions? What both pictures show."""

from __future__ import annotations

from collections.abc import Callable

from docs.drawing.boxes import Box
from docs.drawing.words import Spaces, Words
from tellwhen.papers.ps_tree.arrays import CommonIndex


def posted(common: CommonIndex, number: int) -> list[int]:
    """The offsets of the records in a posting list."""
    found: list[int] = common.postings[common.list_start[number] : common.list_start[number + 1]].tolist()
    return found


def space_box(
    words: Words, spaces: Spaces, domain: int, entries: dict[int, int], signature: Callable[[int], str] | None = None
) -> Box:
    """The spaces of a domain, with their signatures if there are any. The space of the event is marked."""
    name, mine = words.domain(domain), spaces.on(domain)
    marked = [spaces.of(domain, entries[domain]) - mine[0]] if domain in entries else []
    head = f"spaces of {name}"
    lines = [spaces.said(space) for space in mine]
    if signature is not None:
        head += " {signature}"
        lines = [line + signature(space) for line, space in zip(lines, mine, strict=True)]
    return Box(name, head, lines, "node", domain in entries, marked=marked)
