"""Named arrays <-> a directory that is whole or not there.

    idx/manifest.json            format, checksums, and what is not an array
    idx/data-<version>/*.npy     the arrays, mapped into memory when loaded

Saving writes a new data directory aside and then renames a new manifest over the old one: a kill at any moment leaves
the previous index in place. One process saves to a directory at a time; any number may load.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tellwhen.errors import FormatError

FORMAT = 1
MANIFEST = "manifest.json"
DATA = re.compile("data-[0-9a-f]{32}")


Parts = Mapping[str, Mapping[str, np.ndarray]]
"""Arrays by part and name."""


def save(
    path: str | os.PathLike[str], parts: Parts, meta: Mapping[str, Any], *, make: bool = True, durable: bool = True
) -> None:
    """Write the arrays and the JSON-able `meta`; replaces an index that is there.

    With `make=False` the directory must be there already; one that was taken away is not made again. With
    `durable=False` the arrays may be lost when the machine crashes: for files that are read back soon and then deleted.
    """
    root = Path(path)
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not _is_ours(root))):
        raise FormatError(f"{root} exists and is not a saved index; choose another place")
    if make:
        root.mkdir(parents=True, exist_ok=True)
    data = root / f"data-{uuid.uuid4().hex}"
    data.mkdir()
    files = {}
    arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
    for name, array in arrays.items():
        file = data / f"{name}.npy"
        with file.open("wb") as out:
            np.save(out, np.ascontiguousarray(array), allow_pickle=False)
            out.flush()
            if durable:
                os.fsync(out.fileno())
        files[name] = {"bytes": file.stat().st_size, "crc32": _checksum(file)}
    write_checked(root / MANIFEST, {"data": data.name, "files": files, "meta": meta}, FORMAT)
    for old in root.iterdir():
        if DATA.fullmatch(old.name) and old != data:
            shutil.rmtree(old, ignore_errors=True)


def load(path: str | os.PathLike[str], verify: bool = True) -> tuple[dict[str, dict[str, np.ndarray]], Any]:
    """The arrays, memory-mapped, by part and name, and the meta; every byte is checked first, if `verify`."""
    root = Path(path)
    while True:
        body = _read_manifest(root)
        try:
            return _load_arrays(root / body["data"], body["files"], verify), body["meta"]
        except FileNotFoundError as error:
            # Another process may have saved between the manifest and the arrays.
            if _read_manifest(root)["data"] == body["data"]:
                raise FormatError(f"{error.filename} is missing; the index in {root} is incomplete") from None


def _read_manifest(root: Path) -> dict[str, Any]:
    try:
        return read_checked(root / MANIFEST, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"there is no index in {root}: {MANIFEST} is missing") from None


def read_checked(file: Path, newest: int) -> dict[str, Any]:
    """JSON that `write_checked` wrote, if it is whole and of a format that is known here."""
    try:
        body: dict[str, Any] = json.loads(file.read_bytes())
        version, crc = body["format"], body.pop("crc32")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError(f"{file} is damaged") from None
    # The version first: a newer format may well be checked in another way.
    if isinstance(version, int) and version > newest:
        raise FormatError(f"{file} has format {version}, this tellwhen reads up to {newest}; upgrade to read it")
    if crc != _body_checksum(body):
        raise FormatError(f"{file} is damaged: its checksum is wrong")
    del body["format"]
    return body


def write_checked(file: Path, body: Mapping[str, Any], version: int) -> None:
    """JSON with a checksum, whole or not there."""
    body = {"format": version, **body}
    _replace(file, json.dumps({**body, "crc32": _body_checksum(body)}, indent=1))


def _load_arrays(data: Path, files: Mapping[str, Any], verify: bool) -> dict[str, dict[str, np.ndarray]]:
    parts: dict[str, dict[str, np.ndarray]] = {}
    for name, facts in files.items():
        file = data / f"{name}.npy"
        size = file.stat().st_size
        if size != facts["bytes"]:
            raise FormatError(f"{file} has {size} bytes and should have {facts['bytes']}")
        if verify and _checksum(file) != facts["crc32"]:
            raise FormatError(f"{file} is damaged: its checksum is wrong")
        # Copy-on-write: pages are shared with other processes until this one writes to them. A read-only mapping
        # would be another type to Numba, and compile every kernel twice.
        part, rest = name.split(".", 1)
        parts.setdefault(part, {})[rest] = np.asarray(np.load(file, mmap_mode="c", allow_pickle=False))
    return parts


def _checksum(file: Path) -> int:
    crc = 0
    with file.open("rb") as source:
        while block := source.read(1 << 22):
            crc = zlib.crc32(block, crc)
    return crc


def _body_checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _replace(file: Path, text: str) -> None:
    aside = file.with_suffix(".new")
    with aside.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    aside.replace(file)
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _is_ours(root: Path) -> bool:
    """A saved index, damaged or not, or what a first save left behind when it was killed."""
    try:
        manifest = json.loads((root / MANIFEST).read_bytes())
    except FileNotFoundError:
        return all(DATA.fullmatch(p.name) or p.name == "manifest.new" for p in root.iterdir())
    except (ValueError, RecursionError):
        return any(DATA.fullmatch(p.name) for p in root.iterdir())
    return isinstance(manifest, dict) and {"format", "crc32"} <= manifest.keys()
