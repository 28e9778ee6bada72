"""Which lists and signatures do the predicate spaces of `pstbloom` have, and which does an event look at?"""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.records import posted, space_box
from docs.drawing.words import Spaces, Words, structure
from tellwhen.papers.ps_tree.pstbloom.arrays import PSTBloomIndex
from tellwhen.papers.ps_tree.pstbloom.kernels import compute_signature_bit
from tellwhen.papers.ps_tree.verify import Record, read_records

TITLE = "PSTBloom: predicate spaces with signatures, and the posting lists of access predicates"


def draw() -> str:
    index = example("pstbloom")
    words, bloom = Words(index), structure(index)
    spaces, entries = Spaces(words, bloom.common.cut_start, bloom.common.cuts), words.entries(EVENT)
    here = {domain: spaces.of(domain, point) for domain, point in entries.items()}
    records = read_records(bloom.common)
    boxes, arrows, found = [event_box()], [], []
    for domain in range(len(bloom.common.cut_start) - 1):
        name = words.domain(domain)
        boxes.append(space_box(words, spaces, domain, entries, lambda space: signed_said(words, bloom, records, space)))
        arrows.append(Arrow("event", name, visited=domain in entries))
        for space in spaces.on(domain):
            lines: list[str] = []
            marked: list[int] = []
            is_walked = here.get(domain) == space
            for at in posted(bloom.common, space):
                mine = lines_of(words, records[at])
                if is_walked and missing(bloom, records[at], at, here) is not None:
                    mine[-1] += "  (not signed)"
                elif is_walked and all(words.is_satisfied(p, entries) for p in records[at].tested):
                    marked += range(len(lines), len(lines) + len(mine))
                    found.append(records[at].slot)
                lines += mine
            if lines:
                head = f"list of {spaces.said(space)}"
                boxes.append(Box(f"list {space}", head, lines, "leaf", is_walked, marked=marked))
                arrows.append(Arrow(name, f"list {space}", visited=is_walked))
    assert words.subscriptions(found) == index.match(EVENT)
    return picture(TITLE, boxes, arrows, "right", in_order=True)


def is_signed(bloom: PSTBloomIndex, at: int, space: int) -> bool:
    """Does the signature of a space have the bit of a record?"""
    begin, end = bloom.signature_start[space : space + 2].tolist()
    if begin == end:
        return False
    bit = int(compute_signature_bit(at, end - begin))
    return bool(int(bloom.signatures[begin + bit // 64]) >> bit % 64 & 1)


def signed_said(words: Words, bloom: PSTBloomIndex, records: dict[int, Record], space: int) -> str:
    names = words.subscriptions(record.slot for at, record in records.items() if is_signed(bloom, at, space))
    return f"  {{{', '.join(names)}}}" if names else ""


def missing(bloom: PSTBloomIndex, record: Record, at: int, here: dict[int, int]) -> int | None:
    """The first domain that rules a record out: the event has no value there, or the signature of its space has not
    the record. A domain of a predicate that is in no signature is -1 - domain."""
    for domain in record.domain:
        on = domain if domain >= 0 else -1 - domain
        if on not in here or (domain >= 0 and not is_signed(bloom, at, here[on])):
            return on
    return None


def lines_of(words: Words, record: Record) -> list[str]:
    """A subscription, and the predicates that are left to test for it, one in a line."""
    first, *others = [words.predicate(p) for p in record.tested] or ["nothing left to test"]
    name = words.subscription(record.slot)
    return [f"{name}: {first}", *(f"{'AND':>{len(name) + 1}} {other}" for other in others)]
