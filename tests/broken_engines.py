"""Engines that fail in every way the harness must notice. Imported only by processes that measure them."""

import os
import time

import numpy as np

from tellwhen.engines.base import Reader
from tellwhen.engines.scan import Scan
from tellwhen.kernels.arrays import Matches


class Forgetful(Scan):
    """Loses the last match of a batch, which makes it a little faster, too."""

    name = "test-forgetful"

    def reader(self):
        return _Forgetful(super().reader())


class _Forgetful(Reader):
    def __init__(self, inner):
        self._inner = inner

    def match(self, events):
        start, slot = self._inner.match(events)
        return Matches(np.minimum(start, max(0, len(slot) - 1)), slot[:-1])

    def candidates(self, events):
        return self._inner.candidates(events)


class Repeating(Scan):
    """Tells of the first match twice."""

    name = "test-repeating"

    def reader(self):
        return _Repeating(super().reader())


class _Repeating(_Forgetful):
    def match(self, events):
        start, slot = self._inner.match(events)
        event = int(np.argmax(np.diff(start) > 0))
        after = np.where(np.arange(len(start)) > event, start + 1, start)
        return Matches(after, np.insert(slot, start[event], slot[start[event]]))


class Endless(Scan):
    name = "test-endless"

    def insert(self, slots):
        time.sleep(600)


class Greedy(Scan):
    name = "test-greedy"

    def insert(self, slots):
        self.kept = []
        while True:
            self.kept.append(np.ones(10_000_000))
            time.sleep(0.05)


class Dying(Scan):
    name = "test-dying"

    def insert(self, slots):
        os._exit(3)


class Raising(Scan):
    name = "test-raising"

    def insert(self, slots):
        raise RuntimeError("no")
