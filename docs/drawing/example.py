"""Which subscriptions and which event are in the pictures? The same for all engines of conjunctions, so that a reader
can compare their structures."""

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
"""A small market for used things: who is to be told about which offer?"""

EVENT: dict[str, Any] = {"category": "bike", "price": 250, "city": "Rome"}
"""A new offer, without a brand. It satisfies anna, ben and hugo."""


def example(engine: str, **options: Any) -> tw.Index:
    """An index of the subscriptions, all of them merged into the structure of the engine."""
    return tw.Index(engine, **options).add_many(SUBSCRIPTIONS).rebuild()


def event_box() -> Box:
    """The event of the pictures."""
    lines = [f"{name} = {value!r}" for name, value in EVENT.items()]
    return Box("event", "the event", lines, "plain", visited=True)
