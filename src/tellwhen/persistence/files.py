"""Arrays in files: a file has the bytes of an array; the manifest has its type, shape and checksum.

After a small change of an index, most of its arrays are unchanged, or have grown at their end. The old file of such an
array is not written again: it is linked into the new directory, and the new bytes are appended. A reader of the older
manifest reads only the length in that manifest.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tellwhen.errors import FormatError

FileEntry = Mapping[str, Any]
"""The entry of a file in the manifest: `dtype`, `shape`, `bytes` and `crc32`."""

BYTES_PER_READ = 1 << 22
BYTES_PER_WRITE_MAX = 1 << 30


def write_array(file: Path, array: np.ndarray, durable: bool) -> dict[str, Any]:
    """Write an array to a new file; return its entry."""
    data = _view_bytes(array)
    with file.open("xb") as out:  # never to an existing file, which may be linked into other directories
        _write_bytes(out.fileno(), data, durable)
    return _make_entry(array, zlib.crc32(data))


def link_and_extend(file: Path, array: np.ndarray, old: Path, old_entry: FileEntry) -> dict[str, Any] | None:
    """Link the file to an old file with the first bytes of the array, and append the other bytes; return its entry.

    Return None, and do nothing, if that is impossible:

    - The array does not begin with the content of the old file.
    - The array is longer, and another directory links to the old file: a copy of the index must not grow.
    - The old file is longer than its entry says, because a save that appended to it was killed.
    - The file system has no links.

    No other process may write to the old file meanwhile.
    """
    data = _view_bytes(array)
    length = old_entry["bytes"]
    try:
        status = old.stat()
        if old_entry["dtype"] != _describe_dtype(array) or not 0 < length == status.st_size <= len(data):
            return None
        if len(data) > length and status.st_nlink > 1:
            return None
        if not np.array_equal(np.memmap(old, np.uint8, "r", 0, (length,)), np.frombuffer(data[:length], np.uint8)):
            return None
        os.link(old, file)
    except OSError:
        return None
    if len(data) > length:
        try:
            with file.open("ab") as out:
                _write_bytes(out.fileno(), data[length:], True)
        except BaseException:
            os.truncate(file, length)  # the disk may be full: the old file must stay as it was
            raise
    return _make_entry(array, zlib.crc32(data[length:], old_entry["crc32"]))


def map_array(file: Path, entry: FileEntry, verify: bool) -> np.ndarray:
    """Map the array in a file into memory; raise FormatError if the file does not fit its entry."""
    size, length = file.stat().st_size, entry["bytes"]
    dtype, shape = _parse_dtype(entry["dtype"]), tuple(entry["shape"])
    if size < length or dtype.itemsize * math.prod(shape) != length:
        raise FormatError(f"{file} is damaged: expected {length} bytes, found {size}")
    if verify and _compute_checksum(file, length) != entry["crc32"]:
        raise FormatError(f"{file} is damaged: its checksum is wrong")
    if not length:  # an empty file cannot be mapped
        return np.empty(shape, dtype)
    # Copy-on-write: pages are shared with other processes until this one writes to them. A read-only mapping would be
    # another type to Numba, and compile every kernel twice.
    return np.asarray(np.memmap(file, dtype, "c", 0, shape))


def _view_bytes(array: np.ndarray) -> memoryview:
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _make_entry(array: np.ndarray, crc: int) -> dict[str, Any]:
    return {"dtype": _describe_dtype(array), "shape": list(array.shape), "bytes": array.nbytes, "crc32": crc}


def _describe_dtype(array: np.ndarray) -> Any:
    """Return the dtype as JSON: a str or, for a record, a list of fields."""
    description = np.lib.format.dtype_to_descr(array.dtype)
    return description if isinstance(description, str) else [list(field) for field in description]


def _parse_dtype(description: Any) -> np.dtype[Any]:
    is_record = isinstance(description, list)
    return np.lib.format.descr_to_dtype([tuple(field) for field in description] if is_record else description)


def _write_bytes(descriptor: int, data: memoryview, durable: bool) -> None:
    while data:
        data = data[os.write(descriptor, data[:BYTES_PER_WRITE_MAX]) :]
    if durable:
        os.fsync(descriptor)


def _compute_checksum(file: Path, length: int) -> int:
    crc = 0
    with file.open("rb") as source:
        while length and (block := source.read(min(BYTES_PER_READ, length))):
            crc = zlib.crc32(block, crc)
            length -= len(block)
    return crc
