"""Which parts do expressions have in the index of relaxed matching, and what do those that are true add up to?"""

from __future__ import annotations

from typing import NamedTuple

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box
from docs.drawing.routed import picture
from docs.drawing.words import Words
from tellwhen.relaxed.arrays import ALL, OPERATIONS, SOME, RelaxedIndex
from tellwhen.relaxed.index import View

TITLE = "Relaxed matching: predicates lead to the parts of subscriptions, whose weights are added up"

SUBSCRIPTIONS = [
    (
        "anna",
        "category = 'bike' AND price >= 100 AND price <= 300 AND city = 'Rome'",
        {"category": 3, "price": 2, "city": 1},
    ),
    ("ben", "(category = 'bike' AND price <= 300) OR (category = 'camera' AND city = 'Oslo')", None),
    ("cara", "category = 'camera' AND NOT city = 'Rome'", {"category": 5, "city": 2}),
]

EVENT = {"category": "bike", "price": 250, "city": "Oslo"}


class Posting(NamedTuple):
    """Who asks for a predicate: a subscription of which it is a part by itself, or a part of several predicates."""

    predicate: int
    is_part: bool
    number: int
    weight: float


def draw() -> str:
    index = tw.Index()
    for name, expression, weights in SUBSCRIPTIONS:
        index.add(name, expression, weights=weights)
    words, relaxed = Words(index), relaxed_index(index)
    entries = words.entries(EVENT)
    predicates = [p for p in range(len(relaxed.start) - 1) if relaxed.start[p] < relaxed.start[p + 1]]
    true = {p for p in predicates if words.is_satisfied(p, entries)}
    postings = [posting for p in predicates for posting in postings_of(relaxed, p)]
    true_parts = {part for part in range(len(relaxed.part_number)) if value(code_of(relaxed, part), true)}
    sums = added_up(relaxed, postings, true, true_parts)
    expected = dict(index.top_k(EVENT, relaxed=True))
    assert {words.subscription(relaxed.slot[number]): total for number, total in sums.items()} == expected

    boxes = [Box(f"p{p}", words.predicate(p), (), "leaf", p in true) for p in predicates]
    boxes += [part_box(words, relaxed, part, part in true_parts) for part in range(len(relaxed.part_number))]
    for number, slot in enumerate(relaxed.slot):
        line = f"adds up to {sums.get(number, 0):g}"
        boxes.append(Box(f"s{number}", words.subscription(slot), [line], "result", number in sums, marked=[0]))
    return picture(TITLE, boxes, arrows_of(relaxed, postings, true, true_parts), towards="right", results_last=True)


def relaxed_index(index: tw.Index) -> RelaxedIndex:
    shard = index._shard
    (built,) = shard.relaxed._indexes(View.of(shard.store))
    arrays: RelaxedIndex = built.packed.arrays
    return arrays


def postings_of(relaxed: RelaxedIndex, p: int) -> list[Posting]:
    found = []
    for at in range(relaxed.start[p], relaxed.start[p + 1]):
        number = int(relaxed.posting[at])
        found.append(Posting(p, number < 0, number if number >= 0 else -1 - number, float(relaxed.weight[at])))
    return found


def code_of(relaxed: RelaxedIndex, part: int) -> list[int]:
    code: list[int] = relaxed.code[relaxed.code_start[part] : relaxed.code_start[part + 1]].tolist()
    return code


def operation(word: int) -> tuple[bool, int]:
    """Is it an OR, and of how many values?"""
    kind, count = (-1 - word) % OPERATIONS, (-1 - word) // OPERATIONS
    assert kind in (ALL, SOME), "no part in a picture has registers"
    return kind == SOME, count


def value(code: list[int], true: set[int]) -> bool:
    """Is a part true? Its code is in postfix form."""
    stack: list[bool] = []
    for word in code:
        if word >= 0:
            stack.append(word in true)
        else:
            is_or, count = operation(word)
            stack[-count:] = [any(stack[-count:]) if is_or else all(stack[-count:])]
    return stack[0]


def said(words: Words, code: list[int]) -> str:
    stack: list[str] = []
    for word in code:
        if word >= 0:
            stack.append(words.predicate(word))
        else:
            is_or, count = operation(word)
            stack[-count:] = [(" OR " if is_or else " AND ").join(stack[-count:])]
    return stack[0]


def added_up(relaxed: RelaxedIndex, postings: list[Posting], true: set[int], parts: set[int]) -> dict[int, float]:
    """By number of a subscription with a true part: the sum of the weights."""
    sums: dict[int, float] = {}
    for posting in postings:
        if posting.predicate in true and not posting.is_part:
            sums[posting.number] = sums.get(posting.number, 0) + posting.weight
    for part in parts:
        number = int(relaxed.part_number[part])
        sums[number] = sums.get(number, 0) + float(relaxed.part_weight[part])
    return sums


def part_box(words: Words, relaxed: RelaxedIndex, part: int, is_true: bool) -> Box:
    return Box(f"q{part}", said(words, code_of(relaxed, part)), (), "node", is_true)


def arrows_of(relaxed: RelaxedIndex, postings: list[Posting], true: set[int], parts: set[int]) -> list[Arrow]:
    found = []
    for posting in postings:
        target = f"{'q' if posting.is_part else 's'}{posting.number}"
        label = "" if posting.is_part else f"{posting.weight:g}"
        found.append(Arrow(f"p{posting.predicate}", target, label, posting.predicate in true))
    for part, number in enumerate(relaxed.part_number):
        found.append(Arrow(f"q{part}", f"s{number}", f"{relaxed.part_weight[part]:g}", part in parts))
    return found
