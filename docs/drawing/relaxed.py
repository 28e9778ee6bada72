"""The parts of expressions in the index of relaxed matching, and the sums of the weights of true parts."""

from __future__ import annotations

from typing import NamedTuple

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box
from docs.drawing.decoder import IndexDecoder
from docs.drawing.routing import draw_routed_graph
from tellwhen.relaxed.arrays import AND, OPERATIONS, OR, RelaxedIndex
from tellwhen.relaxed.index import StoreView

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
    """A predicate in a part of several predicates (`is_part`), or as a part by itself of a subscription.

    `number` is the number of the part or of the subscription.
    """

    predicate: int
    is_part: bool
    number: int
    weight: float


def draw() -> str:
    index = tw.Index()
    for name, expression, weights in SUBSCRIPTIONS:
        index.add(name, expression, weights=weights)
    decoder, relaxed = IndexDecoder(index), get_relaxed_index(index)
    event_points = decoder.encode_event(EVENT)
    predicates = [p for p in range(len(relaxed.start) - 1) if relaxed.start[p] < relaxed.start[p + 1]]
    true_predicates = {p for p in predicates if decoder.is_satisfied(p, event_points)}
    postings = [posting for p in predicates for posting in read_postings(relaxed, p)]
    true_parts = {
        part for part in range(len(relaxed.part_owner)) if evaluate(read_code(relaxed, part), true_predicates)
    }
    sums = sum_weights(relaxed, postings, true_predicates, true_parts)
    expected = dict(index.top_k(EVENT, relaxed=True))
    assert {decoder.name_subscription(relaxed.slot[number]): total for number, total in sums.items()} == expected

    boxes = [Box(f"p{p}", decoder.format_predicate(p), (), "leaf", p in true_predicates) for p in predicates]
    boxes += [make_part_box(decoder, relaxed, part, part in true_parts) for part in range(len(relaxed.part_owner))]
    for number, slot in enumerate(relaxed.slot):
        line = f"adds up to {sums.get(number, 0):g}"
        boxes.append(
            Box(f"s{number}", decoder.name_subscription(slot), [line], "result", number in sums, marked_lines=[0])
        )
    return draw_routed_graph(
        TITLE, boxes, make_arrows(relaxed, postings, true_predicates, true_parts), towards="right", results_last=True
    )


def get_relaxed_index(index: tw.Index) -> RelaxedIndex:
    shard = index._shard
    (segment,) = shard.relaxed._update_segments(StoreView.from_store(shard.store))
    arrays: RelaxedIndex = segment.packed.arrays
    return arrays


def read_postings(relaxed: RelaxedIndex, p: int) -> list[Posting]:
    postings = []
    for at in range(relaxed.start[p], relaxed.start[p + 1]):
        number = int(relaxed.posting[at])
        postings.append(Posting(p, number < 0, number if number >= 0 else -1 - number, float(relaxed.weight[at])))
    return postings


def read_code(relaxed: RelaxedIndex, part: int) -> list[int]:
    code: list[int] = relaxed.code[relaxed.code_start[part] : relaxed.code_start[part + 1]].tolist()
    return code


def decode_operation(word: int) -> tuple[bool, int]:
    """Return (whether an operation is an OR, the number of its operands)."""
    kind, count = (-1 - word) % OPERATIONS, (-1 - word) // OPERATIONS
    assert kind in (AND, OR), "no part in a picture has registers"
    return kind == OR, count


def evaluate(code: list[int], true_predicates: set[int]) -> bool:
    """Return whether a part is true. Its code is in postfix form."""
    stack: list[bool] = []
    for word in code:
        if word >= 0:
            stack.append(word in true_predicates)
        else:
            is_or, count = decode_operation(word)
            stack[-count:] = [any(stack[-count:]) if is_or else all(stack[-count:])]
    return stack[0]


def format_code(decoder: IndexDecoder, code: list[int]) -> str:
    stack: list[str] = []
    for word in code:
        if word >= 0:
            stack.append(decoder.format_predicate(word))
        else:
            is_or, count = decode_operation(word)
            stack[-count:] = [(" OR " if is_or else " AND ").join(stack[-count:])]
    return stack[0]


def sum_weights(
    relaxed: RelaxedIndex, postings: list[Posting], true_predicates: set[int], true_parts: set[int]
) -> dict[int, float]:
    """Return the sum of the weights of true parts, by number of each subscription that has some."""
    sums: dict[int, float] = {}
    for posting in postings:
        if posting.predicate in true_predicates and not posting.is_part:
            sums[posting.number] = sums.get(posting.number, 0) + posting.weight
    for part in true_parts:
        number = int(relaxed.part_owner[part])
        sums[number] = sums.get(number, 0) + float(relaxed.part_weight[part])
    return sums


def make_part_box(decoder: IndexDecoder, relaxed: RelaxedIndex, part: int, is_true: bool) -> Box:
    return Box(f"q{part}", format_code(decoder, read_code(relaxed, part)), (), "node", is_true)


def make_arrows(
    relaxed: RelaxedIndex, postings: list[Posting], true_predicates: set[int], true_parts: set[int]
) -> list[Arrow]:
    arrows = []
    for posting in postings:
        target = f"{'q' if posting.is_part else 's'}{posting.number}"
        label = "" if posting.is_part else f"{posting.weight:g}"
        arrows.append(Arrow(f"p{posting.predicate}", target, label, posting.predicate in true_predicates))
    for part, number in enumerate(relaxed.part_owner):
        arrows.append(Arrow(f"q{part}", f"s{number}", f"{relaxed.part_weight[part]:g}", part in true_parts))
    return arrows
