"""Matching one batch in several threads: each takes a part of the events, since kernels release the GIL."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from tellwhen.containers.batches import slice_events
from tellwhen.kernels.arrays import Events, Matches

Result = TypeVar("Result")

EVENTS_PER_THREAD = 64
"""A thread is started for every 64 events, at most."""


def count_cores() -> int:
    """Return the number of processors that this process may use, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def match_in_threads(match: Callable[[Events], Matches], events: Events, threads: int) -> Matches:
    """Match all events in at most `threads` threads."""
    parts = run_in_threads(match, events, threads)
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.diff(matches.start) for matches in parts])
    return Matches(np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([matches.slot for matches in parts]))


def run_in_threads(run: Callable[[Events], Result], events: Events, threads: int) -> list[Result]:
    """Run a function on parts of the events in at most `threads` threads; return the results in order."""
    count = len(events.single_valued)
    parts = max(1, min(threads, count // EVENTS_PER_THREAD))
    if parts == 1:
        return [run(events)]
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(run, (slice_events(events, *ends) for ends in itertools.pairwise(bounds))))
