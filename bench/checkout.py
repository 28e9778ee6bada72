"""The code of one checkout, timed at the request of `bench.against`: `python -P bench/checkout.py CHECKOUT`.

Runs as a file, and also with older checkouts, whose modules have other names. Questions and answers are lines of JSON
on stdin and stdout.
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

SLICE_SECONDS = 0.1
"""A timing takes at least this long."""


def imported(*names: str) -> Any:
    """The first module or attribute that this checkout has: `package.module` or `package.module:attribute`."""
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            found = import_module(module)
            return getattr(found, attribute) if attribute else found
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"this checkout has none of {', '.join(names)}")


class Timed:
    """A workload, and the engine that was built last."""

    def __init__(self) -> None:
        self._create = imported("tellwhen.engines:create", "tellwhen.engines.planner:create")
        self._loading = imported("bench.loading", "tellwhen.workloads.loading")
        self._reader: Any = None
        self._one_by_one = imported("tellwhen.containers.batches:one_by_one", "tellwhen.compile.batch:one_by_one")

    def load(self, work: dict[str, Any], count: int, events: int) -> dict[str, Any]:
        made = imported("tellwhen.workloads:BEGen")(**work)
        self._store, self._slots = self._loading.stored(made, count)
        self._events = self._loading.encoded(made, events, self._store)
        self._apart = list(self._one_by_one(self._events))
        return {}

    def prepare(self, engine: str) -> dict[str, Any]:
        """Compile the kernels of an engine, and say what is wrong if it cannot be used here."""
        try:
            self._create(engine, self._store).insert(self._slots[:100])
        except Exception as error:
            return {"fault": f"{type(error).__name__}: {error}"}
        return {}

    def build(self, engine: str) -> dict[str, Any]:
        """Seconds to build an engine once. The engine that was built before is dropped first."""
        self._reader = None
        gc.collect()
        begin = time.perf_counter()
        built = self._create(engine, self._store)
        built.insert(self._slots)
        while (work := built.upkeep()) is not None:  # another checkout may not know `keep_up`
            work.run()
            work.finish()
        seconds = time.perf_counter() - begin
        self._reader = built.reader()
        return {"seconds": seconds}

    def answers(self) -> dict[str, Any]:
        """A checksum of all matches."""
        start, slot = self._reader.match(self._events)
        found = [sorted(slot[a:b].tolist()) for a, b in pairwise(start.tolist())]
        self._singly()  # not timed: later calls find their working arrays allocated
        return {"checksum": zlib.crc32(json.dumps(found).encode())}

    def match(self, way: str) -> dict[str, Any]:
        """Seconds per event."""
        run = self._singly if way == "one by one" else self._together
        begin, rounds = time.perf_counter(), 0
        while rounds == 0 or time.perf_counter() - begin < SLICE_SECONDS:
            run()
            rounds += 1
        return {"seconds": (time.perf_counter() - begin) / rounds / len(self._apart)}

    def _singly(self) -> None:
        match = self._reader.match
        for event in self._apart:
            match(event)

    def _together(self) -> None:
        self._reader.match(self._events)


def main(root: Path) -> None:
    sys.path[:0] = [str(root / "src"), str(root)]
    # What the code prints goes to stderr: stdout is for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    package = Path(import_module("tellwhen").__file__ or "").resolve()
    if root.resolve() not in package.parents:
        sys.exit(f"{root} has no package tellwhen: {package} would be measured")
    timed = Timed()
    for line in sys.stdin:
        given = json.loads(line)
        answer = getattr(timed, given.pop("question"))(**given)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
