"""The number of the last acknowledged change of a tenant, in a file beside the log.

A log that lost its end cannot be told from a log whose last frame was being written. So this file repeats, after every
frame that was synced, how far the log must reach. It is written and not synced: that costs microseconds, a killed
process loses nothing of it, and after a power failure it may be older, which only makes the check weaker.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

NAME = "acknowledged"
NUMBER = struct.Struct("<Q")
CHECKSUM = struct.Struct("<I")


class AcknowledgedNumber:
    """The number in the file; None if there is no file, or a damaged one."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        data = os.pread(self._descriptor, NUMBER.size + CHECKSUM.size, 0)
        body = data[: NUMBER.size]
        is_intact = data[NUMBER.size :] == CHECKSUM.pack(zlib.crc32(body))
        self.number: int | None = NUMBER.unpack(body)[0] if is_intact else None

    def record(self, number: int) -> None:
        """Write the number. A full disk is tolerated: an older number is still a lower bound."""
        body = NUMBER.pack(number)
        with suppress(OSError):
            os.pwrite(self._descriptor, body + CHECKSUM.pack(zlib.crc32(body)), 0)

    def close(self) -> None:
        os.close(self._descriptor)
