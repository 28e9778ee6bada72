"""Where does an index that Spark builds live, and which version of it is current?

    index/current.json              the number of the current version, and the last number that was committed
    index/versions/00000007.json    what a version consists of: a dictionary, its routing, and shards
    index/dictionary-<hex>/         the attributes that all shards share
    index/routing-<hex>/            how subscriptions and events find their shards
    index/shard-<hex>/              one shard; versions share the shards that did not change
    index/quarantine/version=7/     Parquet: the rows of an update that could not be applied
    index/staging-<hex>/            of a build that is running, or was killed
    index/pins/<query>/<batch>      the version that a query, or a micro-batch of a stream, is matched with
    index/leases/<version>          touched by whoever matches with the version

A version is committed by renaming `current.json`: a kill at any moment leaves the previous one in place. The file of a
version whose commit was killed before that has a number above the last committed one: it does not count, and the next
commit replaces it. The directory must be on a file system that the driver and all executors share; on one machine, any
directory will do.
"""

from __future__ import annotations

import operator
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tellwhen.errors import FormatError, abbreviate
from tellwhen.index.ids import IdType
from tellwhen.language.schema import Schema
from tellwhen.persistence.directory import MANIFEST, read_checked, write_checked
from tellwhen.persistence.paths import resolve_path

FORMAT = 4
CURRENT = "current.json"


@dataclass(frozen=True)
class ShardInfo:
    """One shard of a version: its directory, and how much is in it."""

    name: str
    subscriptions: int
    bytes: int


@dataclass(frozen=True)
class Version:
    """All that matching needs to know before it opens a shard."""

    version: int
    created: float
    engine: str
    schema: Schema
    ids: IdType
    dictionary: str
    routing: str
    shards: list[ShardInfo]
    shards_per_event: float | None  # that an event meets, estimated from the profile; None where there is none
    applied: dict[str, int] = field(default_factory=dict)  # by stream of changes: the last batch in this version
    quarantined: int = 0  # rows of the update that could not be applied: see `quarantine_folder`

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
    """Return the absolute directory of an index; raise FormatError for a URL other than `file:`."""
    return resolve_path(path).absolute()


def read_version(path: str | os.PathLike[str], version: int | None = None) -> Version:
    """Read a committed version, the current one by default."""
    root = located(path)
    head = read_head(root)
    try:
        number = head.version if version is None else operator.index(version)
    except TypeError:
        raise FormatError(f"a version is a number, not {abbreviate(version)}") from None
    try:
        if number > head.last:
            raise FileNotFoundError
        body = read_checked(version_file(root, number), FORMAT)
    except FileNotFoundError:
        known = ", ".join(str(number) for number in version_numbers(root)) or "none"
        raise FormatError(f"{root} has no version {number}; there are {known}") from None
    shards = [ShardInfo(**shard) for shard in body["shards"]]
    return Version(**{**body, "shards": shards, "schema": Schema.from_json(body["schema"])})


class Head(NamedTuple):
    """The content of `current.json`."""

    version: int  # the current one: below `last` after a rollback
    last: int  # the highest number that was committed


def read_head(root: Path) -> Head:
    """Read which version is current, and which one was committed last."""
    try:
        body = read_checked(root / CURRENT, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        if (root / MANIFEST).exists():
            hint = "build it on Spark to match there, or open it with tellwhen.Index.load"
            raise FormatError(f"the index in {root} was saved by one process: {hint}") from None
        raise FormatError(f"there is no index in {root}: {CURRENT} is missing") from None
    # An older tellwhen has not noted the last one.
    last = body["last"] if "last" in body else max(_numbers_of_files(root), default=0)
    return Head(int(body["version"]), int(last))


def write_head(root: Path, head: Head) -> None:
    """Replace `current.json`: this commits a version, or rolls back to one."""
    write_checked(root / CURRENT, head._asdict(), FORMAT)


def current(root: Path) -> int:
    """Return the number of the current version."""
    return read_head(root).version


def last_committed(root: Path) -> int:
    """Return the highest number that was committed; 0 if there is no index yet."""
    try:
        return read_head(root).last
    except FormatError:  # there is none, or it is damaged: then any file may be of a version that was committed
        return max(_numbers_of_files(root), default=0) if (root / CURRENT).exists() else 0


def versions(path: str | os.PathLike[str]) -> list[Version]:
    """The versions there are, oldest first."""
    root = located(path)
    return [read_version(root, number) for number in version_numbers(root)]


def version_numbers(root: Path) -> list[int]:
    """Return the numbers of all committed versions, ascending."""
    last = read_head(root).last
    return [number for number in _numbers_of_files(root) if number <= last]


def _numbers_of_files(root: Path) -> list[int]:
    """Return the numbers of all files of versions, committed or not, ascending."""
    folder = root / "versions"
    if not folder.is_dir():
        return []
    return sorted(int(file.stem) for file in folder.iterdir() if re.fullmatch(r"\d{8}\.json", file.name))


def version_file(root: Path, version: int) -> Path:
    """The file that describes a version."""
    return root / "versions" / f"{version:08d}.json"


def quarantine_folder(root: Path, version: int) -> Path:
    """The rows that the update to this version could not apply, as Parquet files."""
    return root / "quarantine" / f"version={version}"
