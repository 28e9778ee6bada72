"""How long has matching taken lately?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


class Pace:
    """The seconds that something takes on average, the last times counting most."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, run: Callable[[], Found]) -> Found:
        """Run it. By the time of the processor: to wait for other threads is not its fault."""
        begin = time.thread_time()
        found = run()
        self.seconds += 0.25 * (time.thread_time() - begin - self.seconds)
        return found
