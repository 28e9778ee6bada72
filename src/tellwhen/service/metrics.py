"""What does a tenant's service measure? For Prometheus and the console; tenants see their own."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from tellwhen.service.tenants import Tenant

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """The measurements of a tenant, in a registry of its own."""

    def __init__(self, tenant: Tenant) -> None:
        self.registry = registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": registry}
        self.events = Counter("tellwhen_events", "Events that were published.", **given)
        self.matches = Counter("tellwhen_matches", "Subscriptions that published events satisfied.", **given)
        self.changes = Counter("tellwhen_changes", "Changes that were accepted.", ["kind"], **given)
        self.rejected = Counter("tellwhen_rejected", "Subscriptions that were refused.", **given)
        self.requests = Counter("tellwhen_requests", "Requests, by path and status.", ["path", "status"], **given)
        self.match_seconds = Histogram(
            "tellwhen_match_seconds",
            "From an event to the ids of its matches; one that is published alone.",
            buckets=SECONDS,
            **given,
        )
        for name, text, value in (
            ("tellwhen_subscriptions", "Subscriptions.", lambda: len(tenant.index)),
            ("tellwhen_journal_bytes", "Bytes of changes since the last snapshot.", lambda: tenant.kept.journal_bytes),
            ("tellwhen_live_listeners", "Connections that wait for live matches.", lambda: len(tenant.live)),
            ("tellwhen_live_sent", "Messages to those who listen.", lambda: tenant.live.sent),
            ("tellwhen_live_lost", "Messages that slow readers lost.", lambda: tenant.live.lost),
            ("tellwhen_healthy", "1 if changes are taken, or versions followed.", lambda: tenant.kept.failure is None),
        ):
            Gauge(name, text, **given).set_function(value)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)

    def total(self, name: str) -> int:
        """What was counted so far."""
        return int(self.registry.get_sample_value(name) or 0)

    def latency(self) -> list[dict[str, float | None]]:
        """How many events took up to how many seconds, and longer than the bound before; None is any longer."""
        found: list[dict[str, float | None]] = []
        before = 0.0
        for sample in next(iter(self.match_seconds.collect())).samples:
            if sample.name.endswith("_bucket"):
                bound = float(sample.labels["le"])
                found.append({"seconds": bound if isfinite(bound) else None, "events": sample.value - before})
                before = sample.value
        return found
