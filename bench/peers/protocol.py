"""How a peer in Python measures itself; peers in other languages do the same.

    build (timed) ──> match every event once: the answers ──> warm up ──> rounds that time every event alone

This module needs only Python, because peers have environments of their own.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.machine import read_resident_bytes

ROUNDS = 7
WARM_UP_SECONDS = 2.0
"""Events are matched for this long before the first round."""

ROUND_SECONDS_MAX = 2.0
"""A round takes at most about this long: slow engines are timed on fewer events."""

ROUND_SECONDS_MIN = 0.05
"""A round takes at least this long: fast engines match the events several times."""

Match = Callable[[Any], Iterable[Any]]


def read_rows(folder: Path, name: str) -> list[Any]:
    """Read the lines of the file `subscriptions` or `events`."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def measure(
    peer: str,
    events: Sequence[Any],
    build: Callable[[], Match],
    refused: Sequence[tuple[int, str]] = (),
    notes: str = "",
) -> None:
    """Build and match, and print the results as one line of JSON."""
    gc.collect()
    before = read_resident_bytes()
    begin = time.perf_counter()
    match = build()
    build_seconds = time.perf_counter() - begin
    gc.collect()
    bytes_grown = read_resident_bytes() - before
    begin = time.perf_counter()
    matches = [sorted(int(id) for id in match(event)) for event in events]
    each = (time.perf_counter() - begin) / len(events)
    timed_events = events[: max(3, int(ROUND_SECONDS_MAX / each))]
    _time_round(match, timed_events, WARM_UP_SECONDS - each * len(events))
    micros = [statistics.median(_time_round(match, timed_events, ROUND_SECONDS_MIN)) * 1e6 for _ in range(ROUNDS)]
    if len(timed_events) < len(events):
        notes = "; ".join(filter(None, (notes, f"timed on {len(timed_events)} events")))
    line = {"peer": peer, "build_seconds": build_seconds, "bytes": bytes_grown, "micros": micros, "matches": matches}
    print(json.dumps(line | {"refused": list(refused), "notes": notes}))


def _time_round(match: Match, events: Sequence[Any], seconds: float) -> list[float]:
    """Return the seconds of each match. All events are matched again until the round has taken `seconds`."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while True:
        for event in events:
            begin = time.perf_counter()
            match(event)
            times.append(time.perf_counter() - begin)
        if time.perf_counter() >= end:
            return times
