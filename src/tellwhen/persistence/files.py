"""How is an array kept in a file? As its bytes; its type and shape are in the manifest, with a checksum.

Most arrays of an index that has changed a little are as they were, or have grown at their end. A file that begins with
what is to be saved already is not written again: it is linked, and what is missing is appended to it. Whoever reads by
the older manifest does not look beyond the length that it tells.
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

Facts = Mapping[str, Any]
"""What a manifest tells about a file: `dtype`, `shape`, `bytes` and `crc32`."""

BLOCK = 1 << 22


def write(file: Path, array: np.ndarray, durable: bool) -> dict[str, Any]:
    """Write an array to a new file; returns the facts."""
    data = _bytes(array)
    with file.open("xb") as out:  # never one that is linked
        _put(out.fileno(), data, durable)
    return _facts(array, zlib.crc32(data))


def extend(file: Path, array: np.ndarray, old: Path, known: Facts) -> dict[str, Any] | None:
    """Make a file of what an old one has already; None if the array does not begin with that, or there are no links.

    Nobody else may write to the old one meanwhile. Only what no other directory has is appended to: there may be copies
    by links. A file that is longer than it should be, since a save was killed, is left alone.
    """
    data = _bytes(array)
    length = known["bytes"]
    try:
        found = old.stat()
        if known["dtype"] != _described(array) or not 0 < length == found.st_size <= len(data):
            return None
        if len(data) > length and found.st_nlink > 1:
            return None
        if not np.array_equal(np.memmap(old, np.uint8, "r", 0, (length,)), np.frombuffer(data[:length], np.uint8)):
            return None
        os.link(old, file)
    except OSError:
        return None
    if len(data) > length:
        try:
            with file.open("ab") as out:
                _put(out.fileno(), data[length:], True)
        except BaseException:
            os.truncate(file, length)  # the disk is full: the old one is as it was
            raise
    return _facts(array, zlib.crc32(data[length:], known["crc32"]))


def mapped(file: Path, known: Facts, verify: bool) -> np.ndarray:
    """The array in a file, mapped into memory."""
    size, length = file.stat().st_size, known["bytes"]
    dtype, shape = _dtype(known["dtype"]), tuple(known["shape"])
    if size < length or dtype.itemsize * math.prod(shape) != length:
        raise FormatError(f"{file} has {size} bytes and should have {length}")
    if verify and _checksum(file, length) != known["crc32"]:
        raise FormatError(f"{file} is damaged: its checksum is wrong")
    if not length:  # cannot be mapped
        return np.empty(shape, dtype)
    # Copy-on-write: pages are shared with other processes until this one writes to them. A read-only mapping would be
    # another type to Numba, and compile every kernel twice.
    return np.asarray(np.memmap(file, dtype, "c", 0, shape))


def _bytes(array: np.ndarray) -> memoryview:
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _facts(array: np.ndarray, crc: int) -> dict[str, Any]:
    return {"dtype": _described(array), "shape": list(array.shape), "bytes": array.nbytes, "crc32": crc}


def _described(array: np.ndarray) -> Any:
    """The type of an array as JSON: text, or lists for a record."""
    described = np.lib.format.dtype_to_descr(array.dtype)
    return described if isinstance(described, str) else [list(field) for field in described]


def _dtype(described: Any) -> np.dtype[Any]:
    is_record = isinstance(described, list)
    return np.lib.format.descr_to_dtype([tuple(field) for field in described] if is_record else described)


def _put(descriptor: int, data: memoryview, durable: bool) -> None:
    while data:
        data = data[os.write(descriptor, data[: 1 << 30]) :]
    if durable:
        os.fsync(descriptor)


def _checksum(file: Path, length: int) -> int:
    crc = 0
    with file.open("rb") as source:
        while length and (block := source.read(min(BLOCK, length))):
            crc = zlib.crc32(block, crc)
            length -= len(block)
    return crc
