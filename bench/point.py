"""Process that measures one point of an experiment: `python -m bench.point JSON`.

It prints a line of JSON at the start of every step, so that its parent process knows which engine exceeded its time or
memory. At the end it prints a line for every engine.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.engines import make
from bench.experiment import Point
from bench.loading import encode_events, set_historical_events, store_subscriptions
from bench.machine import make_step
from bench.registry import EXPERIMENTS
from bench.timing import summarize
from bench.truth import Truth, find_truth
from tellwhen.compile.store import Store
from tellwhen.containers.batches import split_events, take_first
from tellwhen.engines.base import Engine, Reader
from tellwhen.kernels.arrays import I32, Events, Matches

EVENTS = 64
"""Events that are timed, one by one and in a batch."""

SLICE_SECONDS_MIN = 0.06
"""An engine is timed for at least this long before the next engine is timed."""

ROUND_SECONDS = 1.0
"""A slow engine is timed on fewer events, so that a round takes about this long."""

BUILDS_MAX, BUILDS_SECONDS = 3, 10.0
"""An engine is built again until it was built this often or its builds have taken this long."""

Row = dict[str, Any]


def main() -> None:
    arguments = json.loads(sys.argv[1])
    # Whatever engines print goes to stderr, because stdout is for the parent process.
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for module in arguments["engine_modules"]:  # registers engines that are not part of the package
        __import__(module)
    experiment = EXPERIMENTS[arguments["experiment"]]
    point = next(point for point in experiment.points(arguments["scale"]) if point.key == arguments["point"])
    for line in (experiment.measure or measure)(point, arguments["engines"], arguments["repeat"]):
        print(json.dumps(line), file=protocol, flush=True)


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


class MatchingTimes(NamedTuple):
    """Seconds per event of one engine, one time for each round."""

    one_by_one: list[float]
    batch: list[float]


def measure(point: Point, engines: list[str], repeat: int, historical_events: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the steps as they begin, and at the end a row for each engine."""
    yield make_step("the workload")
    store, slots = store_subscriptions(point.work, point.count)
    set_historical_events(point.work, historical_events, store)
    events = encode_events(point.work, EVENTS, store)
    yield make_step("the truth")
    truth = find_truth(point.work, point.count, store, events)
    shared = sum(array.nbytes for array in store.arrays().values())
    built_engines: dict[str, Engine] = {}
    rows: dict[str, Row] = {}
    affordable_events: dict[str, Events] = {}
    for name in engines:
        yield make_step("build", name)
        try:
            row, engine = _build(name, store, slots)
            if engine is not None:
                yield make_step("check", name)
                row |= _check(engine, events, truth)
            if engine is not None and row["status"] == "ok":
                stats = engine.stats()
                row |= {"index": stats["bytes"] / point.count, "bytes": (stats["bytes"] + shared) / point.count}
                if "translated bytes" in stats:
                    row |= {
                        "translate": stats["translate seconds"],
                        "translated": stats["translated bytes"] / point.count,
                    }
                built_engines[name], affordable_events[name] = engine, _take_affordable(engine.reader(), events)
        except Exception as error:  # a fault of one engine does not stop the others
            row = {"status": "failed", "detail": f"{type(error).__name__}: {error}"}
        rows[name] = row
    times = {name: MatchingTimes([], []) for name in built_engines}
    for _ in range(repeat):
        for name, engine in built_engines.items():
            yield make_step("match", name)
            one_by_one, batch = _time_matching(engine.reader(), affordable_events[name])
            times[name].one_by_one.append(one_by_one)
            times[name].batch.append(batch)
    for name, (one_by_one_times, batch_times) in times.items():
        match, in_batch = summarize(one_by_one_times), summarize(batch_times)
        rows[name] |= {"match": match.median * 1e6, "match_noise": match.noise}
        rows[name] |= {"batch": in_batch.median * 1e6, "batch_noise": in_batch.noise}
    for name in engines:
        yield {"row": {"engine": name, **rows[name]}}


def _build(name: str, store: Store, slots: I32) -> tuple[Row, Engine | None]:
    """Build an engine several times; return a row with the time, and the last engine built."""
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
    summary = summarize(times) if len(times) > 1 else None
    row = {"status": "ok", "build": summary.median if summary else times[0]}
    return row | ({"build_noise": summary.noise} if summary else {}), engine


def _check(engine: Engine, events: Events, truth: Truth) -> Row:
    """Check the matches, in a batch and one by one; return the numbers of candidates and matches, or the fault."""
    reader = engine.reader()
    matches = reader.match(events)
    fault = truth.describe_disagreement(matches) or truth.describe_disagreement(
        _concatenate([reader.match(e) for e in split_events(events)])
    )
    if fault:
        return {"status": "wrong", "detail": fault}
    return {"candidates": reader.count_candidates(events) / EVENTS, "matches": len(matches.slot) / EVENTS}


def _concatenate(parts: list[Matches]) -> Matches:
    start = np.concatenate([[0], np.cumsum([len(matches.slot) for matches in parts])])
    return Matches(start, np.concatenate([matches.slot for matches in parts]))


def _take_affordable(reader: Reader, events: Events) -> Events:
    """Return the first events, which the engine can match in one round."""
    begin = time.perf_counter()
    reader.match(take_first(events, 1))
    return take_first(events, int(min(EVENTS, max(2, ROUND_SECONDS / (time.perf_counter() - begin)))))


def _time_matching(reader: Reader, events: Events) -> tuple[float, float]:
    """Return the seconds per event: one by one, and in a batch."""
    single_events = list(split_events(events))

    def match_one_by_one() -> None:
        for event in single_events:
            reader.match(event)

    count = len(single_events)
    return _time_per_event(match_one_by_one, count), _time_per_event(lambda: reader.match(events), count)


def _time_per_event(run: Callable[[], object], count: int) -> float:
    """Return the seconds per event over the runs of one slice."""
    begin, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - begin < SLICE_SECONDS_MIN:
        run()
        rounds += 1
    return (time.perf_counter() - begin) / rounds / count


if __name__ == "__main__":
    main()
