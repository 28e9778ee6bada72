"""Does an index adjust itself? Subscriptions of one workload are replaced by another's, a few at a time, and back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bench.claims import Row
from bench.loading import encoded, stored
from tellwhen.compile.extract import extract
from tellwhen.containers.batches import concatenate_events
from tellwhen.engines import create
from tellwhen.engines.base import Engine
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.kernels.arrays import Events
from tellwhen.workloads import BEGen

STEPS = 20
"""Replacements on the way from one workload to the other."""

EVENTS = 60
"""Events of each workload."""


def swapped(works: Sequence[BEGen], count: int, spec: str = "betree") -> tuple[list[Row], Engine, Events]:
    """From the first workload to the second and back: a row of figures after each step.

    `x` is the share of subscriptions replaced so far: 1 when all are of the second workload, 2 when all are of the
    first again.
    """
    first, second = works
    store, _ = stored(first, count)
    for work in (second, first):
        other, slots = stored(work, count)
        store.adopt(extract(other.snapshot(), slots))
    events = concatenate_events([encoded(work, EVENTS, store) for work in works])
    engine = create(spec, store)
    assert isinstance(engine, ConjunctionEngine)
    engine.insert(np.arange(count, dtype=np.int32))
    engine.rebuild()
    rows = [_measured(engine, events, 0.0)]
    bounds = np.linspace(0, 2 * count, 2 * STEPS + 1).astype(np.int32)
    for begin, end in pairwise(bounds.tolist()):
        old = np.arange(begin, end, dtype=np.int32)
        store.remove(old)
        engine.delete(old)
        engine.insert(old + count)
        engine.merge()
        rows.append(_measured(engine, events, end / count))
    return rows, engine, events


def _measured(engine: Engine, events: Events, x: float) -> Row:
    reader = engine.reader()
    assert isinstance(reader, ConjunctionReader)
    many = len(events.single_valued)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        reader.match(events)
        times.append(time.perf_counter() - begin)
    candidates, predicates = reader.count_effort(events)
    return {
        "variant": "",
        "x": x,
        "engine": engine.name,
        "status": "ok",
        "match": float(np.median(times)) / many * 1e6,
        "candidates": candidates / many,
        "predicates": predicates / many,
    }
