"""Posting lists and boxes of predicate spaces, for the pictures of `pstbloom` and `psthash`."""

from __future__ import annotations

from collections.abc import Callable

from docs.drawing.boxes import Box
from docs.drawing.decoder import IndexDecoder, Spaces
from tellwhen.papers.ps_tree.arrays import CommonIndex


def list_record_offsets(common: CommonIndex, list_number: int) -> list[int]:
    """Return the offsets of the records in a posting list."""
    first, end = common.list_start[list_number : list_number + 2].tolist()
    offsets: list[int] = common.postings[first:end].tolist()
    return offsets


def make_space_box(
    decoder: IndexDecoder,
    spaces: Spaces,
    domain: int,
    event_points: dict[int, int],
    format_signature: Callable[[int], str] | None = None,
) -> Box:
    """Return a box with a line for each space of a domain, and its signature. The space of the event is marked."""
    name, domain_spaces = decoder.name_attribute(domain), spaces.list_of_domain(domain)
    marked = [spaces.find(domain, event_points[domain]) - domain_spaces[0]] if domain in event_points else []
    head = f"spaces of {name}"
    lines = [spaces.format(space) for space in domain_spaces]
    if format_signature is not None:
        head += " {signature}"
        lines = [line + format_signature(space) for line, space in zip(lines, domain_spaces, strict=True)]
    return Box(name, head, lines, "node", domain in event_points, marked_lines=marked)
