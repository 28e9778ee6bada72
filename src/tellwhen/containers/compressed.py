"""Many texts, compressed in blocks: to be kept in little memory, and rarely read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import TellwhenError
from tellwhen.kernels.arrays import I32

BLOCK = 128
"""Texts in a block, which are compressed together."""


class CompressedTexts:
    """Append-only. The last texts, fewer than a block, are not compressed yet.

    Other threads may read while one appends: the last texts and the number of texts before them are replaced together,
    as one tuple.
    """

    __slots__ = ("_blocks", "_codec", "_last", "_read", "_start")

    def __init__(self) -> None:
        self._start = Growing(np.int64, [0])  # |0|812|1650|   block b is blocks[start[b]:start[b+1]]
        self._blocks = Growing(np.uint8)
        self._last: tuple[int, list[str]] = 0, []
        self._read: tuple[int, bytes, list[int]] = -1, b"", []  # the block that was read last
        self._codec = pa.Codec("zstd")

    def __len__(self) -> int:
        before, last = self._last
        return before + len(last)

    def extend(self, texts: Sequence[str]) -> None:
        """Append texts."""
        before, last = self._last
        last += texts
        while len(last) >= BLOCK:
            self._blocks.extend(self._compressed(last[:BLOCK]))
            self._start.append(self._blocks.count)
            before, last = before + BLOCK, last[BLOCK:]
            self._last = before, last

    def _compressed(self, texts: list[str]) -> np.ndarray:
        """A block: its size before compression, for the decoder; then, compressed, lengths and bytes of its texts."""
        encoded = [text.encode() for text in texts]
        raw = np.array([len(text) for text in encoded], dtype=np.int32).tobytes() + b"".join(encoded)
        packed = self._codec.compress(raw, asbytes=True)
        return np.frombuffer(len(raw).to_bytes(8, "little") + packed, dtype=np.uint8)

    def _block(self, block: int) -> tuple[bytes, list[int]]:
        """The bytes of a block, and where its texts begin and end in them."""
        read, raw, ends = self._read
        if read != block:
            start = self._start.data
            data = self._blocks.data[start[block] : start[block + 1]].tobytes()
            size = int.from_bytes(data[:8], "little")
            raw = self._codec.decompress(data[8:], decompressed_size=size, asbytes=True)
            ends = np.cumsum([4 * BLOCK, *np.frombuffer(raw, np.int32, BLOCK)]).tolist()
            self._read = block, raw, ends
        return raw, ends

    def __getitem__(self, i: int) -> str:
        before, last = self._last
        if i >= before:
            return last[i - before]
        raw, ends = self._block(i // BLOCK)
        return raw[ends[i % BLOCK] : ends[i % BLOCK + 1]].decode()

    def align(self, count: int) -> None:
        """Change the number of texts to `count`: the last ones are dropped, or empty ones appended."""
        # An interrupt in `extend` may have left a block whose texts are still among the last ones: it is dropped.
        self._start.count = self._last[0] // BLOCK + 1
        self._blocks.count = int(self._start.view[-1])
        self.extend([""] * max(0, count - len(self)))
        block = count // BLOCK
        if block < self._start.count - 1:
            kept = [self[i] for i in range(block * BLOCK, count)]
            self._start.count = block + 1
            self._blocks.count = int(self._start.view[-1])
            self._read = -1, b"", []
            self._last = block * BLOCK, kept
        else:
            before, last = self._last
            self._last = before, last[: count - before]

    def kept(self, which: I32) -> CompressedTexts:
        """The texts at the indexes `which`, in that order."""
        after = CompressedTexts()
        after.adopt(self, which)
        return after

    def adopt(self, other: CompressedTexts | Texts | NoTexts, which: I32) -> None:
        """Append the texts of another at the indexes `which`."""
        self.extend([other[i] for i in which.tolist()])

    def arrays(self) -> dict[str, np.ndarray]:
        """By name, to be saved."""
        start, data = Texts.of(self._last[1]).arrays()
        return {"start": self._start.view, "blocks": self._blocks.view, "last_start": start, "last": data}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray]) -> CompressedTexts:
        """The texts whose `arrays` were saved."""
        texts = cls()
        texts._start, texts._blocks = Growing(np.int64, arrays["start"]), Growing(np.uint8, arrays["blocks"])
        last = Texts(arrays["last_start"], arrays["last"])
        texts._last = BLOCK * (texts._start.count - 1), [last[i] for i in range(len(last))]
        return texts


class NoTexts:
    """In place of texts that are not kept: only their number is known."""

    def __init__(self, count: int = 0) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def extend(self, texts: Sequence[str]) -> None:
        """Count texts."""
        self._count += len(texts)

    def __getitem__(self, i: int) -> str:
        raise TellwhenError("this index keeps no texts (texts=False): it can match, but not show an expression")

    def align(self, count: int) -> None:
        """Change the number of texts."""
        self._count = count

    def kept(self, which: I32) -> NoTexts:
        """As many as `which` has."""
        return NoTexts(len(which))

    def adopt(self, other: object, which: I32) -> None:
        """As many more as `which` has."""
        self._count += len(which)

    def arrays(self) -> dict[str, np.ndarray]:
        """Nothing to be saved."""
        return {}
