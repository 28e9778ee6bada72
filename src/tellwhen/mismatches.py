"""Values that no subscription can compare with: counted by attribute, and logged once, since they match nothing."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping

log = logging.getLogger("tellwhen")


class Mismatches:
    """How many values of a wrong type events had, by attribute."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts: Counter[str] = Counter(counts)
        self.renew_lock()

    def renew_lock(self) -> None:
        """After a fork: another thread may have held it."""
        self._lock = threading.Lock()  # of its own: a match never waits for a change

    def add(self, counts: Mapping[str, int], types: Callable[[], Mapping[str, str]]) -> None:
        """Some more; `types` gives those that subscriptions compare attributes with."""
        with self._lock:
            fresh = [name for name in counts if name not in self._counts]
            self._counts.update(counts)
        for name in fresh:
            log.warning(
                "tellwhen: %s is given, but not as the %s that subscriptions compare it with: what asks for it is "
                "undefined; told once, all such events are counted in stats()['mismatches']",
                name,
                types().get(name, "type"),
            )

    def as_dict(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)
