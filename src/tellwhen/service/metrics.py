"""Metrics of a tenant, for Prometheus and for the console."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from tellwhen.service.tenants import Tenant

LATENCY_BOUNDS_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """The metrics of one tenant. Each tenant has its own registry, so that it cannot see the metrics of others."""

    def __init__(self, tenant: Tenant) -> None:
        self.registry = registry = CollectorRegistry()
        options: dict[str, Any] = {"registry": registry}
        self.events = Counter("tellwhen_events", "Published events.", **options)
        self.matches = Counter("tellwhen_matches", "Matches of published events.", **options)
        self.changes = Counter("tellwhen_changes", "Accepted changes, by kind.", ["kind"], **options)
        self.rejected = Counter("tellwhen_rejected", "Subscriptions that were put into quarantine.", **options)
        self.requests = Counter("tellwhen_requests", "Requests, by path and status.", ["path", "status"], **options)
        self.match_seconds = Histogram(
            "tellwhen_match_seconds",
            "Time from an event to the ids of its matches, of POST /v1/publish.",
            buckets=LATENCY_BOUNDS_SECONDS,
            **options,
        )
        for name, text, get_value in (
            ("tellwhen_subscriptions", "Number of subscriptions.", lambda: len(tenant.index)),
            (
                "tellwhen_journal_bytes",
                "Bytes of changes since the index was last saved.",
                lambda: tenant.storage.journal_bytes,
            ),
            ("tellwhen_live_listeners", "Connections that listen for matches.", lambda: len(tenant.listeners)),
            ("tellwhen_live_sent", "Messages that were sent to listeners.", lambda: tenant.listeners.sent_messages),
            ("tellwhen_live_lost", "Messages that slow listeners lost.", lambda: tenant.listeners.lost_messages),
            (
                "tellwhen_healthy",
                "1 if the service accepts changes, or follows new versions; otherwise 0.",
                lambda: tenant.storage.failure is None,
            ),
        ):
            Gauge(name, text, **options).set_function(get_value)

    def export(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def get_total(self, name: str) -> int:
        """Return the value of a counter, such as `tellwhen_events_total`."""
        return int(self.registry.get_sample_value(name) or 0)

    def get_latency_histogram(self) -> list[dict[str, float | None]]:
        """Return the number of events in each interval of matching time.

        An entry counts the events that took at most `seconds`, and more than the `seconds` of the previous entry. The
        last entry has None: it has no upper bound.
        """
        histogram: list[dict[str, float | None]] = []
        cumulative = 0.0
        for sample in next(iter(self.match_seconds.collect())).samples:
            if sample.name.endswith("_bucket"):
                bound = float(sample.labels["le"])
                histogram.append({"seconds": bound if isfinite(bound) else None, "events": sample.value - cumulative})
                cumulative = sample.value
        return histogram
