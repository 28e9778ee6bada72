"""Which subscriptions does an event satisfy? Found with NumPy, or with `scan` where the oracle confirms it."""

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
"""Subscriptions that the oracle evaluates, which is slow, where NumPy cannot be used."""


class Truth(NamedTuple):
    """For every event, the slots it satisfies."""

    of: list[frozenset[int]]

    def disagreement(self, found: Matches) -> str:
        """What is wrong with the matches of an engine; empty if nothing is."""
        for e, wanted in enumerate(self.of):
            got = found.slot[found.start[e] : found.start[e + 1]].tolist()
            if len(set(got)) < len(got):
                return f"event {e} matches a subscription twice"
            if wanted != set(got):
                missing, extra = len(wanted - set(got)), len(set(got) - wanted)
                return f"event {e}: {missing} matches are missing and {extra} are wrong, of {len(wanted)}"
        return ""


def truth(work: Workload, count: int, store: Store, events: Events) -> Truth:
    """With NumPy for conjunctions and single-valued events; else with `scan`, checked by the oracle."""
    if (store.snapshot().subscriptions.kind == CONJUNCTION).all() and events.single_valued.all():
        return Truth(_by_arrays(store, events))
    scan = create("scan", store)
    scan.insert(store.find_alive())
    start, slot = scan.reader().match(events)
    found = [frozenset(slot[a:b].tolist()) for a, b in pairwise(start.tolist())]
    for e, (sample, wanted) in enumerate(_by_oracle(work, count, len(found))):
        if found[e] & sample != wanted:
            raise AssertionError(f"event {e}: scan and the oracle differ, so nothing here can be measured")
    return Truth(found)


def _by_arrays(store: Store, events: Events) -> list[frozenset[int]]:
    predicates, subscriptions, domains, *_ = store.snapshot()
    found = []
    for begin, end in zip(events.start[:-1], events.start[1:], strict=True):
        point, carried = np.zeros(domains, dtype=np.int64), np.zeros(domains, dtype=bool)
        known = events.domain[begin:end] < domains
        point[events.domain[begin:end][known]] = events.low[begin:end][known]
        carried[events.domain[begin:end][known]] = True
        owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
        value = point[predicates.domain[owner]]
        inside = (predicates.low <= value) & (value <= predicates.high)
        true = np.bincount(owner[inside], minlength=len(predicates.domain)) > 0
        true &= carried[predicates.domain]
        owner = np.repeat(np.arange(len(subscriptions.kind)), np.diff(subscriptions.start))
        failed = np.bincount(owner[~true[subscriptions.code]], minlength=len(subscriptions.kind)) > 0
        found.append(frozenset(np.flatnonzero(~failed).tolist()))
    return found


def _by_oracle(work: Workload, count: int, events: int) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """For every event, a sample of subscriptions, and those of the sample that it satisfies."""
    texts = take_subscriptions(work, count)
    parsed = {slot: parse(texts[slot]) for slot in range(0, count, max(1, count // ORACLE_SUBSCRIPTIONS))}
    for event in take_events(work, events):
        yield frozenset(parsed), frozenset(slot for slot, one in parsed.items() if one.evaluate(event) is True)
