"""Texts compressed in blocks, for texts that are rarely read and must take little memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import MissingTextsError
from tellwhen.kernels.arrays import I32

TEXTS_PER_BLOCK = 128
"""Texts that are compressed together."""


class _State(NamedTuple):
    """The state that a reader sees, always replaced as a whole.

    Readers may still use dropped blocks, so new blocks never take their place in the same arrays or in `read`.
    """

    before: int  # number of texts in blocks
    last: list[str]  # texts behind them
    start: Growing  # |0|812|1650|   block b is blocks[start[b]:start[b+1]]
    blocks: Growing
    read: list[tuple[int, bytes, list[int]]]  # the block that was read last


def _nothing_read() -> list[tuple[int, bytes, list[int]]]:
    return [(-1, b"", [])]


class CompressedTexts:
    """Append-only texts. The last texts, fewer than a block, are not compressed.

    Other threads may read while one thread changes it.
    """

    __slots__ = ("_codec", "_state")

    def __init__(self) -> None:
        self._state = _State(0, [], Growing(np.int64, [0]), Growing(np.uint8), _nothing_read())
        self._codec = pa.Codec("zstd")

    def __len__(self) -> int:
        return self._state.before + len(self._state.last)

    def extend(self, texts: Sequence[str]) -> None:
        before, last, start, blocks, read = self._state
        last += texts
        while len(last) >= TEXTS_PER_BLOCK:
            blocks.extend(self._compress(last[:TEXTS_PER_BLOCK]))
            start.append(blocks.count)
            before, last = before + TEXTS_PER_BLOCK, last[TEXTS_PER_BLOCK:]
            self._state = _State(before, last, start, blocks, read)

    def _compress(self, texts: list[str]) -> np.ndarray:
        """Compress a block.

        Its first 8 bytes are the size before compression, for the decoder. The rest are lengths and bytes of the texts.
        """
        encoded = [text.encode() for text in texts]
        raw = np.array([len(text) for text in encoded], dtype=np.int32).tobytes() + b"".join(encoded)
        packed = self._codec.compress(raw, asbytes=True)
        return np.frombuffer(len(raw).to_bytes(8, "little") + packed, dtype=np.uint8)

    def _block(self, state: _State, block: int) -> tuple[bytes, list[int]]:
        """Return the bytes of a block, and the offsets at which its texts begin and end."""
        read, raw, ends = state.read[0]
        if read != block:
            start = state.start.data
            data = state.blocks.data[start[block] : start[block + 1]].tobytes()
            size = int.from_bytes(data[:8], "little")
            raw = self._codec.decompress(data[8:], decompressed_size=size, asbytes=True)
            ends = np.cumsum([4 * TEXTS_PER_BLOCK, *np.frombuffer(raw, np.int32, TEXTS_PER_BLOCK)]).tolist()
            state.read[0] = block, raw, ends
        return raw, ends

    def __getitem__(self, i: int) -> str:
        state = self._state
        if i >= state.before:
            return state.last[i - state.before]
        raw, ends = self._block(state, i // TEXTS_PER_BLOCK)
        return raw[ends[i % TEXTS_PER_BLOCK] : ends[i % TEXTS_PER_BLOCK + 1]].decode()

    def resize(self, count: int) -> None:
        """Change the number of texts to `count`: drop the last ones or append empty ones."""
        before, _, start, blocks, _ = self._state
        # An interrupt in `extend` may have left a block whose texts are still among the last ones: it is dropped.
        start.count = before // TEXTS_PER_BLOCK + 1
        blocks.count = int(start.view[-1])
        self.extend([""] * max(0, count - len(self)))
        before, last, start, blocks, read = self._state
        block = count // TEXTS_PER_BLOCK
        if block < start.count - 1:
            kept = [self[i] for i in range(block * TEXTS_PER_BLOCK, count)]
            start = Growing(np.int64, start.view[: block + 1].copy())
            blocks = Growing(np.uint8, blocks.view[: int(start.view[-1])].copy())
            self._state = _State(block * TEXTS_PER_BLOCK, kept, start, blocks, _nothing_read())
        else:
            self._state = _State(before, last[: count - before], start, blocks, read)

    def select(self, which: I32) -> CompressedTexts:
        """Return new compressed texts with the texts at the indexes `which`, in that order."""
        after = CompressedTexts()
        after.adopt(self, which)
        return after

    def adopt(self, other: CompressedTexts | Texts | NoTexts, which: I32) -> None:
        """Append those texts of `other` whose indexes are `which`."""
        self.extend([other[i] for i in which.tolist()])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to save, by name."""
        state = self._state
        start, data = Texts.from_strings(state.last).arrays()
        return {"start": state.start.view, "blocks": state.blocks.view, "last_start": start, "last": data}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> CompressedTexts:
        """Restore texts from saved `arrays`."""
        texts = cls()
        start, blocks = Growing(np.int64, arrays["start"]), Growing(np.uint8, arrays["blocks"])
        last = Texts(arrays["last_start"], arrays["last"])
        kept = [last[i] for i in range(len(last))]
        texts._state = _State(TEXTS_PER_BLOCK * (start.count - 1), kept, start, blocks, _nothing_read())
        return texts


class NoTexts:
    """Stand-in for texts that an index does not store: it only counts them."""

    def __init__(self, count: int = 0) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def extend(self, texts: Sequence[str]) -> None:
        self._count += len(texts)

    def __getitem__(self, i: int) -> str:
        raise MissingTextsError(
            "this index stores no texts (texts=False), so it cannot show an expression; build it with texts=True"
        )

    def resize(self, count: int) -> None:
        """Set the number of texts."""
        self._count = count

    def select(self, which: I32) -> NoTexts:
        return NoTexts(len(which))

    def adopt(self, other: object, which: I32) -> None:
        self._count += len(which)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return no arrays: there is nothing to save."""
        return {}
