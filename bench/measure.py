"""Rivals measured side by side: interleaved, repeated, the median with its spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Measured(NamedTuple):
    """The median of several runs, and half the distance between their quartiles, both in seconds."""

    median: float
    spread: float

    @property
    def noise(self) -> float:
        """The spread as a share of the median."""
        return self.spread / self.median


def interleaved(rivals: dict[str, Callable[[], object]], repeat: int = 9) -> dict[str, Measured]:
    """Run all rivals in turn, `repeat` times over; what disturbs the machine disturbs them all alike."""
    for run in rivals.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeat):
        for name, run in rivals.items():
            times[name].append(timed(run))
    return {name: measured(found) for name, found in times.items()}


def timed(run: Callable[[], object]) -> float:
    """Seconds that it takes, once."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def summed(times: list[float]) -> Measured:
    """The whole of work that was measured in equal parts, with the spread of the parts scaled up to it."""
    part = measured(times)
    return Measured(sum(times), part.spread * len(times))


def measured(times: list[float]) -> Measured:
    """The median of several runs of the same."""
    first, middle, third = statistics.quantiles(times, n=4)
    return Measured(middle, (third - first) / 2)
