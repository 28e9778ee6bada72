"""How does a peer in Python measure itself? Peers in other languages do the same, in their own words.

    build (timed) -> every event once: the answers -> warm up -> rounds, of every event alone

Needs nothing but Python: peers live in environments of their own.
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
WARM_UP = 2.0
"""Seconds of matching before the first round."""

ROUND = 2.0
"""Seconds that a round takes, about, at most: slow engines are timed on fewer events."""

LEAST = 0.05
"""Seconds that a round takes at least: fast engines match the events several times over."""

Match = Callable[[Any], Iterable[Any]]


def read(folder: Path, name: str) -> list[Any]:
    """The lines of `subscriptions` or `events`."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def measure(
    peer: str,
    events: Sequence[Any],
    build: Callable[[], Match],
    refused: Sequence[tuple[int, str]] = (),
    notes: str = "",
) -> None:
    """Build, match, and print one line of JSON."""
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
    timed = events[: max(3, int(ROUND / each))]
    _round(match, timed, WARM_UP - each * len(events))
    micros = [statistics.median(_round(match, timed, LEAST)) * 1e6 for _ in range(ROUNDS)]
    if len(timed) < len(events):
        notes = "; ".join(filter(None, (notes, f"timed on {len(timed)} events")))
    line = {"peer": peer, "build_seconds": built, "bytes": grown, "micros": micros, "matches": matches}
    print(json.dumps(line | {"refused": list(refused), "notes": notes}))


def _round(match: Match, events: Sequence[Any], least: float) -> list[float]:
    """The seconds that each event took; over again until enough time has gone."""
    times: list[float] = []
    end = time.perf_counter() + least
    while True:
        for event in events:
            begin = time.perf_counter()
            match(event)
            times.append(time.perf_counter() - begin)
        if time.perf_counter() >= end:
            return times
