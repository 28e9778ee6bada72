"""Commits of new versions, whole or not at all, and the removal of old versions.

A build writes to a staging folder and holds a lock on it. `commit` moves the new folders into the index, writes the
file of the version, and replaces `current.json`. Then it deletes the folders that no version needs any more.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tellwhen.errors import ConflictError, FormatError
from tellwhen.persistence.directory import write_json_file
from tellwhen.warehouse.leases import find_versions_in_use, get_lease_file
from tellwhen.warehouse.versions import (
    FORMAT,
    Head,
    Version,
    get_quarantine_folder,
    get_version_file,
    list_version_numbers,
    locate_index,
    read_current_number,
    read_last_number,
    read_version,
    write_head,
)

log = logging.getLogger("tellwhen.spark")

MANAGED_NAME = re.compile("(dictionary|routing|shard|staging|dead)-[0-9a-f]{32}")
"""Names of the folders that builds make and commits delete."""

STAGING_EXPIRY_SECONDS = 3600
"""A staging folder without a lock file belongs to a killed build if it is older than this."""

QUARANTINE = "quarantine"
"""Folder for the rows of an update that cannot be applied, in the index and in a staging folder."""


def make_folder(folder: Path, kind: str) -> Path:
    """Make a folder with a unique name; raise FileNotFoundError if the parent is gone because its build has ended."""
    made = folder / f"{kind}-{uuid.uuid4().hex}"
    made.mkdir()
    return made


@contextmanager
def open_staging(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a staging folder and delete it at the end; the next commit deletes that of a killed build."""
    root = locate_index(path)
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not (root / "lock").exists())):
        raise FormatError(f"{root} exists and is not an index; choose another path")
    root.mkdir(parents=True, exist_ok=True)
    with _lock(root / "lock"):  # until the folder has its own lock: a commit would delete a folder without one
        staged = make_folder(root, "staging")
        lock_file = (staged / "lock").open("w")
        fcntl.flock(lock_file, fcntl.LOCK_EX)
    try:
        yield staged
    finally:
        # Renamed first, so that tasks that outlive a failed build find no folder to write to.
        dead = root / staged.name.replace("staging", "dead")
        staged.rename(dead)
        lock_file.close()
        shutil.rmtree(dead, ignore_errors=True)


def find_base_version(root: Path) -> int | None:
    """Return the number of the current version for `commit`; None if there is no readable one."""
    try:
        return read_current_number(root)
    except FormatError:
        return None


def commit(staged: Path, version: Version, base: int | None, keep: int) -> Version:
    """Move the staged folders into the index and make `version` the current one; `keep` older ones stay for `rollback`.

    `base` is the version that was current when the build started. Raise ConflictError, and change nothing, if another
    version has become current since then.
    """
    root = staged.parent
    with _lock(root / "lock"):
        if find_base_version(root) != base:
            current = read_current_number(root)
            raise ConflictError(f"version {current} of {root} has become the current one meanwhile; try again")
        # Only the folders that the version names: a task that ran twice has left a shard that nobody needs.
        for name in [version.dictionary, version.routing, *(shard.name for shard in version.shards)]:
            if (staged / name).exists():
                (staged / name).rename(root / name)
        (root / "versions").mkdir(exist_ok=True)
        last = read_last_number(root)
        if base is not None:
            write_head(root, Head(base, last))  # an older tellwhen has not written `last`
        number = last + 1  # a commit that was killed may have left this number's file and quarantine behind
        shutil.rmtree(get_quarantine_folder(root, number), ignore_errors=True)
        if version.quarantined:
            (root / QUARANTINE).mkdir(exist_ok=True)
            (staged / QUARANTINE).rename(get_quarantine_folder(root, number))
        write_json_file(
            get_version_file(root, number),
            asdict(version) | {"version": number, "schema": version.schema.as_json()},
            FORMAT,
        )
        write_head(root, Head(number, number))
        try:
            _clean(root, keep, base)
        except FormatError as error:  # an older version cannot be read: its shards are unknown, so nothing is deleted
            log.warning("the folders of old versions were not deleted: %s", error)
    return read_version(root, number)


def rollback(path: str | os.PathLike[str], version: int) -> Version:
    """Make an earlier version the current one.

    Parameters
    ----------
    path
        The folder of the index, or its `file:` URL.
    version
        The number of a version that `list_versions` lists.

    Returns
    -------
    Version
        The version that is current now.

    Raises
    ------
    FormatError
        If there is no index at `path`, or the index does not have this version.
    """
    root = locate_index(path)
    read_current_number(root)  # an error where there is no index, before a lock is made in somebody else's folder
    with _lock(root / "lock"):
        restored = read_version(root, version)
        write_head(root, Head(restored.version, read_last_number(root)))
    return restored


def _clean(root: Path, keep: int, base: int | None) -> None:
    """Delete versions except the current one, `base`, those in use and the last `keep`; then unused folders."""
    older = [number for number in list_version_numbers(root) if number < read_current_number(root)]
    needed = find_versions_in_use(root) | ({base} if base is not None and keep else set())
    for number in older[: max(0, len(older) - keep)]:
        if number not in needed:
            get_version_file(root, number).unlink(missing_ok=True)
            get_lease_file(root, number).unlink(missing_ok=True)
    used = set()
    for number in list_version_numbers(root):
        version = read_version(root, number)
        used |= {version.dictionary, version.routing, *(shard.name for shard in version.shards)}
    for entry in root.iterdir():
        # Builds move shards and dictionaries here under the lock that is held now, so an unused one belongs to nobody.
        if MANAGED_NAME.fullmatch(entry.name) and entry.name not in used and not _has_running_build(entry):
            shutil.rmtree(entry, ignore_errors=True)


def _has_running_build(entry: Path) -> bool:
    """Return whether a running build holds the lock of this staging folder."""
    if not entry.name.startswith("staging"):
        return False
    try:
        with (entry / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        # The folder is new, unless its build was killed before it made the lock file.
        return not entry.exists() or entry.stat().st_mtime > time.time() - STAGING_EXPIRY_SECONDS
    except OSError:
        return True


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
