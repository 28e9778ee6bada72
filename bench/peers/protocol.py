"""How does a peer measure itself? This is for Python; peers in other languages do the same.

    build (timed) ──> match every event once: the answers ──> warm up ──> rounds that time every event alone

Needs nothing but Python, since peers have environments of their own.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.machine import resident

ROUNDS = 7
WARM_UP_SECONDS = 2.0
"""Time of matching before the first round."""

ROUND_SECONDS = 2.0
"""A round takes at most about this long: slow engines are timed on fewer events."""

ROUND_SECONDS_MIN = 0.05
"""A round takes at least this long: fast engines match the events several times."""

Match = Callable[[Any], Iterable[Any]]


def read(folder: Path, name: str) -> list[Any]:
    """The lines of the file `subscriptions` or `events`."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def measure(
    peer: str,
    events: Sequence[Any],
    build: Callable[[], Match],
    refused: Sequence[tuple[int, str]] = (),
    notes: str = "",
) -> None:
    """Build, match, and print the results as one line of JSON."""
    gc.collect()
    before = resident()
    begin = time.perf_counter()
    match = build()
    built = time.perf_counter() - begin
    gc.collect()
    grown = resident() - before
    begin = time.perf_counter()
    matches = [sorted(int(id) for id in match(event)) for event in events]
    each = (time.perf_counter() - begin) / len(events)
    timed = events[: max(3, int(ROUND_SECONDS / each))]
    _round(match, timed, WARM_UP_SECONDS - each * len(events))
    micros = [statistics.median(_round(match, timed, ROUND_SECONDS_MIN)) * 1e6 for _ in range(ROUNDS)]
    if len(timed) < len(events):
        notes = "; ".join(filter(None, (notes, f"timed on {len(timed)} events")))
    line = {"peer": peer, "build_seconds": built, "bytes": grown, "micros": micros, "matches": matches}
    print(json.dumps(line | {"refused": list(refused), "notes": notes}))


def _round(match: Match, events: Sequence[Any], seconds: float) -> list[float]:
    """The seconds that each event took; all events are matched again until the round has taken long enough."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while True:
        for event in events:
            begin = time.perf_counter()
            match(event)
            times.append(time.perf_counter() - begin)
        if time.perf_counter() >= end:
            return times
