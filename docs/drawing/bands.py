"""Which bands does the default engine cut by score, and which of them does an event match for the best k?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box, picture
from tellwhen.encode.events import EventEncoder
from tellwhen.engines.base import Tier

TITLE = "Bands: subscriptions in segments by their scores; the best k are looked for in the best band first"

CATEGORIES, CITIES = (
    ("bike", "camera", "book", "lamp"),
    ("Rome", "Oslo", "Lima", "Bonn", "Riga", "Kyiv", "Bern", "Cork"),
)
COUNT, K = 32_768, 5
RAISED = 608
"""A subscription of the last band, which gets a better score later."""

EVENT = {"category": "bike", "city": "Rome", "price": 480}


Ranked = list[tuple[Any, float]]
"""Ids with their scores, best first."""


class Step(NamedTuple):
    """One tier: its size, its bound, and what the event matches in it; None if it is not matched at all."""

    size: int
    bound: float
    matched: Ranked | None


def draw() -> str:
    index = example()
    steps, best = walked(index)
    assert best == index.top_k(EVENT, k=K)
    boxes = [tier_box(number, step, best) for number, step in enumerate(steps)]
    arrows = [Arrow(f"t{k - 1}", f"t{k}", visited=steps[k].matched is not None) for k in range(1, len(steps))]
    return picture(TITLE, boxes, arrows, towards="right")


def example() -> tw.Index:
    """Many subscriptions with scores, all in segments of `cover`; then one is raised, and one is added."""
    index = tw.Index("auto", layout=1)
    index.add_many((k, expression(k), (k * 7919 % 10007) / 100) for k in range(COUNT))
    index.set_score(RAISED, 97)
    return index.add("new", "category = 'bike'", score=50)


def expression(k: int) -> str:
    category, city = CATEGORIES[k % 4], CITIES[k // 4 % 8]
    return f"category = '{category}' AND city = '{city}' AND price <= {k * 37 % 500}"


def walked(index: tw.Index) -> tuple[list[Step], Ranked]:
    """Tier after tier, until the k-th match is better than the bound of the next one (`ranking.py`)."""
    shard = index._shard
    engine: Any = shard.engine
    encoder = EventEncoder(shard.store.attributes, index._schema)
    encoder.add(EVENT)
    events, scores = encoder.finish(), engine.source.scores
    sizes = [engine._pending.count + engine._bounds.raised.count, *(size for size, _ in engine.bands())]
    steps: list[Step] = []
    best: list[tuple[float, int]] = []  # less is better: the score below zero, and the slot
    for size, tier in zip(sizes, engine.reader().list_tiers(scores.changes), strict=True):
        matched = None
        if len(best) < K or best[K - 1] > (-tier.score, tier.slot):
            slots = np.setdiff1d(tier.reader.match(events).slot, elsewhere(tier))
            mine = sorted(zip((-scores.of(slots)).tolist(), slots.tolist(), strict=True))
            best, matched = sorted([*best, *mine]), named(shard.ids, mine)
        steps.append(Step(size, tier.score, matched))
    return steps, named(shard.ids, best[:K])


def named(ids: Any, ranked: list[tuple[float, int]]) -> Ranked:
    return [(ids[slot], -score) for score, slot in ranked]


def elsewhere(tier: Tier) -> Any:
    """The slots that are in the first tier, too."""
    return np.flatnonzero(np.unpackbits(tier.elsewhere, bitorder="little"))


def tier_box(number: int, step: Step, best: Ranked) -> Box:
    if np.isinf(step.bound):
        head, lines = "tested one by one", [f"{step.size} pending or raised"]
    else:
        head, lines = f"band {number}", [f"{step.size:,} subscriptions", f"scores up to {step.bound}"]
    found = step.matched or []
    lines.append("not matched" if step.matched is None else f"{len(found)} match:")
    marked = [len(lines) + k for k, one in enumerate(found) if one in best]
    return Box(
        f"t{number}",
        head,
        [*lines, *(f"{one}: {score}" for one, score in found)],
        "node",
        step.matched is not None,
        marked=marked,
    )
