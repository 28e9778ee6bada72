"""`auto`: each subscription goes to the fastest engine that takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.containers.growing import Growing
from tellwhen.containers.named import part
from tellwhen.engines.base import Engine, Reader, Source
from tellwhen.engines.counting.engine import Counting
from tellwhen.engines.scan.engine import Scan
from tellwhen.engines.shared.calls import Union
from tellwhen.kernels.arrays import I32


class Auto(Engine):
    """Sends each subscription to the first of its engines that takes it."""

    name = "auto"
    summary = "counting, and scan for what counting does not take"
    supports = frozenset({"expressions"})

    def __init__(self, source: Source, **given: int) -> None:
        super().__init__(source, **given)
        self._engines: list[Engine] = [Counting(source), Scan(source)]
        self._owner = Growing(np.uint8)  # by slot: which engine has it

    def __len__(self) -> int:
        return sum(len(engine) for engine in self._engines)

    def insert(self, slots: I32) -> None:
        known = len(self.source.snapshot().subscriptions.kind)
        self._owner.extend(np.zeros(known - self._owner.count, dtype=np.uint8))
        for number, engine in enumerate(self._engines):
            taken = engine.takes(slots)
            self._owner.data[slots[taken]] = number
            engine.insert(slots[taken])
            slots = slots[~taken]

    def delete(self, slots: I32) -> None:
        for number, engine in enumerate(self._engines):
            mine = slots[self._owner.data[slots] == number]
            if len(mine):
                engine.delete(mine)

    def rebuild(self) -> None:
        for engine in self._engines:
            engine.rebuild()

    def reader(self) -> Reader:
        readers = [engine.reader() for engine in self._engines if len(engine)]
        return readers[0] if len(readers) == 1 else Union(readers)

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"owner": self._owner.view}
        for engine in self._engines:
            named |= {f"{engine.name}.{name}": array for name, array in engine.arrays().items()}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._owner = Growing(np.uint8, arrays["owner"])
        for engine in self._engines:
            engine.restore(part(arrays, engine.name))

    def stats(self) -> dict[str, Any]:
        each = {engine.name: engine.stats() for engine in self._engines}
        total = {key: sum(stats[key] for stats in each.values()) for key in ("subscriptions", "removed", "bytes")}
        return {**total, **each}
