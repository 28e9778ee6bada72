"""Engines with faults that the benchmark must notice. Only the processes that measure them import this module."""

import os
import time

import numpy as np

from tellwhen.engines.base import Reader
from tellwhen.engines.scan.engine import Scan
from tellwhen.kernels.arrays import Matches


class AlteredReader(Reader):
    """Reader that alters the matches of another reader with a function of (matches, number of events)."""

    def __init__(self, inner, alter):
        self._inner, self._alter = inner, alter

    def match(self, events):
        return self._alter(self._inner.match(events), len(events.start) - 1)

    def count_candidates(self, events):
        return self._inner.count_candidates(events)


def register_altered_engine(name, alter):
    """Define an engine like `scan` whose readers alter matches; its class registers it under `name`."""
    return type(name, (Scan,), {"name": name, "reader": lambda self: AlteredReader(Scan.reader(self), alter)})


def drop_last_match(matches, count):
    return Matches(np.minimum(matches.start, max(0, len(matches.slot) - 1)), matches.slot[:-1])


def add_wrong_match(matches, count):
    """Give the last event a slot that it does not satisfy."""
    last = set(matches.slot[matches.start[-2] :].tolist())
    wrong = next(slot for slot in range(1000) if slot not in last)
    return Matches(
        np.append(matches.start[:-1], matches.start[-1] + 1), np.append(matches.slot, wrong).astype(np.int32)
    )


def repeat_first_match(matches, count):
    event = int(np.argmax(np.diff(matches.start) > 0))
    after = np.where(np.arange(len(matches.start)) > event, matches.start + 1, matches.start)
    return Matches(after, np.insert(matches.slot, matches.start[event], matches.slot[matches.start[event]]))


def drop_matches_of_single_events(matches, count):
    return matches if count > 1 else Matches(np.zeros(2, dtype=np.int64), matches.slot[:0])


def keep_some_slots(matches, count):
    """Keep the matches with every fifth slot only."""
    owner = np.repeat(np.arange(count), np.diff(matches.start))
    is_kept = matches.slot % 5 == 0
    return Matches(np.searchsorted(owner[is_kept], np.arange(count + 1)), matches.slot[is_kept])


register_altered_engine("test-forgetful", drop_last_match)
register_altered_engine("test-inventive", add_wrong_match)
register_altered_engine("test-repeating", repeat_first_match)
register_altered_engine("test-only-batches", drop_matches_of_single_events)
register_altered_engine("test-sampling", keep_some_slots)


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
        self.memory = []
        while True:
            self.memory.append(np.ones(10_000_000))
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
    """Engine that fails when its reader is requested."""

    name = "test-late"

    def reader(self):
        raise RuntimeError("not now")
