"""Many texts, compressed in blocks: to be kept in little memory, and rarely read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import TellwhenError
from tellwhen.kernels.arrays import I32

BLOCK = 128
"""Texts in a block, which are compressed together."""


class _State(NamedTuple):
    """What a reader sees, replaced as a whole. Blocks that were dropped may still be read: others never take their
    place in the same arrays, nor in what was noted of them."""

    before: int  # texts in blocks
    last: list[str]  # texts behind them
    start: Growing  # |0|812|1650|   block b is blocks[start[b]:start[b+1]]
    blocks: Growing
    read: list[tuple[int, bytes, list[int]]]  # the block that was read last


def _nothing_read() -> list[tuple[int, bytes, list[int]]]:
    return [(-1, b"", [])]


class CompressedTexts:
    """Append-only. The last texts, fewer than a block, are not compressed yet. Other threads may read while one
    changes it."""

    __slots__ = ("_codec", "_state")

    def __init__(self) -> None:
        self._state = _State(0, [], Growing(np.int64, [0]), Growing(np.uint8), _nothing_read())
        self._codec = pa.Codec("zstd")

    def __len__(self) -> int:
        return self._state.before + len(self._state.last)

    def extend(self, texts: Sequence[str]) -> None:
        """Append texts."""
        before, last, start, blocks, read = self._state
        last += texts
        while len(last) >= BLOCK:
            blocks.extend(self._compressed(last[:BLOCK]))
            start.append(blocks.count)
            before, last = before + BLOCK, last[BLOCK:]
            self._state = _State(before, last, start, blocks, read)

    def _compressed(self, texts: list[str]) -> np.ndarray:
        """A block: its size before compression, for the decoder; then, compressed, lengths and bytes of its texts."""
        encoded = [text.encode() for text in texts]
        raw = np.array([len(text) for text in encoded], dtype=np.int32).tobytes() + b"".join(encoded)
        packed = self._codec.compress(raw, asbytes=True)
        return np.frombuffer(len(raw).to_bytes(8, "little") + packed, dtype=np.uint8)

    def _block(self, state: _State, block: int) -> tuple[bytes, list[int]]:
        """The bytes of a block, and where its texts begin and end in them."""
        read, raw, ends = state.read[0]
        if read != block:
            start = state.start.data
            data = state.blocks.data[start[block] : start[block + 1]].tobytes()
            size = int.from_bytes(data[:8], "little")
            raw = self._codec.decompress(data[8:], decompressed_size=size, asbytes=True)
            ends = np.cumsum([4 * BLOCK, *np.frombuffer(raw, np.int32, BLOCK)]).tolist()
            state.read[0] = block, raw, ends
        return raw, ends

    def __getitem__(self, i: int) -> str:
        state = self._state
        if i >= state.before:
            return state.last[i - state.before]
        raw, ends = self._block(state, i // BLOCK)
        return raw[ends[i % BLOCK] : ends[i % BLOCK + 1]].decode()

    def align(self, count: int) -> None:
        """Change the number of texts to `count`: the last ones are dropped, or empty ones appended."""
        before, _, start, blocks, _ = self._state
        # An interrupt in `extend` may have left a block whose texts are still among the last ones: it is dropped.
        start.count = before // BLOCK + 1
        blocks.count = int(start.view[-1])
        self.extend([""] * max(0, count - len(self)))
        before, last, start, blocks, read = self._state
        block = count // BLOCK
        if block < start.count - 1:
            kept = [self[i] for i in range(block * BLOCK, count)]
            start = Growing(np.int64, start.view[: block + 1].copy())
            blocks = Growing(np.uint8, blocks.view[: int(start.view[-1])].copy())
            self._state = _State(block * BLOCK, kept, start, blocks, _nothing_read())
        else:
            self._state = _State(before, last[: count - before], start, blocks, read)

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
        state = self._state
        start, data = Texts.of(state.last).arrays()
        return {"start": state.start.view, "blocks": state.blocks.view, "last_start": start, "last": data}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray]) -> CompressedTexts:
        """The texts whose `arrays` were saved."""
        texts = cls()
        start, blocks = Growing(np.int64, arrays["start"]), Growing(np.uint8, arrays["blocks"])
        last = Texts(arrays["last_start"], arrays["last"])
        kept = [last[i] for i in range(len(last))]
        texts._state = _State(BLOCK * (start.count - 1), kept, start, blocks, _nothing_read())
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
