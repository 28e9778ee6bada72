"""What do engines have in common whose index is built in bulk? Later subscriptions are pending until merged.

Subscriptions added to a built index are *pending*, tested one by one, until there are enough of them to be merged into
it. Removed ones are skipped when found, until there are enough to be dropped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import alive
from tellwhen.containers.growing import Growing
from tellwhen.containers.named import flatten, unflatten
from tellwhen.engines.base import Engine, Reader, Share, Source
from tellwhen.engines.shared.calls import Refiner
from tellwhen.kernels.arrays import I32

PENDING_MIN = 64
"""Merge pending subscriptions once there are more than 64 of them and they are over 1/64 of the index.
Drop removed ones once there are more than 64 of them and they are over a quarter."""


def pending_share(count: int) -> list[Share]:
    """How pending subscriptions are found."""
    return [Share(count, "are pending: tested one by one until they are merged")] if count else []


class BulkEngine(Engine):
    """An engine that builds an index of many slots at once. A subclass says how it is built and read."""

    index_kind: ClassVar[type[Any]]
    """The NamedTuple of arrays that `_build` makes."""

    _index: Any = None  # None before the first one is built

    def __init__(self, source: Source, **given: int) -> None:
        super().__init__(source, **given)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._pending = Growing(np.int32)  # slots not in it yet
        self._removed = 0

    def __len__(self) -> int:
        return len(self._built) + self._pending.count - self._removed

    def insert(self, slots: I32) -> None:
        self._pending.extend(slots)
        if self._pending.count > max(PENDING_MIN, len(self._built) // 64):
            self.merge()

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)
        if self._removed > max(PENDING_MIN, (len(self._built) + self._pending.count) // 4):
            self.merge()

    def merge(self) -> None:
        """Take pending slots into the index and removed ones out of it. By default all is built again."""
        self.rebuild()

    def rebuild(self) -> None:
        self._built = self._alive(np.concatenate([self._built, self._pending.view]))
        self._pending = Growing(np.int32)
        self._removed = 0
        self._build()

    def _alive(self, slots: I32) -> I32:
        """Those of the slots that are not removed."""
        return alive(self.source.snapshot(), slots)

    @abstractmethod
    def _build(self) -> None:
        """Make `_index` of the slots in `_built`."""

    def reader(self) -> Reader:
        pending = Refiner(self._pending.view, self.source.snapshot())
        return self._index_reader(pending) if len(self._built) else pending

    @abstractmethod
    def _index_reader(self, refiner: Refiner) -> Reader:
        """A reader of the index, and of what the refiner knows is pending."""

    def list_shares(self) -> list[Share]:
        pending = len(self._alive(self._pending.view))
        return [Share(len(self) - pending, "are indexed"), *pending_share(pending)]

    def arrays(self) -> dict[str, np.ndarray]:
        index = {} if self._index is None else flatten(self._index, "index.")
        return {"built": self._built, "pending": self._pending.view, **index}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._pending = Growing(np.int32, arrays["pending"])
        mine = np.concatenate([self._built, self._pending.view])
        self._removed = len(mine) - len(self._alive(mine))
        is_saved = any(name.startswith("index.") for name in arrays)
        self._index = unflatten(self.index_kind, arrays, "index.") if is_saved else None

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "pending": self._pending.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }
