"""Limits and timeouts of the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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


class Timeouts(NamedTuple):
    """Timeouts and intervals of a service, in seconds; the time limit of a request is `Limits.seconds`."""

    head_seconds: float = 30.0
    """Disconnect a client whose request head is incomplete after this time; a new connection must send a head, too."""
    send_seconds: float = 60.0
    """Disconnect a client that has read nothing of a response for this time, while the rest waits to be sent."""
    keep_alive_seconds: int = 75
    """Close a connection that was idle for this time."""
    shutdown_seconds: int = 3
    """Wait up to this time for open connections when the service stops."""
    heartbeat_seconds: float = 15.0
    """Send a comment to a listener after this time without a message, so that both sides notice a lost connection."""
    keys_check_seconds: float = 1.0
    """Interval at which the file of keys is checked for changes."""
    version_check_seconds: float = 2.0
    """Interval at which an index built on Spark is checked for a new version."""
    reopen_seconds: float = 10.0
    """Open a tenant that failed to open again after this time at the earliest: its index may be large."""
    inline_match_seconds: float = 0.002
    """Match in the event loop, which is faster, while matching takes less than this on average."""


TIMEOUTS = Timeouts()
"""The default timeouts."""
