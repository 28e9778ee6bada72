"""Many short texts in one array of bytes: no Python object for each, and it can be mapped from disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellwhen.compile.growing import Growing
from tellwhen.kernels.arrays import I32, I64, U8


class Texts:
    """Append-only; text i is UTF-8 in data[start[i]:start[i+1]]."""

    __slots__ = ("_data", "_start")

    def __init__(self, start: I64 | None = None, data: U8 | None = None) -> None:
        self._start = Growing(np.int64, [0] if start is None else start)
        self._data = Growing(np.uint8, () if data is None else data)

    def extend(self, texts: Sequence[str]) -> None:
        encoded = [text.encode() for text in texts]
        ends = np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))) + self._data.count
        self._data.extend(np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self._start.extend(ends)

    def __len__(self) -> int:
        return self._start.count - 1

    def __getitem__(self, i: int) -> str:
        start = self._start.data
        return self._data.data[start[i] : start[i + 1]].tobytes().decode()

    def align(self, count: int) -> None:
        """Exactly so many texts: cut off, or filled up with empty ones."""
        missing = max(0, count - len(self))
        self._start.extend(np.full(missing, self._start.view[-1]))
        self._start.count = count + 1
        self._data.count = int(self._start.data[count])

    def arrays(self) -> tuple[I64, U8]:
        return self._start.view, self._data.view

    def kept(self, which: I32) -> Texts:
        """Only the texts at the given places, in that order."""
        data = memoryview(self._data.view.tobytes())
        begins, ends = self._start.view[which], self._start.view[which + 1]
        kept = b"".join([data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)])
        start = np.concatenate([[0], np.cumsum(ends - begins)])
        return Texts(start, np.frombuffer(bytearray(kept), dtype=np.uint8))
