"""The subscriptions and the event in the pictures of all engines of conjunctions, so that their structures compare."""

from __future__ import annotations

from typing import Any

import tellwhen as tw
from docs.drawing.boxes import Box

SUBSCRIPTIONS = {
    "anna": "category = 'bike' AND price <= 300",
    "ben": "category = 'bike' AND city = 'Rome'",
    "cara": "category = 'bike' AND price BETWEEN 200 AND 500 AND city = 'Oslo'",
    "dan": "category = 'camera' AND price <= 300",
    "eva": "category = 'camera' AND brand = 'Leica'",
    "finn": "category = 'camera' AND brand IN ('Leica', 'Nikon')",
    "gita": "city = 'Rome' AND price <= 50",
    "hugo": "city = 'Rome' AND price BETWEEN 200 AND 500",
    "ida": "city = 'Oslo' AND brand = 'Nikon'",
    "jon": "price <= 50",
}
"""What the users of a small market for second-hand goods want to buy."""

EVENT: dict[str, Any] = {"category": "bike", "price": 250, "city": "Rome"}
"""A new offer, without a brand. It satisfies anna, ben and hugo."""


def build_example(engine: str, **options: Any) -> tw.Index:
    """Return an index of the example subscriptions, all of them merged into the structure of the engine."""
    return tw.Index(engine, **options).add_many(SUBSCRIPTIONS).rebuild()


def make_event_box() -> Box:
    """Return the box of the example event."""
    lines = [f"{name} = {value!r}" for name, value in EVENT.items()]
    return Box("event", "the event", lines, "plain", is_visited=True)
