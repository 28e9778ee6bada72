"""Timing of rivals in turn, several times; the result is the median with its spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

QUARTILE_DIFFERENCE_MAX = 0.1
"""Largest difference of the quartiles of a steady measurement, as a share of the median."""


class Measurement(NamedTuple):
    """The median of several measurements of one quantity, and half of their interquartile range."""

    median: float
    spread: float

    @property
    def noise(self) -> float:
        """The spread as a share of the median."""
        return self.spread / self.median

    @property
    def is_steady(self) -> bool:
        """Whether the quartiles differ by at most a tenth of the median."""
        return 2 * self.noise <= QUARTILE_DIFFERENCE_MAX


def time_interleaved(rivals: dict[str, Callable[[], object]], repeat: int = 9) -> dict[str, Measurement]:
    """Run all rivals in turn, `repeat` times: a disturbance of the machine then affects all of them alike."""
    for run in rivals.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeat):
        for name, run in rivals.items():
            times[name].append(time_run(run))
    return {name: summarize(seconds) for name, seconds in times.items()}


def time_run(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def sum_times(times: list[float]) -> Measurement:
    """Return the total time of work that was timed in equal parts; the spread of the parts is scaled up to it."""
    part = summarize(times)
    return Measurement(sum(times), part.spread * len(times))


def summarize(values: list[float]) -> Measurement:
    first, middle, third = statistics.quantiles(values, n=4)
    return Measurement(middle, (third - first) / 2)
