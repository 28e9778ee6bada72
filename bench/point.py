"""One point of an experiment, measured in a process of its own: `python -m bench.point`, told in JSON.

It prints a line of JSON when it begins with something, so that its parent knows what was under way when time or memory
ran out, and a line for every engine at the end.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.experiment import Point
from bench.measure import measured
from bench.registry import EXPERIMENTS
from bench.truth import Truth, truth
from tellwhen.compile.batch import first, one_by_one
from tellwhen.compile.subscriptions import Store
from tellwhen.engines.base import Engine, Reader
from tellwhen.engines.planner import create
from tellwhen.kernels.arrays import I32, Events
from tellwhen.workloads.loading import encoded, stored

EVENTS = 64
"""Events that are measured, one by one and together."""

SLICE, ROUND = 0.06, 1.0
"""Seconds that an engine is timed at a stretch, at least, before it is another one's turn; and about at most."""


def main() -> None:
    told = json.loads(sys.argv[1])
    # Imports of tests, by name: engines that are not part of the package.
    for module in told.get("load", []):
        __import__(module)
    experiment = EXPERIMENTS[told["experiment"]]
    point = next(point for point in experiment.points(told["scale"]) if point.key == told["point"])
    for line in measure(point, told["engines"], told["repeat"]):
        print(json.dumps(line), flush=True)


def measure(point: Point, engines: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """What is being done, and at the end a row for each engine."""
    yield {"doing": "the workload", "engine": None}
    store, slots = stored(point.work, point.count)
    events = encoded(point.work, EVENTS, store)
    yield {"doing": "the truth", "engine": None}
    known = truth(point.work, point.count, store, events)
    shared = sum(array.nbytes for array in store.arrays().values())
    built: dict[str, Engine] = {}
    rows: dict[str, dict[str, Any]] = {}
    for name in engines:
        yield {"doing": "build", "engine": name}
        row, engine = _built(name, store, slots, known, events)
        rows[name] = row
        if engine is not None:
            built[name] = engine
            row["bytes"] = (engine.stats()["bytes"] + shared) / point.count
            row["candidates"] = engine.reader().candidates(events) / EVENTS
            row["matches"] = len(engine.reader().match(events).slot) / EVENTS
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in built}
    some = {name: _affordable(engine, events) for name, engine in built.items()}
    for _ in range(repeat):
        for name, engine in built.items():
            yield {"doing": "match", "engine": name}
            for kept, seconds in zip(times[name], _timed(engine.reader(), some[name]), strict=True):
                kept.append(seconds)
    for name, (singly, together) in times.items():
        single, batch = measured(singly), measured(together)
        rows[name] |= {"match": single.median * 1e6, "match_noise": single.noise}
        rows[name] |= {"batch": batch.median * 1e6, "batch_noise": batch.noise}
    for name in engines:
        yield {"row": {"engine": name, **rows[name]}}


def _built(name: str, store: Store, slots: I32, known: Truth, events: Events) -> tuple[dict[str, Any], Engine | None]:
    """The engine with its building time, if its answers are right."""
    try:
        gc.collect()
        before, begin = resident(), time.perf_counter()
        engine = create(name, store)
        refused = slots[~engine.takes(slots)]
        if len(refused):
            return {"status": "over budget", "detail": f"{len(refused)} subscriptions are too complex"}, None
        engine.insert(slots)
        seconds = time.perf_counter() - begin
        row = {"status": "ok", "build": seconds, "resident": (resident() - before) / max(1, len(slots))}
        wrong = known.disagreement(engine.reader().match(events))
    except Exception as error:  # whatever an engine does, the others are still measured
        return {"status": "failed", "detail": f"{type(error).__name__}: {error}"}, None
    return ({"status": "wrong", "detail": wrong}, None) if wrong else (row, engine)


def _affordable(engine: Engine, events: Events) -> Events:
    """All events, or as many as an engine that is very slow can match in a round."""
    reader = engine.reader()
    reader.match(events)  # compiles, if it must
    begin = time.perf_counter()
    reader.match(first(events, 1))
    count = int(min(EVENTS, max(2, ROUND / (time.perf_counter() - begin))))
    return first(events, count)


def _timed(reader: Reader, events: Events) -> tuple[float, float]:
    """Seconds per event: one by one, and in a batch."""
    apart = list(one_by_one(events))

    def singly() -> None:
        for event in apart:
            reader.match(event)

    return _per_event(singly, len(apart)), _per_event(lambda: reader.match(events), len(apart))


def _per_event(run: Callable[[], object], count: int) -> float:
    """Over as many rounds as fit into a slice of time."""
    begin, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - begin < SLICE:
        run()
        rounds += 1
    return (time.perf_counter() - begin) / rounds / count


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    main()
