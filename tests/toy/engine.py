"""Engine in which all subscriptions stay pending: every event tests them one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.live_slots import select_alive
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import Engine, Reader, Source
from tellwhen.engines.shared.calls import Refiner
from tellwhen.kernels.arrays import I32


class Toy(Engine):
    """Engine that keeps a list of slots and tests all of them."""

    name = "toy"
    summary = "an example"
    supports = frozenset({"expressions"})

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._slots = Growing(np.int32)
        self._removed = 0

    def __len__(self) -> int:
        return self._slots.count - self._removed

    def insert(self, slots: I32) -> None:
        self._slots.extend(slots)

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)

    def rebuild(self) -> None:
        self._slots, self._removed = Growing(np.int32, self._select_alive()), 0

    def _select_alive(self) -> I32:
        return select_alive(self.source.snapshot(), self._slots.view)

    def reader(self) -> Reader:
        return Refiner(self._slots.view, self.source.snapshot())

    def arrays(self) -> dict[str, np.ndarray]:
        return {"slots": self._slots.view}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._slots = Growing(np.int32, arrays["slots"])
        self._removed = self._slots.count - len(self._select_alive())

    def stats(self) -> dict[str, Any]:
        return {"subscriptions": len(self), "removed": self._removed, "bytes": self._slots.view.nbytes}
