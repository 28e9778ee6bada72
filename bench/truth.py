"""Which subscriptions does an event satisfy? Found without any engine: by NumPy on the store, or by the oracle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tellwhen as tw
from tellwhen.compile.subscriptions import Store
from tellwhen.kernels.arrays import I32, ROW, Events, Matches
from tellwhen.workloads import Workload, taken, taken_events

SAMPLE = 200
"""Subscriptions that the oracle looks at, which is slow, where NumPy cannot."""


class Truth(NamedTuple):
    """For every event the slots it satisfies, of those in `slots`."""

    slots: I32
    of: list[frozenset[int]]

    def disagreement(self, found: Matches) -> str:
        """What is wrong with an engine's answer; empty if nothing is."""
        known = set(self.slots.tolist())
        for e, wanted in enumerate(self.of):
            got = found.slot[found.start[e] : found.start[e + 1]].tolist()
            if len(set(got)) < len(got):
                return f"event {e} matches a subscription twice"
            if wanted != known.intersection(got):
                missing, extra = len(wanted - set(got)), len(known.intersection(got) - wanted)
                return f"event {e}: {missing} matches are missing and {extra} are wrong, of {len(wanted)}"
        return ""


def truth(work: Workload, count: int, store: Store, events: Events) -> Truth:
    """Of all subscriptions if they are conjunctions and events are plain; else of a sample."""
    if (store.view().subscriptions.kind == ROW).all() and events.plain.all():
        return Truth(np.arange(count, dtype=np.int32), _by_arrays(store, events))
    return _by_oracle(work, count, len(events.start) - 1)


def _by_arrays(store: Store, events: Events) -> list[frozenset[int]]:
    predicates, subscriptions, lines, *_ = store.view()
    found = []
    for begin, end in zip(events.start[:-1], events.start[1:], strict=True):
        point, carried = np.zeros(lines, dtype=np.int64), np.zeros(lines, dtype=bool)
        known = events.line[begin:end] < lines
        point[events.line[begin:end][known]] = events.low[begin:end][known]
        carried[events.line[begin:end][known]] = True
        owner = np.repeat(np.arange(len(predicates.line)), np.diff(predicates.start))
        value = point[predicates.line[owner]]
        inside = (predicates.low <= value) & (value <= predicates.high)
        true = np.bincount(owner[inside], minlength=len(predicates.line)) > 0
        true &= carried[predicates.line]
        owner = np.repeat(np.arange(len(subscriptions.kind)), np.diff(subscriptions.start))
        failed = np.bincount(owner[~true[subscriptions.code]], minlength=len(subscriptions.kind)) > 0
        found.append(frozenset(np.flatnonzero(~failed).tolist()))
    return found


def _by_oracle(work: Workload, count: int, events: int) -> Truth:
    step = max(1, count // SAMPLE)
    texts = taken(work, count)
    parsed = {slot: tw.parse(texts[slot]) for slot in range(0, count, step)}
    given = taken_events(work, events)
    of = [frozenset(slot for slot, one in parsed.items() if one.evaluate(event) is True) for event in given]
    return Truth(np.array(list(parsed), dtype=np.int32), of)
