"""Where does an index live that Spark builds and matches with, and which version of it counts?

    index/current.json              the version that counts
    index/versions/00000007.json    what a version consists of: a dictionary, shards, and who goes where
    index/dictionary-<hex>/         the attributes that all shards share
    index/shard-<hex>/              one shard; versions share the shards that did not change
    index/staging-<hex>/            of a build that is running, or was killed
    index/pins/<query>/<batch>      the version that a query, or a micro-batch of a stream, was matched with
    index/leases/<version>          touched by whoever matches with the version

A version is committed by renaming `current.json`: a kill at any moment leaves the previous one in place. The directory
must be on a file system that the driver and all executors share; on one machine, any directory is.
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
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tellwhen.errors import ConflictError, FormatError, shown
from tellwhen.ids import IdType
from tellwhen.persist import read_checked, write_checked

log = logging.getLogger("tellwhen.spark")
FORMAT = 1
CURRENT = "current.json"
OWN = re.compile("(dictionary|shard|staging|dead)-[0-9a-f]{32}")
STALE = 3600
"""Seconds after which a staging directory that nobody has locked is taken for dead."""

LEASE = 3600
"""Seconds for which a version stays after it was last used, however many have been committed since."""

WEEK = 7 * 24 * 3600
"""Seconds for which the version of the last batch of a stream is kept, should that batch be run again."""

QUERY = "query-"
"""Pins of queries that are not streams begin so."""

PINS = 100
"""Batches of a stream whose versions are remembered; only the last one can ever be run again."""


@dataclass(frozen=True)
class ShardInfo:
    """One part of an index: the directory, and how much is in it."""

    name: str
    subscriptions: int
    bytes: int


@dataclass(frozen=True)
class Version:
    """Everything that matching needs to know before it opens a shard."""

    version: int
    created: float
    engine: str
    schema: dict[str, Any]
    ids: IdType
    dictionary: str
    shards: list[ShardInfo]
    pivots: dict[str, list[int]]  # by attribute: the shards with subscriptions that need it; "" for all events
    order: list[str]  # attributes, those that fewest events carry first
    applied: dict[str, int] = field(default_factory=dict)  # by stream of changes: the last batch in this version

    @property
    def subscriptions(self) -> int:
        return sum(shard.subscriptions for shard in self.shards)

    @property
    def bytes(self) -> int:
        return sum(shard.bytes for shard in self.shards)

    @property
    def balance(self) -> float:
        """The largest shard over the mean: 1 is perfect."""
        sizes = [shard.subscriptions for shard in self.shards]
        return max(sizes) * len(sizes) / max(1, sum(sizes)) if sizes else 1.0


def located(path: str | os.PathLike[str]) -> Path:
    """The directory behind a path or a file: address."""
    text = os.fspath(path)
    parsed = urlparse(text)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    if len(parsed.scheme) > 1:
        raise FormatError(
            f"{text}: an index is mapped into memory, so it must be on a file system that the driver and all executors "
            f"share, not behind {parsed.scheme}://"
        )
    return Path(text).absolute()


def fresh(folder: Path, kind: str) -> Path:
    """A new directory with a name that nothing else has. Fails where the folder has gone: its build has ended."""
    directory = folder / f"{kind}-{uuid.uuid4().hex}"
    directory.mkdir()
    return directory


def read_version(path: str | os.PathLike[str], version: int | None = None) -> Version:
    """A version, the current one by default."""
    root = located(path)
    if version is None:
        version = current(root)
    try:
        body = read_checked(_version_file(root, version), FORMAT)
    except FileNotFoundError:
        known = ", ".join(str(number) for number in _numbers(root)) or "none"
        raise FormatError(f"{root} has no version {version}; there are {known}") from None
    return Version(**{**body, "shards": [ShardInfo(**shard) for shard in body["shards"]]})


def current(root: Path) -> int:
    """The number of the version that counts."""
    try:
        return int(read_checked(root / CURRENT, FORMAT)["version"])
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"there is no index in {root}: {CURRENT} is missing") from None


def versions(path: str | os.PathLike[str]) -> list[Version]:
    """The versions there are, oldest first."""
    root = located(path)
    current(root)
    return [read_version(root, number) for number in _numbers(root)]


def rollback(path: str | os.PathLike[str], version: int) -> Version:
    """Make an earlier version the one that counts."""
    if not isinstance(version, int):
        raise FormatError(f"a version is a number, not {shown(version)}")
    root = located(path)
    with _locked(root / "lock"):
        found = read_version(root, version)
        write_checked(root / CURRENT, {"version": version}, FORMAT)
    return found


@contextmanager
def staging(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory to build in. It goes away at the end; one of a killed build goes away at the next commit."""
    root = located(path)
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not (root / "lock").exists())):
        raise FormatError(f"{root} exists and is not an index; choose another place")
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):  # so that nobody sees it unlocked, and takes it for dead
        directory = fresh(root, "staging")
        held = (directory / "lock").open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        # Moved first: tasks that outlive a failed build find nowhere to write to.
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
    """Move what was staged into place and make it the current version; `keep` older ones stay to be rolled back to.

    `base` was the current version at the start: if it no longer is, nothing happens.
    """
    root = staged.parent
    with _locked(root / "lock"):
        if started_from(root) != base:
            raise ConflictError(f"version {current(root)} of {root} has become the current one meanwhile; try again")
        # Only what the version names: a task that was run twice has left a shard that nobody needs.
        for name in [version.dictionary, *(shard.name for shard in version.shards)]:
            if (staged / name).exists():
                (staged / name).rename(root / name)
        (root / "versions").mkdir(exist_ok=True)
        number = max(_numbers(root), default=0) + 1
        write_checked(_version_file(root, number), asdict(version) | {"version": number}, FORMAT)
        write_checked(root / CURRENT, {"version": number}, FORMAT)
        try:
            _clean(root, keep, base)
        except FormatError as error:  # of an older version: its shards are unknown, so nothing is thrown away
            log.warning("nothing was cleaned up: %s", error)
    return read_version(root, number)


