"""The true matches of events, found with NumPy, or with `scan` if the oracle confirms them on a sample."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tellwhen.compile.store import Store
from tellwhen.engines import create
from tellwhen.kernels.arrays import CONJUNCTION, Events, Matches
from tellwhen.language.parser import parse
from tellwhen.workloads import Workload, take_events, take_subscriptions

ORACLE_SUBSCRIPTIONS = 200
"""Subscriptions that the oracle evaluates if NumPy cannot be used. The oracle is slow."""


class Truth(NamedTuple):
    """The slots that each event satisfies."""

    slots_by_event: list[frozenset[int]]

    def describe_disagreement(self, found: Matches) -> str:
        """Return the first fault in the matches of an engine; empty if they are right."""
        for e, expected in enumerate(self.slots_by_event):
            slots = found.slot[found.start[e] : found.start[e + 1]].tolist()
            if len(set(slots)) < len(slots):
                return f"event {e} matches a subscription twice"
            if expected != set(slots):
                missing, extra = len(expected - set(slots)), len(set(slots) - expected)
                return f"event {e}: {missing} matches are missing and {extra} are wrong, of {len(expected)}"
        return ""


def find_truth(work: Workload, count: int, store: Store, events: Events) -> Truth:
    """Find the matches with NumPy for conjunctions and single-valued events, otherwise with `scan`.

    Raises AssertionError if the oracle does not confirm a sample of what `scan` finds.
    """
    if (store.snapshot().subscriptions.kind == CONJUNCTION).all() and events.single_valued.all():
        return Truth(_match_with_arrays(store, events))
    scan = create("scan", store)
    scan.insert(store.find_alive())
    start, slot = scan.reader().match(events)
    found = [frozenset(slot[a:b].tolist()) for a, b in pairwise(start.tolist())]
    for e, (sample, expected) in enumerate(_match_with_oracle(work, count, len(found))):
        if found[e] & sample != expected:
            raise AssertionError(f"event {e}: scan and the oracle differ, so nothing here can be measured")
    return Truth(found)


def _match_with_arrays(store: Store, events: Events) -> list[frozenset[int]]:
    predicates, subscriptions, domains, *_ = store.snapshot()
    found = []
    for begin, end in zip(events.start[:-1], events.start[1:], strict=True):
        point, has_value = np.zeros(domains, dtype=np.int64), np.zeros(domains, dtype=bool)
        is_used = events.domain[begin:end] < domains
        point[events.domain[begin:end][is_used]] = events.low[begin:end][is_used]
        has_value[events.domain[begin:end][is_used]] = True
        owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
        value = point[predicates.domain[owner]]
        inside = (predicates.low <= value) & (value <= predicates.high)
        true = np.bincount(owner[inside], minlength=len(predicates.domain)) > 0
        true &= has_value[predicates.domain]
        owner = np.repeat(np.arange(len(subscriptions.kind)), np.diff(subscriptions.start))
        failed = np.bincount(owner[~true[subscriptions.code]], minlength=len(subscriptions.kind)) > 0
        found.append(frozenset(np.flatnonzero(~failed).tolist()))
    return found


def _match_with_oracle(work: Workload, count: int, events: int) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Yield for every event a sample of subscriptions, and the part of the sample that the event satisfies."""
    texts = take_subscriptions(work, count)
    parsed = {slot: parse(texts[slot]) for slot in range(0, count, max(1, count // ORACLE_SUBSCRIPTIONS))}
    for event in take_events(work, events):
        yield (
            frozenset(parsed),
            frozenset(slot for slot, expression in parsed.items() if expression.evaluate(event) is True),
        )
