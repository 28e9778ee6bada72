"""Which versions are in use, and must stay although newer ones have been committed?

A *lease* is a file that whoever matches with a version touches. A *pin* is the version that all tasks of a query or of
a micro-batch agree on; of a stream, the last batch may be run again, and needs the same version then.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

from tellwhen.warehouse.versions import current

LEASE_SECONDS = 3600
"""A version stays for an hour after its last use, however many have been committed since."""

PIN_SECONDS = 7 * 24 * 3600
"""The version of the last batch of a stream stays for a week, should that batch be run again."""

QUERY = "query-"
"""Names of pins of queries that are not streams begin like this."""

NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors that mean that the process may read a folder, but not write to it."""

PINNED_BATCHES = 100
"""Batches of a stream whose pins are kept. Only the last one can ever be run again."""


def lease(root: Path, version: int) -> None:
    """The version is in use now."""
    with suppress(OSError):  # a reader without the right to write has to take what is there
        file = lease_file(root, version)
        file.parent.mkdir(exist_ok=True)
        file.touch()


def pin(root: Path, query: str, batch: int) -> int:
    """Return the version of a micro-batch of a stream: the current one at the first call, the same one ever after.

    All tasks of a batch agree on it, and so does the batch when it is run again after a crash. A reader without
    permission to write cannot pin: it gets the current version at every call, so that tasks of a batch may differ
    if a version is committed while the batch runs.
    """
    file = root / "pins" / query / f"{batch:012d}"
    if not file.exists():
        version = current(root)  # before anything is written: there may be no index here
        try:
            _write_pin(file, version)
        except OSError as error:
            if error.errno not in NOT_WRITABLE:
                raise
            return version
        oldest = f"{max(0, batch - PINNED_BATCHES):012d}"
        for old in file.parent.iterdir():
            if old.name < oldest and not old.name.startswith("."):
                old.unlink(missing_ok=True)
    return int(file.read_text())


def _write_pin(file: Path, version: int) -> None:
    """Create the file with the version, unless another task has created it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}-{uuid.uuid4().hex}")
    aside.write_text(str(version))
    try:
        os.link(aside, file)
    except FileExistsError:
        pass  # another task was faster
    finally:
        aside.unlink()


def versions_in_use(root: Path) -> set[int]:
    """The versions with a lease or a pin; pins that have expired are deleted."""
    leased = {int(file.name) for file in (root / "leases").glob("*") if _age(file) <= LEASE_SECONDS}
    return leased | _pinned(root)


def _pinned(root: Path) -> set[int]:
    found = set()
    for pins in (root / "pins").glob("*"):
        if _age(pins) > (LEASE_SECONDS if pins.name.startswith(QUERY) else PIN_SECONDS):
            shutil.rmtree(pins, ignore_errors=True)
            continue
        last = max((file for file in pins.iterdir() if not file.name.startswith(".")), default=None)
        if last is not None and (text := last.read_text()):
            found.add(int(text))
    return found


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def lease_file(root: Path, version: int) -> Path:
    """The file whose time of change says when a version was last in use."""
    return root / "leases" / f"{version:08d}"
