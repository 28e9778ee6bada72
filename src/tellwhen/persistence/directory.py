"""A saved index: a directory of arrays with a manifest, which is either complete or absent.

    idx/manifest.json            format, checksums, and the metadata
    idx/data-<hex>/*             the arrays, mapped into memory when loaded (`files.py`)

A save makes a new data directory and then renames a new manifest over the old one: if the process is killed at any
moment, the previous index stays. Files of unchanged arrays are hard-linked from the old directory into the new one. Any
number of threads and processes may save and load at the same time. Saves wait for each other, and the last one wins. A
load gets one of the indexes, never a mixture.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tellwhen.errors import FormatError
from tellwhen.persistence import files
from tellwhen.persistence.paths import resolve_path

FORMAT = 6
"""Version of the format. A reader accepts only its own."""

MANIFEST = "manifest.json"
DATA_NAME = re.compile("data-[0-9a-f]{32}")
UNFINISHED_NAME = re.compile("manifest.json.[0-9a-f]{32}")
"""Name of a manifest whose process was killed before it was renamed."""

Parts = Mapping[str, Mapping[str, np.ndarray]]
"""Arrays by part and name."""


def save(
    path: str | os.PathLike[str], parts: Parts, meta: Mapping[str, Any], *, make: bool = True, durable: bool = True
) -> None:
    """Save arrays and metadata; replace the index in the directory, if any.

    Parameters
    ----------
    path
        The directory.
    parts
        Arrays by part and name.
    meta
        Any JSON.
    make
        Create the directory if necessary. With False it must exist: another process may have deleted it on purpose.
    durable
        Sync the files. With False they may be lost when the machine crashes: for files that are soon read and deleted.

    Raises
    ------
    FormatError
        If the path is a file, or a directory with other files.
    """
    root = resolve_path(path)
    if make:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise FormatError(f"expected a folder, found a file at or above {root}; choose another path") from None
    with _lock_directory(root) as is_locked:
        if any(root.iterdir()) and not _is_index(root):
            raise FormatError(f"{root} exists and is not a saved index; choose another path")
        old, known_entries = _read_current_data(root)
        if not is_locked:
            known_entries = {}  # another process may be appending to the same files
        data = root / f"data-{uuid.uuid4().hex}"
        entries = _write_arrays(data, parts, durable, old, known_entries)
        write_json_file(root / MANIFEST, {"data": data.name, "files": entries, "meta": meta}, FORMAT)
        for path in root.iterdir():
            # Without the lock, another process may be writing a directory that no manifest names yet.
            if path != data and _is_own_file(path) and (is_locked or path == old):
                _delete(path)


@contextmanager
def _lock_directory(root: Path) -> Iterator[bool]:
    """Wait for other saves and lock the directory; yield False if the file system cannot lock directories."""
    directory = os.open(root, os.O_RDONLY)
    is_locked = False
    try:
        with suppress(OSError):
            fcntl.flock(directory, fcntl.LOCK_EX)
            is_locked = True
        yield is_locked
    finally:
        if is_locked:
            fcntl.flock(directory, fcntl.LOCK_UN)  # closing is not enough when a forked process has a copy
        os.close(directory)


def _write_arrays(
    data: Path, parts: Parts, durable: bool, old: Path | None, known_entries: Mapping[str, files.FileEntry]
) -> dict[str, files.FileEntry]:
    """Make a new data directory, with links to files of the old one if possible; return the entries by file."""
    data.mkdir()
    entries: dict[str, files.FileEntry] = {}
    try:
        for part, named in parts.items():
            for name, array in named.items():
                file = f"{part}.{name}"
                entry = None
                if old and file in known_entries:
                    entry = files.link_and_extend(data / file, array, old / file, known_entries[file])
                entries[file] = entry or files.write_array(data / file, array, durable)
        if durable:
            sync_folder(data)
        return entries
    except BaseException:
        _delete(data)
        raise


def load(path: str | os.PathLike[str], verify: bool = True) -> tuple[dict[str, dict[str, np.ndarray]], Any]:
    """Load the arrays by part and name, mapped into memory, and the metadata.

    With `verify`, the checksum of every file is computed, which reads all bytes.

    Raises
    ------
    FormatError
        If there is no index, or the index is damaged, incomplete or of another format.
    """
    root = resolve_path(path)
    while True:
        body = _read_manifest(root)
        try:
            return _load_arrays(root / body["data"], body["files"], verify), body["meta"]
        except FileNotFoundError as error:
            # Another thread or process may have saved between the manifest and the arrays.
            if _read_manifest(root)["data"] == body["data"]:
                raise FormatError(f"{error.filename} is missing; the index in {root} is incomplete") from None


def read_note(path: str | os.PathLike[str]) -> Any:
    """Return the note that `Index.save` stored in a directory; None without a note."""
    return _read_manifest(resolve_path(path))["meta"].get("note")


def _read_manifest(root: Path) -> dict[str, Any]:
    try:
        return read_json_file(root / MANIFEST, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        if root.is_file():
            raise FormatError(f"{root} is a file; pass the directory of an index") from None
        if not root.is_dir():
            raise FormatError(f"there is no directory {root}") from None
        hint = "; the indexes of a service are in tenants/<name>/index" if (root / "tenants").is_dir() else ""
        raise FormatError(f"there is no index in {root}: {MANIFEST} is missing{hint}") from None


def read_json_file(file: Path, version: int) -> dict[str, Any]:
    """Return the JSON that `write_json_file` wrote; raise FormatError if it is damaged or of another format version."""
    try:
        body: dict[str, Any] = json.loads(file.read_bytes())
        found, crc = body["format"], body.pop("crc32")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IsADirectoryError):
        raise FormatError(f"{file} is damaged") from None
    # The version first: another format may compute the checksum in another way.
    if isinstance(found, int) and found > version:
        raise FormatError(f"{file} has format {found}, this tellwhen reads format {version}; upgrade to read it")
    if isinstance(found, int) and found < version:
        raise FormatError(
            f"{file} has format {found} of an older tellwhen, this one reads format {version}; "
            "save or build the index again"
        )
    if crc != _compute_body_checksum(body):
        raise FormatError(f"{file} is damaged: its checksum is wrong")
    del body["format"]
    return body


def write_json_file(file: Path, body: Mapping[str, Any], version: int) -> None:
    """Write JSON with a checksum; replace the file, if any. If the process is killed, the previous file stays."""
    body = {"format": version, **body}
    _replace_file(file, json.dumps({**body, "crc32": _compute_body_checksum(body)}, indent=1))


def _load_arrays(data: Path, entries: Mapping[str, Any], verify: bool) -> dict[str, dict[str, np.ndarray]]:
    parts: dict[str, dict[str, np.ndarray]] = {}
    for key, entry in entries.items():
        part, name = key.split(".", 1)
        parts.setdefault(part, {})[name] = files.map_array(data / key, entry, verify)
    return parts


def _compute_body_checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _replace_file(file: Path, text: str) -> None:
    unfinished = file.with_name(
        f"{file.name}.{uuid.uuid4().hex}"
    )  # a unique name: other threads may replace the same file
    try:
        with unfinished.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    sync_folder(file.parent)


def sync_folder(directory: Path) -> None:
    """Sync a directory, so that files that were created or deleted in it stay so after a crash of the machine."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_own_file(path: Path) -> bool:
    """Return whether a path is a data directory or an unfinished manifest."""
    return bool(DATA_NAME.fullmatch(path.name) or UNFINISHED_NAME.fullmatch(path.name))


def _read_current_data(root: Path) -> tuple[Path | None, Mapping[str, files.FileEntry]]:
    """Return the data directory in the manifest and the entries of its files; (None, {}) without an intact manifest."""
    try:
        manifest = _read_manifest(root)
    except FormatError:
        return None, {}
    return root / manifest["data"], manifest["files"]


def _is_index(root: Path) -> bool:
    """Return whether a directory is a saved index, which may be damaged, or the remains of a save that was killed."""
    try:
        manifest = json.loads((root / MANIFEST).read_bytes())
    except FileNotFoundError:
        # Without locks, another process may have written the first manifest meanwhile.
        return all(_is_own_file(path) or path.name == MANIFEST for path in root.iterdir())
    except (ValueError, RecursionError):
        return any(DATA_NAME.fullmatch(path.name) for path in root.iterdir())
    return isinstance(manifest, dict) and {"format", "crc32"} <= manifest.keys()
