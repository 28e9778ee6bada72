"""What may be set? Limits, with what they guard against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much may be asked for at once."""

    body: int = 16 << 20
    """Bytes of a request."""
    events: int = 10_000
    """Events in one request."""
    subscriptions: int = 100_000
    """Subscriptions in one request."""
    results: int = 100_000
    """Ids in one answer; the rest are counted."""
    expression: int = 100_000
    """Characters of one expression."""
    seconds: float = 30.0
    """A request: to arrive, and to be answered."""
    rate: float | None = None
    """Requests per second of one key; None for any number."""
    listeners: int = 20_000
    """Connections that wait for live matches."""
    recent: int = 1_000
    """Events that are kept to try expressions on."""
