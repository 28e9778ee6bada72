"""Engines with all kinds of faults that the benchmark must notice. Only processes that measure them import this."""

import os
import time

import numpy as np

from tellwhen.engines.base import Reader
from tellwhen.engines.scan.engine import Scan
from tellwhen.kernels.arrays import Matches


class Altered(Reader):
    """Reader that alters the matches of another reader."""

    def __init__(self, inner, alter):
        self._inner, self._alter = inner, alter

    def match(self, events):
        return self._alter(self._inner.match(events), len(events.start) - 1)

    def count_candidates(self, events):
        return self._inner.count_candidates(events)


def altered(name, alter):
    return type(name, (Scan,), {"name": name, "reader": lambda self: Altered(Scan.reader(self), alter)})


def without_last(found, count):
    return Matches(np.minimum(found.start, max(0, len(found.slot) - 1)), found.slot[:-1])


def with_one_more(found, count):
    """The last event gets a slot that it does not satisfy."""
    last = set(found.slot[found.start[-2] :].tolist())
    wrong = next(slot for slot in range(1000) if slot not in last)
    return Matches(np.append(found.start[:-1], found.start[-1] + 1), np.append(found.slot, wrong).astype(np.int32))


def with_the_first_twice(found, count):
    event = int(np.argmax(np.diff(found.start) > 0))
    after = np.where(np.arange(len(found.start)) > event, found.start + 1, found.start)
    return Matches(after, np.insert(found.slot, found.start[event], found.slot[found.start[event]]))


def nothing_singly(found, count):
    return found if count > 1 else Matches(np.zeros(2, dtype=np.int64), found.slot[:0])


def a_sample(found, count):
    """Right on a sample of the subscriptions only."""
    owner = np.repeat(np.arange(count), np.diff(found.start))
    kept = found.slot % 5 == 0
    return Matches(np.searchsorted(owner[kept], np.arange(count + 1)), found.slot[kept])


altered("test-forgetful", without_last)
altered("test-inventive", with_one_more)
altered("test-repeating", with_the_first_twice)
altered("test-only-batches", nothing_singly)
altered("test-sampling", a_sample)


class Printing(Scan):
    name = "test-printing"

    def insert(self, slots):
        print("hello")
        super().insert(slots)


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


class Late(Scan):
    """Fails when its reader is taken."""

    name = "test-late"

    def reader(self):
        raise RuntimeError("not now")
