"""Which conjunctions does each expression become, and in which lists of `pstbloom` are they?"""

from __future__ import annotations

from typing import Any, NamedTuple

from docs.drawing.boxes import Arrow, Box
from docs.drawing.example_trees import EVENT, example
from docs.drawing.records import posted
from docs.drawing.routed import picture
from docs.drawing.words import Spaces, Words
from tellwhen.papers.ps_tree.verify import Record, read_records

TITLE = "Translation: every expression becomes conjunctions, which are in the lists of an engine of conjunctions"


class Conjunction(NamedTuple):
    """A conjunction of a subscription."""

    slot: int
    predicates: list[int]


def draw() -> str:
    index = example("translation")
    engine: Any = index._shard.engine
    words, common = Words(index), engine.inner._index.common
    spaces, entries = Spaces(words, common.cut_start, common.cuts), words.entries(EVENT)
    here = {spaces.of(domain, point) for domain, point in entries.items()}
    conjunctions, records = conjunctions_of(engine.inner), read_records(common)
    boxes, arrows, found = list[Box](), list[Arrow](), set[int]()
    is_true = [all(words.is_satisfied(p, entries) for p in one.predicates) for one in conjunctions]
    for space in (space for domain in range(len(common.cut_start) - 1) for space in spaces.on(domain)):
        numbers = [number_of(words, spaces, space, records[at], conjunctions) for at in posted(common, space)]
        if not numbers:
            continue
        marked = [k for k, number in enumerate(numbers) if space in here and is_true[number]]
        lines = [words.subscription(conjunctions[number].slot) for number in numbers]
        boxes.append(Box(f"l{space}", f"list of {spaces.said(space)}", lines, "leaf", space in here, marked=marked))
        for slot in dict.fromkeys(conjunctions[number].slot for number in numbers):
            is_found = any(conjunctions[numbers[k]].slot == slot for k in marked)
            arrows.append(Arrow(f"l{space}", f"s{slot}", visited=is_found))
        found |= {conjunctions[numbers[k]].slot for k in marked}
    assert sorted(words.subscriptions(found)) == sorted(index.match(EVENT))
    for slot in sorted({one.slot for one in conjunctions}):
        boxes.append(subscription_box(words, slot, conjunctions, is_true))
    return picture(TITLE, boxes, arrows, towards="right", apart=70)


def conjunctions_of(inner: Any) -> list[Conjunction]:
    """Those of all subscriptions. A slot with several is stored as -1 - slot."""
    slot, start, predicate = inner.conjunctions()
    return [
        Conjunction(int(one) if one >= 0 else -1 - int(one), predicate[start[k] : start[k + 1]].tolist())
        for k, one in enumerate(slot)
    ]


def number_of(words: Words, spaces: Spaces, space: int, record: Record, conjunctions: list[Conjunction]) -> int:
    """The conjunction of a record: what the record tests, and one predicate more that the space lies in."""
    slot = record.slot if record.slot >= 0 else -1 - record.slot
    for number, one in enumerate(conjunctions):
        rest = [p for p in one.predicates if p not in record.tested]
        is_mine = one.slot == slot and len(rest) == 1 and len(one.predicates) == len(record.tested) + 1
        if is_mine and words.snapshot.predicates.domain[rest[0]] == spaces.domain(space):
            return number
    raise AssertionError("a record is of no conjunction")


def subscription_box(words: Words, slot: int, conjunctions: list[Conjunction], is_true: list[bool]) -> Box:
    mine = [number for number, one in enumerate(conjunctions) if one.slot == slot]
    lines = [" AND ".join(words.predicate(p) for p in conjunctions[number].predicates) for number in mine]
    marked = [k for k, number in enumerate(mine) if is_true[number]]
    return Box(f"s{slot}", words.subscription(slot), lines, "result", bool(marked), marked=marked)