def _clean(root: Path, keep: int, base: int | None) -> None:
    """Forget versions but the current one, its base and the `keep` before it, and what only they referred to."""
    older = [number for number in _numbers(root) if number < current(root)]
    needed = _pinned(root) | _leased(root) | ({base} if base is not None and keep else set())
    for number in older[: max(0, len(older) - keep)]:
        if number not in needed:
            _version_file(root, number).unlink(missing_ok=True)
            _lease_file(root, number).unlink(missing_ok=True)
    used = set()
    for number in _numbers(root):
        version = read_version(root, number)
        used |= {version.dictionary, *(shard.name for shard in version.shards)}
    for entry in root.iterdir():
        # Shards and dictionaries get their places under the lock that is held here: the unused ones are nobody's.
        if OWN.fullmatch(entry.name) and entry.name not in used and not _is_staged_in(entry):
            shutil.rmtree(entry, ignore_errors=True)


def _pinned(root: Path) -> set[int]:
    """Versions that a stream may need for its last batch again; old pins go away, and those of single queries."""
    found = set()
    for pins in (root / "pins").glob("*"):
        is_query = pins.name.startswith(QUERY)
        if _age(pins) > (LEASE if is_query else WEEK):
            shutil.rmtree(pins, ignore_errors=True)
            continue
        last = max((file for file in pins.iterdir() if not file.name.startswith(".")), default=None)
        if last is not None and (text := last.read_text()):
            found.add(int(text))
    return found


def _leased(root: Path) -> set[int]:
    return {int(file.name) for file in (root / "leases").glob("*") if _age(file) <= LEASE}


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def _is_staged_in(entry: Path) -> bool:
    """Does a build that is alive hold the lock of its staging directory?"""
    if not entry.name.startswith("staging"):
        return False
    try:
        with (entry / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        # Just being made, unless its build was killed at that very moment.
        return not entry.exists() or entry.stat().st_mtime > time.time() - STALE
    except OSError:
        return True


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def pinned(root: Path, query: str, batch: int) -> int:
    """The version for a micro-batch of a stream: the current one when first asked, the same for ever after.

    All tasks of a batch agree on it, and so does the batch when it is run again after a crash.
    """
    file = root / "pins" / query / f"{batch:012d}"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_name(f".{file.name}-{uuid.uuid4().hex}")
        aside.write_text(str(current(root)))
        try:
            os.link(aside, file)
        except FileExistsError:
            pass  # another task was faster
        finally:
            aside.unlink()
        for old in file.parent.iterdir():
            if old.name < f"{max(0, batch - PINS):012d}" and not old.name.startswith("."):
                old.unlink(missing_ok=True)
    return int(file.read_text())


def lease(root: Path, version: int) -> None:
    """The version is needed now: it stays for a while."""
    with suppress(OSError):  # whoever may only read has to take what is there
        file = _lease_file(root, version)
        file.parent.mkdir(exist_ok=True)
        file.touch()


def _lease_file(root: Path, version: int) -> Path:
    return root / "leases" / f"{version:08d}"


def _version_file(root: Path, version: int) -> Path:
    return root / "versions" / f"{version:08d}.json"


def _numbers(root: Path) -> list[int]:
    folder = root / "versions"
    if not folder.is_dir():
        return []
    return sorted(int(file.stem) for file in folder.iterdir() if re.fullmatch(r"\d{8}\.json", file.name))
