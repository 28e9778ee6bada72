"""Measurement of an index while the subscriptions of one workload replace those of another, in steps, and back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bench.claims import Row
from bench.loading import encode_events, store_subscriptions
from tellwhen.compile.extract import extract
from tellwhen.containers.batches import concatenate_events
from tellwhen.engines import create
from tellwhen.engines.base import Engine
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.kernels.arrays import Events
from tellwhen.workloads import BEGen

STEPS_PER_REPLACEMENT = 20
"""Steps in which the subscriptions of one workload are replaced by those of the other."""

EVENTS_PER_WORKLOAD = 60

REPETITIONS = 11
"""Match the events 11 times in each step; the median time counts."""


def measure_replacement(works: Sequence[BEGen], count: int, spec: str = "betree") -> tuple[list[Row], Engine, Events]:
    """Replace the first workload by the second, then the second by the first, and measure after each step.

    The engine adjusts itself when subscriptions change, and after the events of a step if these have made upkeep due.

    Returns a row for each step, the engine and the events. `x` of a row is the share of subscriptions replaced so far:
    1 when all subscriptions are of the second workload, 2 when all are of the first again.
    """
    first, second = works
    store, _ = store_subscriptions(first, count)
    for work in (second, first):
        other, slots = store_subscriptions(work, count)
        store.adopt(extract(other.snapshot(), slots))
    events = concatenate_events([encode_events(work, EVENTS_PER_WORKLOAD, store) for work in works])
    engine = create(spec, store)
    assert isinstance(engine, ConjunctionEngine)
    engine.insert(np.arange(count, dtype=np.int32))
    engine.rebuild()
    rows = [_measure(engine, events, 0.0)]
    bounds = np.linspace(0, 2 * count, 2 * STEPS_PER_REPLACEMENT + 1).astype(np.int32)
    for begin, end in pairwise(bounds.tolist()):
        old = np.arange(begin, end, dtype=np.int32)
        store.remove(old)
        engine.delete(old)
        engine.insert(old + count)
        engine.merge()
        rows.append(_measure(engine, events, end / count))
        engine.run_upkeep()
    return rows, engine, events


def _measure(engine: Engine, events: Events, share_replaced: float) -> Row:
    reader = engine.reader()
    assert isinstance(reader, ConjunctionReader)
    event_count = len(events.single_valued)
    times = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        reader.match(events)
        times.append(time.perf_counter() - begin)
    candidates, predicates = reader.count_effort(events)
    return {
        "variant": "",
        "x": share_replaced,
        "engine": engine.name,
        "status": "ok",
        "match": float(np.median(times)) / event_count * 1e6,
        "candidates": candidates / event_count,
        "predicates": predicates / event_count,
    }
