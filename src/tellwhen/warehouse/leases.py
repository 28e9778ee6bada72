"""Leases and pins: marks of the versions in use, which stay although newer ones have been committed.

A *lease* is a file that every reader of a version touches. A *pin* is the version that all tasks of a query or of a
micro-batch agree on. The last micro-batch of a stream may run again, and then needs the same version.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

from tellwhen.warehouse.versions import read_current_number

LEASE_SECONDS = 3600
"""Keep a version for an hour after its last use, however many have been committed since."""

PIN_SECONDS = 7 * 24 * 3600
"""Keep the version of the last batch of a stream for a week, in case the batch runs again."""

QUERY_PIN_PREFIX = "query-"
"""Start of the names of pins of queries that are not streams."""

NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors that mean that the process may read a folder, but not write to it."""

PINNED_BATCHES_MAX = 100
"""Pins kept for each stream. Only the last batch can ever run again."""


def renew_lease(root: Path, version: int) -> None:
    """Touch the lease of a version, so that commits keep it."""
    with suppress(OSError):  # a reader without permission to write matches without a lease
        file = get_lease_file(root, version)
        file.parent.mkdir(exist_ok=True)
        file.touch()


def pin_version(root: Path, query: str, batch: int) -> int:
    """Return the version of a micro-batch: the current one at the first call, the same one at all later calls.

    So all tasks of a batch use one version, also if the batch runs again after a crash. A reader without permission to
    write cannot pin: it gets the current version at every call. Its tasks may then use different versions if one is
    committed while the batch runs.
    """
    file = root / "pins" / query / f"{batch:012d}"
    if not file.exists():
        version = read_current_number(root)  # an error where there is no index, before a folder is made
        try:
            _write_pin(file, version)
        except OSError as error:
            if error.errno not in NOT_WRITABLE:
                raise
            return version
        oldest = f"{max(0, batch - PINNED_BATCHES_MAX):012d}"
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
        pass  # another task has pinned the batch
    finally:
        aside.unlink()


def find_versions_in_use(root: Path) -> set[int]:
    """Return the versions with a lease or a pin, and delete expired pins."""
    leased = {int(file.name) for file in (root / "leases").glob("*") if _measure_age_seconds(file) <= LEASE_SECONDS}
    return leased | _read_pinned_versions(root)


def _read_pinned_versions(root: Path) -> set[int]:
    versions = set()
    for pins in (root / "pins").glob("*"):
        if _measure_age_seconds(pins) > (LEASE_SECONDS if pins.name.startswith(QUERY_PIN_PREFIX) else PIN_SECONDS):
            shutil.rmtree(pins, ignore_errors=True)
            continue
        last = max((file for file in pins.iterdir() if not file.name.startswith(".")), default=None)
        if last is not None and (text := last.read_text()):
            versions.add(int(text))
    return versions


def _measure_age_seconds(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def get_lease_file(root: Path, version: int) -> Path:
    return root / "leases" / f"{version:08d}"
