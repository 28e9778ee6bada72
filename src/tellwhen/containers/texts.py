"""Many short texts in one array of bytes, which can be mapped from disk and needs no Python object per text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.containers.growing import Growing
from tellwhen.containers.kernels.text_search import locate_texts
from tellwhen.kernels.arrays import I32, I64, U8


class Texts:
    """Append-only texts: text i is UTF-8 in data[start[i]:start[i+1]], and start[0] is 0."""

    __slots__ = ("_data", "_start")

    def __init__(self, start: I64 | None = None, data: U8 | None = None) -> None:
        self._start = Growing(np.int64, [0] if start is None else start)
        self._data = Growing(np.uint8, () if data is None else data)

    def extend(self, texts: Sequence[str]) -> None:
        if len(texts) == 1:
            self._data.extend(np.frombuffer(texts[0].encode(), dtype=np.uint8))
            self._start.append(self._data.count)
            return
        encoded = [text.encode() for text in texts]
        ends = np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))) + self._data.count
        self._data.extend(np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self._start.extend(ends)

    def __len__(self) -> int:
        return self._start.count - 1

    def __getitem__(self, i: int) -> str:
        return self._bytes(i).decode()

    def _bytes(self, i: int) -> bytes:
        start = self._start.data
        return self._data.data[start[i] : start[i + 1]].tobytes()

    def resize(self, count: int) -> None:
        """Change the number of texts to `count`: drop the last ones or append empty ones."""
        missing = max(0, count - len(self))
        self._start.extend(np.full(missing, self._start.view[-1]))
        self._start.count = count + 1
        self._data.count = int(self._start.data[count])

    def arrays(self) -> tuple[I64, U8]:
        """Return start and data."""
        return self._start.view, self._data.view

    def first(self, count: int) -> tuple[I64, U8]:
        """Return start and data of the first `count` texts.

        Both stay the same while another thread appends or drops later texts.
        """
        start = self._start.data[: count + 1]
        return start, self._data.data[: start[count]]

    def locate(self, begin: int, end: int, wanted: Texts) -> tuple[I64, U8]:
        """Locate every text of `wanted` in the sorted texts begin:end.

        Return for every wanted text how many of these are not greater, and 1 if the last of them is equal, else 0.
        """
        at, known = np.empty(len(wanted), dtype=np.int64), np.empty(len(wanted), dtype=np.uint8)
        locate_texts(*self.arrays(), begin, end, *wanted.arrays(), at, known)
        return at, known

    def locate_one(self, begin: int, end: int, wanted: str) -> tuple[int, bool]:
        """Locate one text as `locate` does; for one text, bisecting is faster than the kernel."""
        encoded = wanted.encode()
        at = bisect_right(range(begin, end), encoded, key=self._bytes)
        return at, at > 0 and self._bytes(begin + at - 1) == encoded

    @classmethod
    def from_strings(cls, texts: Sequence[str]) -> Texts:
        """Make a container of some texts."""
        made = cls()
        made.extend(texts)
        return made

    def adopt(self, other: Texts, which: I32) -> None:
        """Append those texts of `other` whose indexes are `which`."""
        start, bytes_ = gather(other._start.view, which)
        self._start.extend(start[1:] + self._data.count)
        self._data.extend(other._data.view[bytes_])
