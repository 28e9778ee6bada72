"""The three steps of `scan`: bits of predicates, one predicate of each subscription, all predicates."""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example import EVENT, build_example, make_event_box
from docs.drawing.stabbing import read_member_lists

TITLE = "Scan: the true predicates are found once, one predicate of each subscription is tested, then the rest of it"


def draw() -> str:
    index = build_example("scan")
    decoder, scan = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    lists = read_member_lists(scan.stabbing)
    true_predicates = {p for one in lists if one.is_stabbed(event_points) for p in one.members}
    predicates = range(len(decoder.snapshot.predicates.domain))
    bits = [f"{int(p in true_predicates)} {decoder.format_predicate(p)}" for p in predicates]
    is_passed = [int(head) in true_predicates for head in scan.head]
    heads: list[str] = []
    rests: list[str] = []
    matched: list[int] = []
    for slot, head in zip(scan.conjunctions.tolist(), scan.head.tolist(), strict=True):
        name = decoder.name_subscription(slot)
        heads.append(f"{name:4} {decoder.format_predicate(head)}")
        if head in true_predicates:
            if all(p in true_predicates for p in decoder.list_predicates(slot)):
                matched.append(len(rests))
            rests.append(
                f"{name:4} {' AND '.join(str(int(p in true_predicates)) for p in decoder.list_predicates(slot))}"
            )
    assert [rests[k].split()[0] for k in matched] == index.match(EVENT)
    boxes = [
        make_event_box(),
        Box("bits", "1. bits of predicates", bits, "node", True,
            marked_lines=[k for k, p in enumerate(predicates) if p in true_predicates]),
        Box("heads", "2. one predicate of each", heads, "leaf", True,
            marked_lines=[k for k, is_true in enumerate(is_passed) if is_true]),
        Box("rests", "3. all of them", rests, "leaf", True, marked_lines=matched),
    ]  # fmt: skip
    arrows = [Arrow(a, b, is_visited=True) for a, b in (("event", "bits"), ("bits", "heads"), ("heads", "rests"))]
    return draw_graph(TITLE, boxes, arrows, "right")
