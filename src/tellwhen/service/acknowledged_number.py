"""The number of the last acknowledged change of a tenant, in a file beside the log.

A truncated log looks like a log whose last frame was being written. This file therefore says how far the log must
reach. It is written after every synced frame, and is not synced itself: a write costs microseconds, and survives the
death of the process. After a power failure the number may be too low, which only weakens the check.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

FILE_NAME = "acknowledged"
NUMBER = struct.Struct("<Q")
CHECKSUM = struct.Struct("<I")


class AcknowledgedNumber:
    """The open file, and the `number` that it had when it was opened: None for a new or damaged file."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        data = os.pread(self._descriptor, NUMBER.size + CHECKSUM.size, 0)
        body = data[: NUMBER.size]
        is_intact = data[NUMBER.size :] == CHECKSUM.pack(zlib.crc32(body))
        self.number: int | None = NUMBER.unpack(body)[0] if is_intact else None

    def record(self, number: int) -> None:
        """Write the number; ignore a full disk, because the old number is still a lower bound."""
        body = NUMBER.pack(number)
        with suppress(OSError):
            os.pwrite(self._descriptor, body + CHECKSUM.pack(zlib.crc32(body)), 0)

    def close(self) -> None:
        os.close(self._descriptor)
