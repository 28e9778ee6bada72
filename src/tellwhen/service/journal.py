"""Which changes were accepted since the last snapshot? A write-ahead log.

    log-<number of the first record>
        frame   magic, length, checksum, number of the first record, records (JSON), one per line
        frame   ...

A frame is written and synced at once: all changes that waited meanwhile share it (group commit). The next frame is
written only when this one is on disk. So a faulty frame with nothing behind it was being written when the machine went
down, and nobody was told that its changes are kept: it is cut off, and kept aside. A faulty frame *before* a good one
is damage, and nothing is opened then.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tellwhen.errors import FormatError
from tellwhen.persistence.directory import sync_folder

log = logging.getLogger("tellwhen")

MAGIC = b"\x89tw\n"
HEAD = struct.Struct("<4sIIQ")
"""Magic, length of the records, checksum, number of the first record."""
NAME = re.compile(r"log-(\d{20})")


class Record(NamedTuple):
    """One change, by its number, as JSON."""

    number: int
    body: bytes


class Journal:
    """The log files of a folder. One thread writes."""

    def __init__(self, folder: Path, kept: int = 0) -> None:
        """Open what is there. All changes up to the number `kept` are in a snapshot: what is behind it must be here,
        each number once, or changes were lost with a file."""
        self._folder = folder
        self._failure: OSError | None = None
        files = _files(folder)
        if kept and not files:
            raise FormatError(f"{folder} has a snapshot and no log; restore the folder from a backup")
        self._next, self._kept = 1, kept
        self.last_frame = 0
        """The number of the first record in the last frame that was there when it was opened."""
        used = [file for file in files if file.stat().st_size]
        for file in used:
            self._expect(_first_of(file), file)
            for number, records in _checked(file, is_last=file == used[-1]):
                self._expect(number, file)
                self._next, self.last_frame = number + records, number
        for file in [file for file in files if file not in used]:
            if _first_of(file) < self._next:  # it was begun, and then not used: changes went on in the one before
                files.remove(file)
                file.unlink()
            else:
                self._expect(_first_of(file), file)
        self._next = max(self._next, kept + 1)
        self._file = files[-1] if files else folder / f"log-{self._next:020d}"
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.bytes = os.fstat(self._descriptor).st_size
        sync_folder(folder)

    def _expect(self, number: int, file: Path) -> None:
        """Is this what comes next? Some may be missing if a snapshot has them."""
        if not self._next <= number <= max(self._next, self._kept + 1):
            raise FormatError(
                f"{file} has change {number} where {max(self._next, self._kept + 1)} is expected: changes are missing; "
                "restore the folder from a backup"
            )
        self._next = number

    @property
    def last(self) -> int:
        """The number of the last record."""
        return self._next - 1

    @property
    def failure(self) -> str | None:
        """Why nothing can be written any more."""
        return None if self._failure is None else f"the log cannot be written: {self._failure.strerror}"

    def records(self, after: int) -> Iterator[Record]:
        """All records behind this number."""
        for file in _files(self._folder):
            for number, body in _frames(file):
                for offset, line in enumerate(body.split(b"\n")):
                    if number + offset > after:
                        yield Record(number + offset, line)

    def append(self, bodies: Sequence[bytes]) -> int:
        """Write records and sync them to the disk; returns the number of the first one. Where that fails, nothing is
        written: an OSError, after which the journal goes on."""
        if self._failure is None and os.fstat(self._descriptor).st_nlink == 0:
            self._failure = FileNotFoundError(errno.ENOENT, "it was deleted")
        if self._failure is not None:
            raise self._failure
        payload = b"\n".join(bodies)
        first = self._next
        frame = HEAD.pack(MAGIC, len(payload), _checksum(first, payload), first) + payload
        try:
            view = memoryview(frame)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._cut(error)
            raise
        self.bytes += len(frame)
        self._next += len(bodies)
        return first

    def _cut(self, error: OSError) -> None:
        """Take back half a frame. If even that fails, nothing may follow it: opening it again would find damage."""
        try:
            os.ftruncate(self._descriptor, self.bytes)
            os.fsync(self._descriptor)
        except OSError:
            self._failure = error

    def rotate(self) -> None:
        """Begin a new file, and delete the others: a snapshot has what is in them."""
        file = self._folder / f"log-{self._next:020d}"
        if file == self._file:
            return  # nothing is in it
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            sync_folder(self._folder)
        except BaseException:  # changes go on in the file before: this one would be in the way when it is opened again
            file.unlink()
            os.close(descriptor)
            raise
        os.close(self._descriptor)
        self._file, self._descriptor, self.bytes = file, descriptor, 0
        for old in _files(self._folder):
            if old != file:
                old.unlink()

    def close(self) -> None:
        os.close(self._descriptor)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def _first_of(file: Path) -> int:
    return int(file.name.removeprefix("log-"))


def _checksum(first: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(first.to_bytes(8, "little")))


def _frame_at(data: bytes, position: int) -> tuple[int, bytes] | None:
    """The frame that begins here, if a whole one does: the number of its first record, and its records."""
    if len(data) - position < HEAD.size:
        return None
    magic, length, checksum, first = HEAD.unpack_from(data, position)
    payload = data[position + HEAD.size : position + HEAD.size + length]
    if magic != MAGIC or len(payload) < length or checksum != _checksum(first, payload):
        return None
    return first, payload


def _frames(file: Path) -> Iterator[tuple[int, bytes]]:
    data, position = file.read_bytes(), 0
    while (frame := _frame_at(data, position)) is not None:
        yield frame
        position += HEAD.size + len(frame[1])


def _checked(file: Path, is_last: bool) -> list[tuple[int, int]]:
    """Its good frames: the number of the first record, and how many there are. What was being written last is cut
    off."""
    data, end, found = file.read_bytes(), 0, []
    while (frame := _frame_at(data, end)) is not None:
        end += HEAD.size + len(frame[1])
        found.append((frame[0], frame[1].count(b"\n") + 1))
    rest = data[end:]
    if rest:
        behind = (found.start() for found in re.finditer(re.escape(MAGIC), rest))
        if not is_last or any(_frame_at(rest, position) is not None for position in behind):
            raise FormatError(
                f"{file} is damaged at byte {end}, and good changes follow; restore the folder from a backup, or move "
                "the file away to go on without its changes"
            )
        aside = file.with_name(f"torn-{file.name}-{end}")
        aside.write_bytes(rest)
        with file.open("r+b") as cut:
            cut.truncate(end)
            os.fsync(cut.fileno())
        log.warning(
            "tellwhen: %s ended with a change that was not completed; %d bytes are now in %s", file, len(rest), aside
        )
    return found
