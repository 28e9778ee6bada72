"""The subscriptions and the event in the pictures of engines for any expression: with OR, NOT and shared parts."""

from __future__ import annotations

from typing import Any

import tellwhen as tw
from docs.drawing.boxes import Box

SUBSCRIPTIONS = {
    "anna": "category = 'bike' AND (price <= 100 OR city = 'Rome')",
    "ben": "(price <= 100 OR city = 'Rome') AND NOT brand = 'Gios'",
    "cara": "category = 'bike' AND (price <= 100 OR city = 'Rome') AND NOT brand = 'Gios'",
    "dan": "category = 'camera' AND brand IN ('Leica', 'Nikon')",
    "eva": "(category = 'bike' AND price <= 100) OR (category = 'camera' AND city = 'Rome')",
    "finn": "price <= 100 OR city = 'Rome'",
    "gita": "NOT (category = 'bike' OR city = 'Oslo')",
    "hugo": "(category = 'bike' AND price <= 300) OR (category = 'camera' AND city = 'Rome')",
}

EVENT: dict[str, Any] = {"category": "bike", "price": 250, "city": "Rome", "brand": "Gios"}
"""A new offer. It satisfies anna, finn and hugo."""


def build_example(engine: str, **options: Any) -> tw.Index:
    """Return an index of the example subscriptions, all of them merged into the structure of the engine."""
    return tw.Index(engine, **options).add_many(SUBSCRIPTIONS).rebuild()


def make_event_box() -> Box:
    """Return the box of the example event."""
    return Box("event", "the event", [f"{name} = {value!r}" for name, value in EVENT.items()], "plain", is_visited=True)
