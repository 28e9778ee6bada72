"""In which order does `scan` test predicates and subscriptions?"""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, event_box, example
from docs.drawing.stabbing import member_lists
from docs.drawing.words import Words, structure

TITLE = "Scan: the true predicates are found once, one predicate of each subscription is tested, then the rest of it"


def draw() -> str:
    index = example("scan")
    words, scan = Words(index), structure(index)
    entries = words.entries(EVENT)
    true = {p for one in member_lists(scan.stabbing) if one.is_stabbed(entries) for p in one.members}
    predicates = range(len(words.snapshot.predicates.domain))
    is_passed = [int(head) in true for head in scan.head]
    heads: list[str] = []
    rests: list[str] = []
    matched: list[int] = []
    for slot, head in zip(scan.conjunctions.tolist(), scan.head.tolist(), strict=True):
        name = words.subscription(slot)
        heads.append(f"{name:4} {words.predicate(head)}")
        if head in true:
            if all(p in true for p in words.predicates(slot)):
                matched.append(len(rests))
            rests.append(f"{name:4} {' AND '.join(str(int(p in true)) for p in words.predicates(slot))}")
    assert [rests[k].split()[0] for k in matched] == index.match(EVENT)
    boxes = [
        event_box(),
        Box("bits", "1. bits of predicates", [f"{int(p in true)} {words.predicate(p)}" for p in predicates], "node",
            True, marked=[k for k, p in enumerate(predicates) if p in true]),
        Box("heads", "2. one predicate of each", heads, "leaf", True,
            marked=[k for k, is_true in enumerate(is_passed) if is_true]),
        Box("rests", "3. all of them", rests, "leaf", True, marked=matched),
    ]  # fmt: skip
    arrows = [Arrow(a, b, visited=True) for a, b in (("event", "bits"), ("bits", "heads"), ("heads", "rests"))]
    return picture(TITLE, boxes, arrows, "right")
