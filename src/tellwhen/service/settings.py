"""What may be set? Limits, with what they guard against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much may be asked for at once."""

    body: int = 16 << 20
    """Bytes of a request about many subscriptions, or with many events."""
    single: int = 1 << 20
    """Bytes of any other request: while it is read, everybody waits."""
    events: int = 10_000
    """Events in one request."""
    subscriptions: int = 100_000
    """Subscriptions in one request."""
    results: int = 100_000
    """Ids in one answer; the rest are counted."""
    payloads: int = 10_000
    """Payloads in one answer."""
    payload_bytes: int = 16 << 20
    """Bytes of the payloads in one answer."""
    expression: int = 100_000
    """Characters of one expression, as text or as JSON."""
    filter: int = 2_000
    """Characters of the filter of one who listens."""
    filters: int = 1_000
    """Listeners with a filter."""
    seconds: float = 30.0
    """A request: to arrive, and to be answered."""
    rate: float | None = None
    """Requests per second of one key; None for any number."""
    listeners: int = 20_000
    """Connections that wait for live matches."""
    recent: int = 1_000
    """Events that are kept to try expressions on."""
    remembered: int = 16 << 10
    """Bytes of the request of an event that is kept for that; larger ones are not."""
