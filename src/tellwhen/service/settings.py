"""Limits of the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of requests, responses and listeners of a service."""

    body: int = 16 << 20
    """Bytes of a request with many subscriptions or many events."""
    single: int = 1 << 20
    """Bytes of any other request. It is parsed in the event loop, so all other requests wait meanwhile."""
    events: int = 10_000
    """Events in one request."""
    subscriptions: int = 100_000
    """Subscriptions in one request."""
    results: int = 100_000
    """Ids in one response; `count` has the number of all."""
    payloads: int = 10_000
    """Payloads in one response."""
    payload_bytes: int = 16 << 20
    """Bytes of all payloads in one response."""
    expression: int = 100_000
    """Characters of one expression, as text or as JSON."""
    filter: int = 2_000
    """Characters of a listener's filter."""
    filters: int = 1_000
    """Listeners with a filter."""
    seconds: float = 30.0
    """Seconds for a request to arrive, and again for it to be answered."""
    rate: float | None = None
    """Requests per second of one key; None for no limit."""
    listeners: int = 20_000
    """Connections that listen for live matches."""
    recent: int = 1_000
    """Recent events that are remembered for dry runs."""
    remembered: int = 16 << 10
    """Bytes of a request whose event is remembered for dry runs; events of larger requests are not."""
