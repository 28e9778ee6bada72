"""Process that measures one point of an experiment: `python -m bench.point JSON`.

It prints a line of JSON at the start of every step, so that its parent process knows which engine exceeded its time or
memory. When it is ready to measure it asks for its turn, and waits for a line on stdin. At the end it prints a line for
every engine.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from bench.engines import make
from bench.experiment import Point
from bench.loading import encode_events, set_historical_events, store_subscriptions
from bench.messages import BEGIN_TURN, END_TURN, make_step
from bench.registry import EXPERIMENTS
from bench.timing import Measurement, summarize
from bench.truth import Truth, find_truth
from tellwhen.compile.store import Store
from tellwhen.containers.batches import split_events, take_first
from tellwhen.engines.base import Engine, Reader
from tellwhen.kernels.arrays import I32, Events, Matches

EVENTS = 64
"""Events of a point, which are matched one by one."""

CHECKED_PAIRS_MAX = 20_000_000
"""Check at most this many pairs of an event and a subscription: finding the truth takes longer than matching."""

CHECKED_EVENTS_MIN = 16
"""Check at least this many events, however many subscriptions there are."""

SLICE_SECONDS_MIN = 0.03
"""An engine is timed for at least this long before the next engine is timed."""

ROUND_SECONDS = 0.1
"""A slow engine is timed on fewer events, so that a round takes about this long."""

ATTEMPTS = 3
"""An engine is timed this often while its times are not steady."""

BUILDS_MAX, BUILDS_SECONDS = 3, 5.0
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
    point = next(point for point in experiment.list_points(arguments["scale"]) if point.key == arguments["point"])
    measure = experiment.measure or measure_engines
    for line in measure(point, arguments["engines"], arguments["repeat"], experiment.needs_build_times):
        print(json.dumps(line), file=protocol, flush=True)
        if line == BEGIN_TURN:
            sys.stdin.readline()


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def measure_engines(
    point: Point, engines: list[str], repeat: int, needs_build_times: bool, historical_events: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield a message when a step begins, and at the end a row for each engine.

    A turn begins with the message `BEGIN_TURN`. It ends with `END_TURN`, or with the process. During a turn no other
    process of the run is active. Matching is timed in a turn, and so are builds if they are timed.

    With `historical_events`, engines know this many earlier events, from which they estimate selectivity.
    """
    yield make_step("the workload")
    store, slots = store_subscriptions(point.work, point.count)
    set_historical_events(point.work, historical_events, store)
    events = encode_events(point.work, EVENTS, store)
    yield make_step("the truth")
    checked_events = take_first(events, min(EVENTS, max(CHECKED_EVENTS_MIN, CHECKED_PAIRS_MAX // point.count)))
    truth = find_truth(point.work, point.count, store, checked_events)
    shared = sum(array.nbytes for array in store.arrays().values())
    built_engines: dict[str, Engine] = {}
    rows: dict[str, Row] = {}
    for name in engines:
        yield make_step("build", name)
        if needs_build_times:
            yield BEGIN_TURN
        try:
            row, engine = _build(name, store, slots, needs_build_times)
        except Exception as error:  # a fault of one engine does not stop the others
            row, engine = _describe_fault(error), None
        if needs_build_times:
            yield END_TURN
        if engine is not None:
            yield make_step("check", name)
            try:
                row |= _check(engine, events, checked_events, truth)
            except Exception as error:
                row |= _describe_fault(error)
        if engine is not None and row["status"] == "ok":
            stats = engine.stats()
            row |= {"index": stats["bytes"] / point.count, "bytes": (stats["bytes"] + shared) / point.count}
            if "translated bytes" in stats:
                row |= {
                    "translate": stats["translate seconds"],
                    "translated": stats["translated bytes"] / point.count,
                }
            built_engines[name] = engine
        rows[name] = row
    yield make_step("wait")
    yield BEGIN_TURN
    for name, row in (yield from _time_engines(built_engines, events, repeat)).items():
        rows[name] |= row
    for name in engines:
        yield {"row": {"engine": name, **rows[name]}}


def _time_engines(
    engines: dict[str, Engine], events: Events, repeat: int
) -> Generator[dict[str, Any], None, dict[str, Row]]:
    """Time all engines in turn, several times; return a row for each.

    Engines that are not steady are timed again. An engine that stays unsteady has no time.
    """
    counts = {name: _count_affordable(engine.reader(), events) for name, engine in engines.items()}
    # All engines match the same events, except engines that are slower by an order of magnitude.
    shared_count = min((count for count in counts.values() if 10 * count >= max(counts.values())), default=0)
    singles = {name: list(split_events(take_first(events, min(n, shared_count)))) for name, n in counts.items()}
    best: dict[str, Measurement] = {}
    unsteady = list(engines)
    for _ in range(ATTEMPTS):
        times: dict[str, list[float]] = {name: [] for name in unsteady}
        for _ in range(repeat):
            for name in unsteady:
                yield make_step("match", name)
                times[name].append(_time_matching(engines[name].reader(), singles[name]))
        for name, seconds in times.items():
            latest = summarize(seconds)
            best[name] = min(best.get(name, latest), latest, key=lambda measurement: measurement.noise)
        unsteady = [name for name in unsteady if not best[name].is_steady]
    return {name: _describe_time(measurement) for name, measurement in best.items()}


def _describe_time(measurement: Measurement) -> Row:
    if not measurement.is_steady:
        detail = f"the quartiles differ by {2 * measurement.noise:.0%} in the best of {ATTEMPTS} attempts"
        return {"status": "unsteady", "detail": detail}
    return {"match": measurement.median * 1e6, "match_noise": measurement.noise}


def _describe_fault(error: Exception) -> Row:
    return {"status": "failed", "detail": f"{type(error).__name__}: {error}"}


def _build(name: str, store: Store, slots: I32, needs_build_times: bool) -> tuple[Row, Engine | None]:
    """Build an engine, several times if builds are timed; return a row, and the last engine built."""
    too_large = slots[~make(name, store).can_index(slots)]
    if len(too_large):
        return {
            "status": "over budget",
            "detail": f"{len(too_large)} subscriptions have a normal form that is too large",
        }, None
    make(name, store).insert(slots[:100])  # compiles the kernels, if they are not in the cache
    engine: Engine | None = None
    times: list[float] = []
    while not times or (needs_build_times and len(times) < BUILDS_MAX and sum(times) < BUILDS_SECONDS):
        engine = None
        gc.collect()
        begin = time.perf_counter()
        engine = make(name, store)
        engine.insert(slots)
        engine.run_upkeep()
        times.append(time.perf_counter() - begin)
    if not needs_build_times:
        return {"status": "ok"}, engine
    summary = summarize(times) if len(times) > 1 else None
    row = {"status": "ok", "build": summary.median if summary else times[0]}
    return row | ({"build_noise": summary.noise} if summary else {}), engine


def _check(engine: Engine, events: Events, checked_events: Events, truth: Truth) -> Row:
    """Check matches, in a batch and one by one; return the numbers of candidates and matches, or the fault."""
    reader, count = engine.reader(), len(checked_events.single_valued)
    matches = reader.match(checked_events)
    fault = truth.describe_disagreement(matches) or truth.describe_disagreement(
        _concatenate([reader.match(event) for event in split_events(checked_events)])
    )
    if fault:
        return {"status": "wrong", "detail": fault}
    return {"candidates": reader.count_candidates(events) / EVENTS, "matches": len(matches.slot) / count}


def _concatenate(parts: list[Matches]) -> Matches:
    start = np.concatenate([[0], np.cumsum([len(matches.slot) for matches in parts])])
    return Matches(start, np.concatenate([matches.slot for matches in parts]))


def _count_affordable(reader: Reader, events: Events) -> int:
    """Return the number of events that the engine can match in one round."""
    begin = time.perf_counter()
    reader.match(take_first(events, 2))
    return int(min(EVENTS, max(2, 2 * ROUND_SECONDS / (time.perf_counter() - begin))))


def _time_matching(reader: Reader, single_events: list[Events]) -> float:
    """Match the events one by one, again and again for `SLICE_SECONDS_MIN`; return the CPU seconds per event.

    Matching uses one thread. The CPU time of the thread does not include the time that it waits for a core.
    """
    begin, rounds = time.thread_time(), 0
    while rounds == 0 or time.thread_time() - begin < SLICE_SECONDS_MIN:
        for event in single_events:
            reader.match(event)
        rounds += 1
    return (time.thread_time() - begin) / rounds / len(single_events)


if __name__ == "__main__":
    main()
