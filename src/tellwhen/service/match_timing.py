"""Measurement of how long matching takes, which decides whether it runs in the event loop or in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

LATEST_RUN_WEIGHT = 0.25


class MatchTiming:
    """An exponential moving average of CPU time, in `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def measure(self, run: Callable[[], Result]) -> Result:
        """Call a function and add its CPU time to the average; waiting for other threads does not count."""
        begin = time.thread_time()
        result = run()
        self.seconds += LATEST_RUN_WEIGHT * (time.thread_time() - begin - self.seconds)
        return result
