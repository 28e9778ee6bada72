"""A write-ahead log of the changes since the last snapshot.

    log-<number of the first record>
        frame   magic, length, checksum, number of the first record, records (JSON), one per line
        frame   ...
    acknowledged
        number of the last acknowledged change

All changes that are queued at the same time share a frame, which is written and synced once (group commit). A frame is
written only when the previous one is on disk. So a faulty last frame was being written when the process or the machine
stopped, and none of its changes was acknowledged. The journal moves it to a `torn-` file. A faulty frame before an
intact one, a log that ends before the last acknowledged change, and a missing log are damage: the journal refuses to
open.
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
from tellwhen.service.acknowledged_number import AcknowledgedNumber

log = logging.getLogger("tellwhen")

MAGIC = b"\x89tw\n"
HEAD = struct.Struct("<4sIIQ")
"""Head of a frame: magic, length of the records in bytes, checksum, number of the first record."""
FILE_NAME = re.compile(r"log-(\d{20})")


class Record(NamedTuple):
    """A change as JSON, with its number."""

    number: int
    body: bytes


class Frame(NamedTuple):
    """The number of the first record in a frame, and the number of records."""

    first: int
    record_count: int


class Journal:
    """The log files of a folder. Only one thread may write."""

    def __init__(self, folder: Path, snapshot_number: int | None = None, *, accept_loss: bool = False) -> None:
        """Open the journal, or create one where neither a journal nor a snapshot exists.

        Changes up to `snapshot_number` are in a snapshot. All later ones must be in the journal, up to the
        last acknowledged change. With `accept_loss`, changes may be missing at the end of the journal.
        """
        self._folder = folder
        self._failure: OSError | None = None
        self._snapshot_number = snapshot_number or 0
        self._next_number = 1
        self.last_frame_first = 0
        """Number of the first record in the last frame of the journal that was opened."""
        self._acknowledged = AcknowledgedNumber(folder)
        try:
            files = _list_files(folder)
            has_log = bool(files)
            self._read_frames(files)
            self._next_number = max(self._next_number, self._snapshot_number + 1)
            self._check_end(has_log, snapshot_number is not None, accept_loss)
            self._file = files[-1] if files else folder / f"log-{self._next_number:020d}"
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except BaseException:
            self._acknowledged.close()
            raise
        self._acknowledged.record(self.last_number)
        self.size_bytes = os.fstat(self._descriptor).st_size
        sync_folder(folder)

    def _read_frames(self, files: list[Path]) -> None:
        """Check the numbers of all frames; delete empty files that a failed rotation has left, also from `files`."""
        used = [file for file in files if file.stat().st_size]
        for file in used:
            self._expect_number(_first_number(file), file)
            for frame in _repair(file, is_last=file == used[-1]):
                self._expect_number(frame.first, file)
                self._next_number, self.last_frame_first = frame.first + frame.record_count, frame.first
        for file in [file for file in files if file not in used]:
            # Later changes are in the previous file if the rotation failed.
            if _first_number(file) < self._next_number:
                files.remove(file)
                file.unlink()
            else:
                self._expect_number(_first_number(file), file)

    def _expect_number(self, number: int, file: Path) -> None:
        """Raise `FormatError` if records before this number are missing, and are not in the snapshot either."""
        expected = max(self._next_number, self._snapshot_number + 1)
        if not self._next_number <= number <= expected:
            raise FormatError(
                f"{file} has change {number} where {expected} is expected: changes are missing; restore the folder "
                "from a backup"
            )
        self._next_number = number

    def _check_end(self, has_log: bool, has_snapshot: bool, accept_loss: bool) -> None:
        """Raise `FormatError` if the journal is missing, or ends before the last acknowledged change."""
        acknowledged, last = self._acknowledged.number, self.last_number
        if acknowledged is None and has_snapshot and not has_log:
            loss = f"{self._folder} has a snapshot and no log: changes since the snapshot may be missing"
        elif acknowledged is None or acknowledged <= last:
            return
        elif has_log:
            loss = f"the log in {self._folder} ends at change {last}, and {acknowledged} changes were acknowledged"
        else:
            loss = f"the log in {self._folder} is missing, and with it the acknowledged changes after change {last}"
        if not accept_loss:
            raise FormatError(
                f"{loss}; restore the folder from a backup, or start without them: tellwhen serve --accept-loss"
            )
        log.warning("tellwhen: %s; starting without them", loss)

    @property
    def last_number(self) -> int:
        """The number of the last record."""
        return self._next_number - 1

    @property
    def failure(self) -> str | None:
        """The reason why no record can be written any more; None if the journal is writable."""
        return None if self._failure is None else f"the log cannot be written: {self._failure.strerror}"

    @property
    def is_file_deleted(self) -> bool:
        """Whether the open file of the journal was deleted."""
        return os.fstat(self._descriptor).st_nlink == 0

    def iter_records(self, after: int) -> Iterator[Record]:
        """Yield all records with higher numbers than `after`."""
        for file in _list_files(self._folder):
            for first, body in _iter_frames(file):
                for offset, line in enumerate(body.split(b"\n")):
                    if first + offset > after:
                        yield Record(first + offset, line)

    def append(self, bodies: Sequence[bytes]) -> int:
        """Write records and sync them to the disk; return the number of the first record.

        An `OSError` leaves the journal as it was. More records can be appended unless the journal has a `failure`.
        """
        if self._failure is None and self.is_file_deleted:
            self._failure = FileNotFoundError(errno.ENOENT, "its file was deleted")
        if self._failure is not None:
            raise self._failure
        payload = b"\n".join(bodies)
        first = self._next_number
        frame = HEAD.pack(MAGIC, len(payload), _checksum(first, payload), first) + payload
        try:
            view = memoryview(frame)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._truncate(error)
            raise
        self.size_bytes += len(frame)
        self._next_number += len(bodies)
        self._acknowledged.record(self.last_number)
        return first

    def _truncate(self, error: OSError) -> None:
        """Remove a half-written frame. If that fails, refuse later writes: a frame after a torn one is damage."""
        try:
            os.ftruncate(self._descriptor, self.size_bytes)
            os.fsync(self._descriptor)
        except OSError:
            self._failure = error

    def rotate(self) -> None:
        """Begin a new file and delete the others. Call this when all their changes are in a snapshot."""
        file = self._folder / f"log-{self._next_number:020d}"
        if file == self._file and file.exists():
            return  # the current file is empty
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            sync_folder(self._folder)
        except BaseException:  # later changes go to the previous file, so the empty new file must not stay
            file.unlink()
            os.close(descriptor)
            raise
        os.close(self._descriptor)
        self._file, self._descriptor, self.size_bytes = file, descriptor, 0
        for old in _list_files(self._folder):
            if old != file:
                old.unlink()

    def close(self) -> None:
        os.close(self._descriptor)
        self._acknowledged.close()


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if FILE_NAME.fullmatch(path.name))


def _first_number(file: Path) -> int:
    return int(file.name.removeprefix("log-"))


def _checksum(first: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(first.to_bytes(8, "little")))


def _parse_frame(data: bytes, position: int) -> tuple[int, bytes] | None:
    """Return the first number and the records of the frame at a position; None if there is no intact frame."""
    if len(data) - position < HEAD.size:
        return None
    magic, length, checksum, first = HEAD.unpack_from(data, position)
    payload = data[position + HEAD.size : position + HEAD.size + length]
    if magic != MAGIC or len(payload) < length or checksum != _checksum(first, payload):
        return None
    return first, payload


def _iter_frames(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first record and the records of each frame; stop at the first damaged frame."""
    data, position = file.read_bytes(), 0
    while (frame := _parse_frame(data, position)) is not None:
        yield frame
        position += HEAD.size + len(frame[1])


def _repair(file: Path, is_last: bool) -> list[Frame]:
    """Return the intact frames; move the torn tail of the last file to a `torn-` file."""
    data, end, frames = file.read_bytes(), 0, []
    while (frame := _parse_frame(data, end)) is not None:
        end += HEAD.size + len(frame[1])
        frames.append(Frame(frame[0], frame[1].count(b"\n") + 1))
    tail = data[end:]
    if tail:
        candidates = (match.start() for match in re.finditer(re.escape(MAGIC), tail))
        if not is_last or any(_parse_frame(tail, position) is not None for position in candidates):
            raise FormatError(
                f"{file} is damaged at byte {end}, and intact changes follow; restore the folder from a backup, or "
                "start without the changes in this file: move it away, and run tellwhen serve --accept-loss"
            )
        torn = file.with_name(f"torn-{file.name}-{end}")
        torn.write_bytes(tail)
        with file.open("r+b") as shortened:
            shortened.truncate(end)
            os.fsync(shortened.fileno())
        log.warning(
            "tellwhen: %s ended with an incomplete change; its %d bytes were moved to %s",
            file,
            len(tail),
            torn,
        )
    return frames
