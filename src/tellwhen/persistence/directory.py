"""How do named arrays become a directory that is whole or absent?

    idx/manifest.json            format, checksums, and what is not an array
    idx/data-<hex>/*             the arrays, mapped into memory when loaded (`files.py`)

Saving makes a new data directory and then renames a new manifest over the old one: a kill at any moment leaves the
previous index in place. What the old directory has already is linked into the new one. Any number of threads and
processes may save and load at the same time. Those that save wait for each other, and the last one wins; those that
load get one of the indexes, whole.
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
MANIFEST = "manifest.json"
DATA = re.compile("data-[0-9a-f]{32}")
UNFINISHED = re.compile("manifest.json.[0-9a-f]{32}")
"""A manifest that was not renamed yet when its process was killed."""

Parts = Mapping[str, Mapping[str, np.ndarray]]
"""Arrays by part and name."""


def save(
    path: str | os.PathLike[str], parts: Parts, meta: Mapping[str, Any], *, make: bool = True, durable: bool = True
) -> None:
    """Write the arrays and the JSON-able `meta`; replaces an index that is there.

    With `make=False` the directory must exist: it is not created again after another process has deleted it. With
    `durable=False` the arrays may be lost when the machine crashes: for files that are soon read back and deleted.
    """
    root = resolve_path(path)
    if make:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise FormatError(f"{root} is a file, or lies below one; choose another path") from None
    with _locked(root) as is_locked:
        if any(root.iterdir()) and not _is_ours(root):
            raise FormatError(f"{root} exists and is not a saved index; choose another path")
        old, known = _in_use(root)
        if not is_locked:
            known = {}  # another process may be appending to the same files
        data = root / f"data-{uuid.uuid4().hex}"
        described = _write_arrays(data, parts, durable, old, known)
        write_checked(root / MANIFEST, {"data": data.name, "files": described, "meta": meta}, FORMAT)
        for path in root.iterdir():
            # Without the lock, what is not in use may be what another process is writing.
            if path != data and _is_part(path) and (is_locked or path == old):
                _delete(path)


@contextmanager
def _locked(root: Path) -> Iterator[bool]:
    """Only one saves to a directory at a time. Gives False where the file system has no locks for directories."""
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
    data: Path, parts: Parts, durable: bool, old: Path | None, known: Mapping[str, files.Facts]
) -> dict[str, files.Facts]:
    """Make a new data directory, with the `known` files of the old one where they serve; returns the facts by file."""
    data.mkdir()
    described: dict[str, files.Facts] = {}
    try:
        for part, named in parts.items():
            for name, array in named.items():
                file = f"{part}.{name}"
                facts = files.extend(data / file, array, old / file, known[file]) if old and file in known else None
                described[file] = facts or files.write(data / file, array, durable)
        if durable:
            sync_folder(data)
        return described
    except BaseException:
        _delete(data)
        raise


def load(path: str | os.PathLike[str], verify: bool = True) -> tuple[dict[str, dict[str, np.ndarray]], Any]:
    """The arrays, memory-mapped, by part and name, and the meta; every byte is checked first, if `verify`."""
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
        return read_checked(root / MANIFEST, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        served = "; a service keeps its indexes in tenants/<name>/index" if (root / "tenants").is_dir() else ""
        raise FormatError(f"there is no index in {root}: {MANIFEST} is missing{served}") from None


def read_checked(file: Path, version: int) -> dict[str, Any]:
    """JSON that `write_checked` wrote, if it is whole and of this version of its format."""
    try:
        body: dict[str, Any] = json.loads(file.read_bytes())
        found, crc = body["format"], body.pop("crc32")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IsADirectoryError):
        raise FormatError(f"{file} is damaged") from None
    # The version first: the checksum of another format may well be another one.
    if isinstance(found, int) and found > version:
        raise FormatError(f"{file} has format {found}, this tellwhen reads format {version}; upgrade to read it")
    if isinstance(found, int) and found < version:
        raise FormatError(
            f"{file} has format {found} of an older tellwhen, this one reads format {version}; "
            "save or build the index again"
        )
    if crc != _body_checksum(body):
        raise FormatError(f"{file} is damaged: its checksum is wrong")
    del body["format"]
    return body


def write_checked(file: Path, body: Mapping[str, Any], version: int) -> None:
    """Write JSON with a checksum, whole or not at all; replaces a file that is there."""
    body = {"format": version, **body}
    _replace(file, json.dumps({**body, "crc32": _body_checksum(body)}, indent=1))


def _load_arrays(data: Path, described: Mapping[str, Any], verify: bool) -> dict[str, dict[str, np.ndarray]]:
    parts: dict[str, dict[str, np.ndarray]] = {}
    for key, facts in described.items():
        part, name = key.split(".", 1)
        parts.setdefault(part, {})[name] = files.mapped(data / key, facts, verify)
    return parts


def _body_checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _replace(file: Path, text: str) -> None:
    unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex}")  # of its own: others may replace the same file
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
    """What was made or deleted in a folder stays so."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_part(path: Path) -> bool:
    """A data directory, or an unfinished manifest."""
    return bool(DATA.fullmatch(path.name) or UNFINISHED.fullmatch(path.name))


def _in_use(root: Path) -> tuple[Path | None, Mapping[str, files.Facts]]:
    """The data directory that the manifest names, and the facts of its files; nothing if there is no good manifest."""
    try:
        manifest = _read_manifest(root)
    except FormatError:
        return None, {}
    return root / manifest["data"], manifest["files"]


def _is_ours(root: Path) -> bool:
    """Is it a saved index, damaged or not, or what a first save left behind when it was killed?"""
    try:
        manifest = json.loads((root / MANIFEST).read_bytes())
    except FileNotFoundError:
        # The first manifest may have come meanwhile, where there are no locks.
        return all(_is_part(path) or path.name == MANIFEST for path in root.iterdir())
    except (ValueError, RecursionError):
        return any(DATA.fullmatch(path.name) for path in root.iterdir())
    return isinstance(manifest, dict) and {"format", "crc32"} <= manifest.keys()
