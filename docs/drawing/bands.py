"""The bands into which the default engine sorts subscriptions by score, and those that an event needs for top k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box, draw_graph
from tellwhen.encode.events import EventEncoder
from tellwhen.engines.base import Tier

TITLE = "Bands: subscriptions in segments by their scores; the best k are looked for in the best band first"

CATEGORIES, CITIES = (
    ("bike", "camera", "book", "lamp"),
    ("Rome", "Oslo", "Lima", "Bonn", "Riga", "Kyiv", "Bern", "Cork"),
)
SUBSCRIPTION_COUNT, K = 32_768, 5
RAISED_ID = 608
"""The id of a subscription in the last band, which gets a better score later."""

EVENT = {"category": "bike", "city": "Rome", "price": 480}


RankedIds = list[tuple[Any, float]]
"""Ids with their scores, best first."""


class Step(NamedTuple):
    """A tier: its size, the bound of its scores, and the ids that match (None: the event was not matched with it)."""

    size: int
    bound: float
    matches: RankedIds | None


def draw() -> str:
    index = build_example()
    steps, best = rank_tiers(index)
    assert best == index.top_k(EVENT, k=K)
    boxes = [make_tier_box(number, step, best) for number, step in enumerate(steps)]
    arrows = [Arrow(f"t{k - 1}", f"t{k}", is_visited=steps[k].matches is not None) for k in range(1, len(steps))]
    return draw_graph(TITLE, boxes, arrows, towards="right")


def build_example() -> tw.Index:
    """Return an index of scored subscriptions in segments of `cover`. Then raise one score, and add one id."""
    index = tw.Index("auto", layout=1)
    index.add_many((k, make_expression(k), (k * 7919 % 10007) / 100) for k in range(SUBSCRIPTION_COUNT))
    index.set_score(RAISED_ID, 97)
    return index.add("new", "category = 'bike'", score=50)


def make_expression(k: int) -> str:
    category, city = CATEGORIES[k % 4], CITIES[k // 4 % 8]
    return f"category = '{category}' AND city = '{city}' AND price <= {k * 37 % 500}"


def rank_tiers(index: tw.Index) -> tuple[list[Step], RankedIds]:
    """Match tier after tier until the k-th match is better than the bound of the next one, as `ranking.py` does."""
    shard = index._shard
    engine: Any = shard.engine
    encoder = EventEncoder(shard.store.attributes, index._schema)
    encoder.add(EVENT)
    events, scores = encoder.finish(), engine.source.scores
    sizes = [engine._pending.count + engine._bounds.raised.count, *(size for size, _ in engine.list_bands())]
    steps: list[Step] = []
    best: list[tuple[float, int]] = []  # (-score, slot), best first
    for size, tier in zip(sizes, engine.reader().list_tiers(scores.changes), strict=True):
        matches = None
        if len(best) < K or best[K - 1] > (-tier.score, tier.slot):
            slots = np.setdiff1d(tier.reader.match(events).slot, list_excluded_slots(tier))
            tier_best = sorted(zip((-scores.get_scores(slots)).tolist(), slots.tolist(), strict=True))
            best, matches = sorted([*best, *tier_best]), name_slots(shard.ids, tier_best)
        steps.append(Step(size, tier.score, matches))
    return steps, name_slots(shard.ids, best[:K])


def name_slots(ids: Any, ranked: list[tuple[float, int]]) -> RankedIds:
    return [(ids[slot], -score) for score, slot in ranked]


def list_excluded_slots(tier: Tier) -> Any:
    """Return the slots that the first tier already has."""
    return np.flatnonzero(np.unpackbits(tier.elsewhere, bitorder="little"))


def make_tier_box(number: int, step: Step, best: RankedIds) -> Box:
    if np.isinf(step.bound):
        head, lines = "tested one by one", [f"{step.size} pending or raised"]
    else:
        head, lines = f"band {number}", [f"{step.size:,} subscriptions", f"scores up to {step.bound}"]
    matches = step.matches or []
    lines.append("not matched" if step.matches is None else f"{len(matches)} match:")
    marked = [len(lines) + k for k, one in enumerate(matches) if one in best]
    return Box(
        f"t{number}",
        head,
        [*lines, *(f"{one}: {score}" for one, score in matches)],
        "node",
        step.matches is not None,
        marked_lines=marked,
    )
