"""How are rivals timed? In turn, several times over; the result is the median with its spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Measured(NamedTuple):
    """The median of several times and half of their interquartile range, both in seconds."""

    median: float
    spread: float

    @property
    def noise(self) -> float:
        """The spread as a share of the median."""
        return self.spread / self.median


def interleaved(rivals: dict[str, Callable[[], object]], repeat: int = 9) -> dict[str, Measured]:
    """Run all rivals in turn, `repeat` times over: a disturbance of the machine affects them all alike."""
    for run in rivals.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeat):
        for name, run in rivals.items():
            times[name].append(timed(run))
    return {name: measured(found) for name, found in times.items()}


def timed(run: Callable[[], object]) -> float:
    """Seconds that one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def summed(times: list[float]) -> Measured:
    """The total of work that was timed in equal parts; the spread of the parts is scaled up to it."""
    part = measured(times)
    return Measured(sum(times), part.spread * len(times))


def measured(times: list[float]) -> Measured:
    """The median and spread of several times of the same work."""
    first, middle, third = statistics.quantiles(times, n=4)
    return Measured(middle, (third - first) / 2)
