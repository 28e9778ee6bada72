"""How do several threads match one batch? Each a part of its events: kernels let other threads run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from tellwhen.containers.batches import between
from tellwhen.engines.base import Reader
from tellwhen.kernels.arrays import Events, Matches

Found = TypeVar("Found")

EVENTS_PER_THREAD = 64
"""Fewer events are not worth another thread."""


def count_cores() -> int:
    """The processors that this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def match_in_threads(reader: Reader, events: Events, threads: int) -> Matches:
    """The matches of all events, by at most so many threads."""
    found = run_in_threads(reader.match, events, threads)
    if len(found) == 1:
        return found[0]
    lengths = np.concatenate([np.diff(matches.start) for matches in found])
    return Matches(np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([matches.slot for matches in found]))


def run_in_threads(run: Callable[[Events], Found], events: Events, threads: int) -> list[Found]:
    """The results of running on parts of the events, in order. Uses at most `threads` threads."""
    count = len(events.single_valued)
    parts = max(1, min(threads, count // EVENTS_PER_THREAD))
    if parts == 1:
        return [run(events)]
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(run, (between(events, *ends) for ends in itertools.pairwise(bounds))))
