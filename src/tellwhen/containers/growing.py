"""Arrays that grow by doubling. A reader keeps its view: the values in it never change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Growing:
    """Array with room to grow: `data[:count]` is in use."""

    __slots__ = ("count", "data")

    def __init__(self, dtype: DTypeLike, values: Any = ()) -> None:
        self.data: NDArray[Any] = np.asarray(values, dtype=dtype)
        self.count = len(self.data)

    def reserve(self, extra: int) -> NDArray[Any]:
        """Make room for `extra` more values. Return the whole buffer."""
        needed = self.count + extra
        if needed > len(self.data):
            # A new buffer, not resize(): readers still hold the old one.
            grown = np.zeros(max(needed, 2 * len(self.data), 16), dtype=self.data.dtype)
            grown[: self.count] = self.data[: self.count]
            self.data = grown
        return self.data

    def extend(self, values: NDArray[Any]) -> None:
        self.reserve(len(values))
        self.data[self.count : self.count + len(values)] = values
        self.count += len(values)

    def append(self, value: Any) -> None:
        if self.count == len(self.data):
            self.reserve(1)
        self.data[self.count] = value
        self.count += 1

    @property
    def view(self) -> NDArray[Any]:
        """The values in use."""
        return self.data[: self.count]


def make_growing(arrays: Any) -> Any:
    """Replace every array of a NamedTuple by a `Growing`. A memory-mapped array is copied when it grows."""
    return type(arrays)(*(Growing(array.dtype, array) for array in arrays))


def take_views(arrays: Any) -> Any:
    """Replace every `Growing` of a NamedTuple by its view."""
    return type(arrays)(*(array.view for array in arrays))
