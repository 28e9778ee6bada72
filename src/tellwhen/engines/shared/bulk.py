"""Base class of the engines that build an index of many slots at once.

Subscriptions added to a built index are *pending*: they are tested one by one until enough of them have come to merge
them into the index. Removed subscriptions are skipped when found, until enough of them have gone to drop them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tellwhen.compile.live_slots import select_alive
from tellwhen.containers.array_names import flatten, unflatten
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import AccessPath, Engine, Reader, Source
from tellwhen.engines.shared.calls import Refiner
from tellwhen.kernels.arrays import I32

PENDING_MIN = 64
"""Merge pending subscriptions once there are more than 64 of them and they exceed 1/64 of the index.
Drop removed ones once there are more than 64 of them and they exceed a quarter."""


def list_pending_path(count: int) -> list[AccessPath]:
    """Return the share of `count` pending subscriptions, if any."""
    return [AccessPath(count, "are pending: tested one by one until they are merged")] if count else []


class BulkEngine(Engine):
    """An engine that builds an index of many slots at once. A subclass implements `_build` and `_index_reader`."""

    index_kind: ClassVar[type[Any]]
    """The NamedTuple of arrays that `_build` makes."""

    pending_min: ClassVar[int] = PENDING_MIN
    """Up to this many pending subscriptions, and as many removed ones, cause no merge."""

    _index: Any = None  # None before the first build

    def __init__(self, source: Source, **options: int) -> None:
        super().__init__(source, **options)
        self._built = np.zeros(0, dtype=np.int32)  # slots in the index
        self._pending = Growing(np.int32)  # slots not in it yet
        self._removed = 0

    def __len__(self) -> int:
        return len(self._built) + self._pending.count - self._removed

    def insert(self, slots: I32) -> None:
        self._pending.extend(slots)
        if self._pending.count > max(self.pending_min, len(self._built) // 64):
            self.merge()

    def delete(self, slots: I32) -> None:
        self._removed += len(slots)
        if self._removed > max(self.pending_min, (len(self._built) + self._pending.count) // 4):
            self.merge()

    def merge(self) -> None:
        """Take pending slots into the index and removed ones out of it. By default, build the whole index again."""
        self.rebuild()

    def rebuild(self) -> None:
        self._built = self._select_alive(np.concatenate([self._built, self._pending.view]))
        self._pending = Growing(np.int32)
        self._removed = 0
        self._build()

    def _select_alive(self, slots: I32) -> I32:
        """Return the slots that are not removed."""
        return select_alive(self.source.snapshot(), slots)

    @abstractmethod
    def _build(self) -> None:
        """Build `_index` from the slots in `_built`."""

    def reader(self) -> Reader:
        pending = Refiner(self._pending.view, self.source.snapshot())
        return self._index_reader(pending) if len(self._built) else pending

    @abstractmethod
    def _index_reader(self, refiner: Refiner) -> Reader:
        """Return a reader of the index and of the pending slots in the refiner."""

    def list_access_paths(self) -> list[AccessPath]:
        pending = len(self._select_alive(self._pending.view))
        return [AccessPath(len(self) - pending, "are indexed"), *list_pending_path(pending)]

    def arrays(self) -> dict[str, np.ndarray]:
        index = {} if self._index is None else flatten(self._index, "index.")
        return {"built": self._built, "pending": self._pending.view, **index}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._built = arrays["built"]
        self._pending = Growing(np.int32, arrays["pending"])
        slots = np.concatenate([self._built, self._pending.view])
        self._removed = len(slots) - len(self._select_alive(slots))
        has_index = any(name.startswith("index.") for name in arrays)
        self._index = unflatten(self.index_kind, arrays, "index.") if has_index else None

    def stats(self) -> dict[str, Any]:
        return {
            "subscriptions": len(self),
            "removed": self._removed,
            "pending": self._pending.count,
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }
