"""How does a new version come about, whole or not at all, and when do old ones go away?

A build writes into a staging directory that it holds a lock on. `commit` moves what it made into the index, writes the
version's file, and replaces `current.json`; then it deletes what no version needs any more.
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
from tellwhen.persistence.directory import write_checked
from tellwhen.warehouse.leases import lease_file, versions_in_use
from tellwhen.warehouse.versions import (
    FORMAT,
    Head,
    Version,
    current,
    last_committed,
    located,
    quarantine_folder,
    read_version,
    version_file,
    version_numbers,
    write_head,
)

log = logging.getLogger("tellwhen.spark")

OWN_NAME = re.compile("(dictionary|routing|shard|staging|dead)-[0-9a-f]{32}")
STALE_SECONDS = 3600
"""A staging directory without a lock file is taken for dead after this time."""

QUARANTINE = "quarantine"
"""The folder in a staging directory for rows that are not applied."""


def fresh(folder: Path, kind: str) -> Path:
    """A new directory with a name of its own. Fails where the folder is gone: then its build has ended."""
    directory = folder / f"{kind}-{uuid.uuid4().hex}"
    directory.mkdir()
    return directory


@contextmanager
def staging(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory to build in. It is deleted at the end; one of a killed build is deleted at the next commit."""
    root = located(path)
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not (root / "lock").exists())):
        raise FormatError(f"{root} exists and is not an index; choose another path")
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):  # until the directory has its own lock: without one it would be taken for dead
        directory = fresh(root, "staging")
        held = (directory / "lock").open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        # Renamed first: tasks that outlive a failed build find nowhere to write to.
        dead = root / directory.name.replace("staging", "dead")
        directory.rename(dead)
        held.close()
        shutil.rmtree(dead, ignore_errors=True)


def started_from(root: Path) -> int | None:
    """The current version, for `commit`; None where there is none that can be read."""
    try:
        return current(root)
    except FormatError:
        return None


def commit(staged: Path, version: Version, base: int | None, keep: int) -> Version:
    """Move what was staged into the index and make it the current version; `keep` older ones stay for `rollback`.

    `base` was the current version at the start. If another one is current by now, nothing happens but a ConflictError.
    """
    root = staged.parent
    with _locked(root / "lock"):
        if started_from(root) != base:
            raise ConflictError(f"version {current(root)} of {root} has become the current one meanwhile; try again")
        # Only what the version names: a task that was run twice has left a shard that nobody needs.
        for name in [version.dictionary, version.routing, *(shard.name for shard in version.shards)]:
            if (staged / name).exists():
                (staged / name).rename(root / name)
        (root / "versions").mkdir(exist_ok=True)
        last = last_committed(root)
        if base is not None:
            write_head(root, Head(base, last))  # an older tellwhen has not noted `last`
        number = last + 1  # a commit that was killed may have left this number's file and quarantine behind
        shutil.rmtree(quarantine_folder(root, number), ignore_errors=True)
        if version.quarantined:
            (root / QUARANTINE).mkdir(exist_ok=True)
            (staged / QUARANTINE).rename(quarantine_folder(root, number))
        write_checked(
            version_file(root, number),
            asdict(version) | {"version": number, "schema": version.schema.as_json()},
            FORMAT,
        )
        write_head(root, Head(number, number))
        try:
            _clean(root, keep, base)
        except FormatError as error:  # an older version cannot be read: its shards are unknown, so nothing is deleted
            log.warning("nothing was cleaned up: %s", error)
    return read_version(root, number)


def rollback(path: str | os.PathLike[str], version: int) -> Version:
    """Make an earlier version the current one."""
    root = located(path)
    current(root)  # an error where there is no index, before a lock is made in somebody else's folder
    with _locked(root / "lock"):
        found = read_version(root, version)
        write_head(root, Head(found.version, last_committed(root)))
    return found


def _clean(root: Path, keep: int, base: int | None) -> None:
    """Delete versions except the current one, its base, those in use and the last `keep`; then what only they used."""
    older = [number for number in version_numbers(root) if number < current(root)]
    needed = versions_in_use(root) | ({base} if base is not None and keep else set())
    for number in older[: max(0, len(older) - keep)]:
        if number not in needed:
            version_file(root, number).unlink(missing_ok=True)
            lease_file(root, number).unlink(missing_ok=True)
    used = set()
    for number in version_numbers(root):
        version = read_version(root, number)
        used |= {version.dictionary, version.routing, *(shard.name for shard in version.shards)}
    for entry in root.iterdir():
        # Shards and dictionaries are moved here under the lock that is held now, so the unused ones are nobody's.
        if OWN_NAME.fullmatch(entry.name) and entry.name not in used and not _is_staged_in(entry):
            shutil.rmtree(entry, ignore_errors=True)


def _is_staged_in(entry: Path) -> bool:
    """Does a build that is alive hold the lock of this staging directory?"""
    if not entry.name.startswith("staging"):
        return False
    try:
        with (entry / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        # It has just been made, unless its build was killed at that very moment.
        return not entry.exists() or entry.stat().st_mtime > time.time() - STALE_SECONDS
    except OSError:
        return True


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
