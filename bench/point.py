"""How is one point of an experiment measured? `python -m bench.point JSON`, a process of its own.

It prints a line of JSON at the start of every step, so that its parent knows which engine exceeded its time or memory,
and at the end a line for every engine.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.engines import make
from bench.experiment import Point
from bench.loading import encoded, stored
from bench.machine import doing
from bench.measure import measured
from bench.registry import EXPERIMENTS
from bench.truth import Truth, truth
from tellwhen.compile.store import Store
from tellwhen.containers.batches import split_events, take_first
from tellwhen.engines.base import Engine, Reader
from tellwhen.kernels.arrays import I32, Events, Matches

EVENTS = 64
"""Events that are timed, one by one and in a batch."""

SLICE_SECONDS = 0.06
"""An engine is timed for at least this long before the next one has its turn."""

ROUND_SECONDS = 1.0
"""A slow engine is timed on fewer events, so that a round takes about this long."""

BUILDS_MAX, BUILDS_SECONDS = 3, 10.0
"""An engine is built this often, or until its builds have taken this long."""

Row = dict[str, Any]


def main() -> None:
    given = json.loads(sys.argv[1])
    # What engines print goes to stderr: stdout is for the parent.
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for module in given["load"]:  # engines that are not part of the package
        __import__(module)
    experiment = EXPERIMENTS[given["experiment"]]
    point = next(point for point in experiment.points(given["scale"]) if point.key == given["point"])
    for line in (experiment.measure or measure)(point, given["engines"], given["repeat"]):
        print(json.dumps(line), file=protocol, flush=True)


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def measure(point: Point, engines: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """Yield the steps as they begin, and at the end a row for each engine."""
    yield doing("the workload")
    store, slots = stored(point.work, point.count)
    events = encoded(point.work, EVENTS, store)
    yield doing("the truth")
    known = truth(point.work, point.count, store, events)
    shared = sum(array.nbytes for array in store.arrays().values())
    built: dict[str, Engine] = {}
    rows: dict[str, Row] = {}
    some: dict[str, Events] = {}
    for name in engines:
        yield doing("build", name)
        try:
            row, engine = _built(name, store, slots)
            if engine is not None:
                yield doing("check", name)
                row |= _checked(engine, events, known)
            if engine is not None and row["status"] == "ok":
                stats = engine.stats()
                row |= {"index": stats["bytes"] / point.count, "bytes": (stats["bytes"] + shared) / point.count}
                if "translated bytes" in stats:
                    row |= {
                        "translate": stats["translate seconds"],
                        "translated": stats["translated bytes"] / point.count,
                    }
                built[name], some[name] = engine, _affordable(engine.reader(), events)
        except Exception as error:  # a fault of one engine does not stop the others
            row = {"status": "failed", "detail": f"{type(error).__name__}: {error}"}
        rows[name] = row
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in built}
    for _ in range(repeat):
        for name, engine in built.items():
            yield doing("match", name)
            for kept, seconds in zip(times[name], _timed(engine.reader(), some[name]), strict=True):
                kept.append(seconds)
    for name, (singly, together) in times.items():
        single, batch = measured(singly), measured(together)
        rows[name] |= {"match": single.median * 1e6, "match_noise": single.noise}
        rows[name] |= {"batch": batch.median * 1e6, "batch_noise": batch.noise}
    for name in engines:
        yield {"row": {"engine": name, **rows[name]}}


def _built(name: str, store: Store, slots: I32) -> tuple[Row, Engine | None]:
    """The engine, and the time to build it, over several builds."""
    refused = slots[~make(name, store).can_index(slots)]
    if len(refused):
        return {
            "status": "over budget",
            "detail": f"{len(refused)} subscriptions have a normal form that is too large",
        }, None
    make(name, store).insert(slots[:100])  # compiles the kernels, if they are not in the cache
    engine: Engine | None = None
    times: list[float] = []
    while not times or (len(times) < BUILDS_MAX and sum(times) < BUILDS_SECONDS):
        engine = None
        gc.collect()
        begin = time.perf_counter()
        engine = make(name, store)
        engine.insert(slots)
        engine.run_upkeep()
        times.append(time.perf_counter() - begin)
    figure = measured(times) if len(times) > 1 else None
    row = {"status": "ok", "build": figure.median if figure else times[0]}
    return row | ({"build_noise": figure.noise} if figure else {}), engine


def _checked(engine: Engine, events: Events, known: Truth) -> Row:
    """Are the matches right, in a batch and one by one? If so, the numbers of candidates and of matches."""
    reader = engine.reader()
    found = reader.match(events)
    wrong = known.disagreement(found) or known.disagreement(_joined([reader.match(e) for e in split_events(events)]))
    if wrong:
        return {"status": "wrong", "detail": wrong}
    return {"candidates": reader.count_candidates(events) / EVENTS, "matches": len(found.slot) / EVENTS}


def _joined(found: list[Matches]) -> Matches:
    start = np.concatenate([[0], np.cumsum([len(matches.slot) for matches in found])])
    return Matches(start, np.concatenate([matches.slot for matches in found]))


def _affordable(reader: Reader, events: Events) -> Events:
    """The events that an engine can match in one round."""
    begin = time.perf_counter()
    reader.match(take_first(events, 1))
    return take_first(events, int(min(EVENTS, max(2, ROUND_SECONDS / (time.perf_counter() - begin)))))


def _timed(reader: Reader, events: Events) -> tuple[float, float]:
    """Seconds per event: one by one, and in a batch."""
    apart = list(split_events(events))

    def singly() -> None:
        for event in apart:
            reader.match(event)

    return _per_event(singly, len(apart)), _per_event(lambda: reader.match(events), len(apart))


def _per_event(run: Callable[[], object], count: int) -> float:
    """Seconds per event, over the runs that fit into a slice."""
    begin, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - begin < SLICE_SECONDS:
        run()
        rounds += 1
    return (time.perf_counter() - begin) / rounds / count


if __name__ == "__main__":
    main()
