"""The lists and signatures of the predicate spaces of `pstbloom`, and those that an event visits."""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, Spaces, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from docs.drawing.records import list_record_offsets, make_space_box
from tellwhen.papers.ps_tree.pstbloom.arrays import PSTBloomIndex
from tellwhen.papers.ps_tree.pstbloom.kernels import compute_signature_bit
from tellwhen.papers.ps_tree.verify import Record, read_records_by_offset

TITLE = "PSTBloom: predicate spaces with signatures, and the posting lists of access predicates"


def draw() -> str:
    index = build_example("pstbloom")
    decoder, bloom = IndexDecoder(index), get_arrays(index)
    spaces, event_points = Spaces(decoder, bloom.common.cut_start, bloom.common.cuts), decoder.encode_event(EVENT)
    event_spaces = {domain: spaces.find(domain, point) for domain, point in event_points.items()}
    records = read_records_by_offset(bloom.common)
    boxes, arrows, matched_slots = [make_event_box()], [], []
    for domain in range(len(bloom.common.cut_start) - 1):
        name = decoder.name_attribute(domain)
        boxes.append(
            make_space_box(
                decoder, spaces, domain, event_points, lambda space: format_signature(decoder, bloom, records, space)
            )
        )
        arrows.append(Arrow("event", name, is_visited=domain in event_points))
        for space in spaces.list_of_domain(domain):
            lines: list[str] = []
            marked: list[int] = []
            is_visited = event_spaces.get(domain) == space
            for at in list_record_offsets(bloom.common, space):
                record_lines = format_record(decoder, records[at])
                if is_visited and find_excluding_domain(bloom, records[at], at, event_spaces) is not None:
                    record_lines[-1] += "  (not signed)"
                elif is_visited and all(decoder.is_satisfied(p, event_points) for p in records[at].tested):
                    marked += range(len(lines), len(lines) + len(record_lines))
                    matched_slots.append(records[at].slot)
                lines += record_lines
            if lines:
                head = f"list of {spaces.format(space)}"
                boxes.append(Box(f"list {space}", head, lines, "leaf", is_visited, marked_lines=marked))
                arrows.append(Arrow(name, f"list {space}", is_visited=is_visited))
    assert decoder.name_subscriptions(matched_slots) == index.match(EVENT)
    return draw_graph(TITLE, boxes, arrows, "right", in_order=True)


def has_record_bit(bloom: PSTBloomIndex, record_offset: int, space: int) -> bool:
    """Return whether the signature of a space has the bit of the record at an offset."""
    begin, end = bloom.signature_start[space : space + 2].tolist()
    if begin == end:
        return False
    bit = int(compute_signature_bit(record_offset, end - begin))
    return bool(int(bloom.signatures[begin + bit // 64]) >> bit % 64 & 1)


def format_signature(decoder: IndexDecoder, bloom: PSTBloomIndex, records: dict[int, Record], space: int) -> str:
    names = decoder.name_subscriptions(
        record.slot for at, record in records.items() if has_record_bit(bloom, at, space)
    )
    return f"  {{{', '.join(names)}}}" if names else ""


def find_excluding_domain(
    bloom: PSTBloomIndex, record: Record, record_offset: int, event_spaces: dict[int, int]
) -> int | None:
    """Return the first domain that rules a record out, or None.

    A domain rules it out if the event has no value there, or if the signature of the event's space lacks the record. A
    domain whose predicate is in no signature is stored as -1 - domain.
    """
    for stored_domain in record.domain:
        domain = stored_domain if stored_domain >= 0 else -1 - stored_domain
        if domain not in event_spaces or (
            stored_domain >= 0 and not has_record_bit(bloom, record_offset, event_spaces[domain])
        ):
            return domain
    return None


def format_record(decoder: IndexDecoder, record: Record) -> list[str]:
    """Return lines with a subscription and the predicates left to test for it, one on each line."""
    first, *others = [decoder.format_predicate(p) for p in record.tested] or ["nothing left to test"]
    name = decoder.name_subscription(record.slot)
    return [f"{name}: {first}", *(f"{'AND':>{len(name) + 1}} {other}" for other in others)]
