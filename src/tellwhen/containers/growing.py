"""Arrays that grow by doubling. Readers keep the view they took: what it shows never changes under them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Growing:
    """`data[:count]` is in use, the rest is room to grow."""

    __slots__ = ("count", "data")

    def __init__(self, dtype: DTypeLike, values: Any = ()) -> None:
        self.data: NDArray[Any] = np.asarray(values, dtype=dtype)
        self.count = len(self.data)

    def reserve(self, extra: int) -> NDArray[Any]:
        """Make room for `extra` more values; returns the whole buffer."""
        needed = self.count + extra
        if needed > len(self.data):
            # A new buffer, not resize(): readers still hold the old one.
            grown = np.zeros(max(needed, 2 * len(self.data), 16), dtype=self.data.dtype)
            grown[: self.count] = self.data[: self.count]
            self.data = grown
        return self.data

    def extend(self, values: NDArray[Any]) -> None:
        """Append values."""
        self.reserve(len(values))
        self.data[self.count : self.count + len(values)] = values
        self.count += len(values)

    def append(self, value: Any) -> None:
        """Append one value."""
        if self.count == len(self.data):
            self.reserve(1)
        self.data[self.count] = value
        self.count += 1

    @property
    def view(self) -> NDArray[Any]:
        """The values in use."""
        return self.data[: self.count]


def growing(arrays: Any) -> Any:
    """The NamedTuple with a `Growing` in place of every array. Memory-mapped arrays are copied when they grow."""
    return type(arrays)(*(Growing(array.dtype, array) for array in arrays))


def views(arrays: Any) -> Any:
    """The way back: the NamedTuple with the view of every `Growing`."""
    return type(arrays)(*(array.view for array in arrays))
