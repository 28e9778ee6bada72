"""Which expressions are in the pictures of engines that take any expression? The market of `example.py`, with ORs and
NOTs, and with parts that several subscriptions share."""

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


def example(engine: str, **options: Any) -> tw.Index:
    """An index of the subscriptions, all of them merged into the structure of the engine."""
    return tw.Index(engine, **options).add_many(SUBSCRIPTIONS).rebuild()


def event_box() -> Box:
    """The event of the pictures."""
    return Box("event", "the event", [f"{name} = {value!r}" for name, value in EVENT.items()], "plain", visited=True)
