"""Does an index adjust itself? Subscriptions of one workload are replaced by another's, a few at a time, and back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bench.claims import Row
from tellwhen.compile.batch import joined
from tellwhen.engines.base import Engine
from tellwhen.engines.planner import create
from tellwhen.engines.rows import RowEngine, RowReader
from tellwhen.kernels.arrays import Events
from tellwhen.workloads import BEGen
from tellwhen.workloads.loading import encoded, stored

STEPS = 20
"""Replacements on the way from one workload to the other."""

EVENTS = 60
"""Events of each workload."""


def swapped(works: Sequence[BEGen], count: int, spec: str = "betree") -> tuple[list[Row], Engine, Events]:
    """From the first workload to the second and back: a row after each step, `x` the share replaced, up to 2."""
    first, second = works
    store, _ = stored(first, count)
    for work in (second, first):
        other, slots = stored(work, count)
        store.adopt(other.extract(slots))
    events = joined([encoded(work, EVENTS, store) for work in works])
    engine = create(spec, store)
    assert isinstance(engine, RowEngine)
    engine.insert(np.arange(count, dtype=np.int32))
    engine.rebuild()
    rows = [_measured(engine, events, 0.0)]
    bounds = np.linspace(0, 2 * count, 2 * STEPS + 1).astype(np.int32)
    for begin, end in pairwise(bounds.tolist()):
        old = np.arange(begin, end, dtype=np.int32)
        store.remove(old)
        engine.delete(old)
        engine.insert(old + count)
        engine.settle()
        rows.append(_measured(engine, events, end / count))
    return rows, engine, events


def _measured(engine: Engine, events: Events, x: float) -> Row:
    reader = engine.reader()
    assert isinstance(reader, RowReader)
    many = len(events.plain)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        reader.match(events)
        times.append(time.perf_counter() - begin)
    candidates, predicates = reader.effort(events)
    return {
        "variant": "",
        "x": x,
        "engine": engine.name,
        "status": "ok",
        "match": float(np.median(times)) / many * 1e6,
        "candidates": candidates / many,
        "predicates": predicates / many,
    }
