"""Process that times the code of one checkout for `bench.checkouts`: `python -P bench/checkout_process.py CHECKOUT`.

It is run as a file, because the checkout may be an older one, whose modules have other names. Commands and answers are
lines of JSON on stdin and stdout. A command is the name of a method of `EngineTimer`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import zlib
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

TIMING_SECONDS_MIN = 0.1
"""Matching is repeated until a timing has taken this long."""


def import_first(*names: str) -> Any:
    """Import the first `package.module` or `package.module:attribute` that this checkout has."""
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            found = import_module(module)
            return getattr(found, attribute) if attribute else found
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"this checkout has none of {', '.join(names)}")


class EngineTimer:
    """A workload, and timings of the engine that was built last."""

    def __init__(self) -> None:
        self._create = import_first("tellwhen.engines:create", "tellwhen.engines.planner:create")
        self._store_subscriptions = import_first(
            "bench.loading:store_subscriptions", "bench.loading:stored", "tellwhen.workloads.loading:stored"
        )
        self._encode_events = import_first(
            "bench.loading:encode_events", "bench.loading:encoded", "tellwhen.workloads.loading:encoded"
        )
        self._split_events = import_first(
            "tellwhen.containers.batches:split_events",
            "tellwhen.containers.batches:one_by_one",
            "tellwhen.compile.batch:one_by_one",
        )
        self._reader: Any = None

    def load(self, work: dict[str, Any], count: int, events: int) -> dict[str, Any]:
        workload = import_first("tellwhen.workloads:BEGen")(**work)
        self._store, self._slots = self._store_subscriptions(workload, count)
        self._events = self._encode_events(workload, events, self._store)
        self._single_events = list(self._split_events(self._events))
        return {}

    def prepare(self, engine: str) -> dict[str, Any]:
        """Compile the kernels of an engine; the answer has a `fault` if this checkout cannot use the engine."""
        try:
            self._create(engine, self._store).insert(self._slots[:100])
        except Exception as error:
            return {"fault": f"{type(error).__name__}: {error}"}
        return {}

    def time_build(self, engine: str) -> dict[str, Any]:
        """Build an engine once, and answer with the seconds. The previous engine is dropped first."""
        self._reader = None
        gc.collect()
        begin = time.perf_counter()
        new_engine = self._create(engine, self._store)
        new_engine.insert(self._slots)
        while (work := new_engine.upkeep()) is not None:  # an older checkout has no `run_upkeep`
            work.run()
            work.finish()
        seconds = time.perf_counter() - begin
        self._reader = new_engine.reader()
        return {"seconds": seconds}

    def compute_checksum(self) -> dict[str, Any]:
        """Answer with a checksum of all matches."""
        start, slot = self._reader.match(self._events)
        found = [sorted(slot[a:b].tolist()) for a, b in pairwise(start.tolist())]
        self._match_one_by_one()  # not timed: allocates the working arrays of later calls
        return {"checksum": zlib.crc32(json.dumps(found).encode())}

    def time_matching(self, mode: str) -> dict[str, Any]:
        """Match all events, one by one or in a batch, and answer with the seconds per event."""
        run = self._match_one_by_one if mode == "one by one" else self._match_batch
        begin, rounds = time.perf_counter(), 0
        while rounds == 0 or time.perf_counter() - begin < TIMING_SECONDS_MIN:
            run()
            rounds += 1
        return {"seconds": (time.perf_counter() - begin) / rounds / len(self._single_events)}

    def _match_one_by_one(self) -> None:
        match = self._reader.match
        for event in self._single_events:
            match(event)

    def _match_batch(self) -> None:
        self._reader.match(self._events)


def main(root: Path) -> None:
    sys.path[:0] = [str(root / "src"), str(root)]
    # Whatever the checkout prints goes to stderr, because stdout is for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    package = Path(import_module("tellwhen").__file__ or "").resolve()
    if root.resolve() not in package.parents:
        sys.exit(f"{root} has no package tellwhen: {package} would be measured")
    timer = EngineTimer()
    for line in sys.stdin:
        arguments = json.loads(line)
        answer = getattr(timer, arguments.pop("command"))(**arguments)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
