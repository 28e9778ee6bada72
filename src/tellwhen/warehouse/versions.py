"""Versions of an index: their files in its folder, and which version is current.

    index/current.json              the number of the current version, and the last number that was committed
    index/versions/00000007.json    the parts of a version: its dictionary, its routing and its shards
    index/dictionary-<hex>/         the attributes that all shards share
    index/routing-<hex>/            the stages, cells and routes by which subscriptions and events find their shards
    index/shard-<hex>/              one shard; versions share the shards that did not change
    index/quarantine/version=7/     Parquet: the rows of an update that could not be applied
    index/staging-<hex>/            the files of a build that is running or was killed
    index/pins/<query>/<batch>      the version that a query, or a micro-batch of a stream, is matched with
    index/leases/<version>          a file that every reader of the version touches

A commit ends by replacing `current.json`: a kill at any moment leaves the previous version in place. If the commit is
killed before that, the file of its version has a number above the last committed one. Readers ignore such a file, and
the next commit replaces it. The folder must be on a file system that the driver and all executors share.
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
from tellwhen.persistence.directory import MANIFEST, read_json_file, write_json_file
from tellwhen.persistence.paths import resolve_path

FORMAT = 4
CURRENT = "current.json"


@dataclass(frozen=True)
class ShardInfo:
    """One shard of a version.

    Attributes
    ----------
    name
        The folder of the shard in the folder of the index.
    subscriptions
        The number of subscriptions.
    bytes
        The size on disk.
    """

    name: str
    subscriptions: int
    bytes: int


@dataclass(frozen=True)
class Version:
    """One version of an index: all that matching needs before it opens a shard.

    Attributes
    ----------
    version
        The number of the version.
    created
        The time of the build, in seconds since 1970.
    engine
        The engine of every shard, with its options.
    schema
        The declared types of attributes.
    ids
        The type of the subscription ids: "int" or "str".
    dictionary, routing
        The folders with the attributes, and with the routes of events to shards.
    shards
        The shards with their sizes.
    shards_per_event
        How many shards an event is expected to meet, estimated from the profile; None without a profile.
    applied
        By stream of changes, the last micro-batch that this version includes.
    quarantined
        The number of rows of the update that were not applied.
    """

    version: int
    created: float
    engine: str
    schema: Schema
    ids: IdType
    dictionary: str
    routing: str
    shards: list[ShardInfo]
    shards_per_event: float | None
    applied: dict[str, int] = field(default_factory=dict)
    quarantined: int = 0

    @property
    def subscriptions(self) -> int:
        """The number of subscriptions in all shards."""
        return sum(shard.subscriptions for shard in self.shards)

    @property
    def bytes(self) -> int:
        """The size of all shards on disk."""
        return sum(shard.bytes for shard in self.shards)

    @property
    def balance(self) -> float:
        """The size of the largest shard divided by the mean size: 1 is best."""
        sizes = [shard.subscriptions for shard in self.shards]
        return max(sizes) * len(sizes) / max(1, sum(sizes)) if sizes else 1.0


def locate_index(path: str | os.PathLike[str]) -> Path:
    """Return the absolute directory of an index; raise FormatError for a URL other than `file:`."""
    return resolve_path(path).absolute()


def read_version(path: str | os.PathLike[str], version: int | None = None) -> Version:
    """Read a committed version, the current one by default."""
    root = locate_index(path)
    head = read_head(root)
    try:
        number = head.version if version is None else operator.index(version)
    except TypeError:
        raise FormatError(f"expected the number of a version, found {abbreviate(version)}") from None
    try:
        if number > head.last:
            raise FileNotFoundError
        body = read_json_file(get_version_file(root, number), FORMAT)
    except FileNotFoundError:
        known = ", ".join(str(number) for number in list_version_numbers(root)) or "none"
        raise FormatError(f"{root} has no version {number}; there are {known}") from None
    shards = [ShardInfo(**shard) for shard in body["shards"]]
    return Version(**{**body, "shards": shards, "schema": Schema.from_json(body["schema"])})


class Head(NamedTuple):
    """Content of `current.json`."""

    version: int  # the current version: below `last` after a rollback
    last: int  # the highest committed number


def read_head(root: Path) -> Head:
    """Read which version is current, and which one was committed last."""
    try:
        body = read_json_file(root / CURRENT, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        if (root / MANIFEST).exists():
            hint = "build it on Spark to match there, or open it with tellwhen.Index.load"
            raise FormatError(f"the index in {root} was saved by one process: {hint}") from None
        raise FormatError(f"there is no index in {root}: {CURRENT} is missing") from None
    # An older tellwhen has not written `last`.
    last = body["last"] if "last" in body else max(_list_file_numbers(root), default=0)
    return Head(int(body["version"]), int(last))


def write_head(root: Path, head: Head) -> None:
    """Replace `current.json`, which commits a version or rolls back to it."""
    write_json_file(root / CURRENT, head._asdict(), FORMAT)


def read_current_number(root: Path) -> int:
    return read_head(root).version


def read_last_number(root: Path) -> int:
    """Return the highest number that was committed; 0 if there is no index yet."""
    try:
        return read_head(root).last
    except FormatError:  # missing, or damaged: then the file of any version may be committed
        return max(_list_file_numbers(root), default=0) if (root / CURRENT).exists() else 0


def list_versions(path: str | os.PathLike[str]) -> list[Version]:
    """Return the committed versions of an index, oldest first.

    Parameters
    ----------
    path
        The folder of the index, or its `file:` URL.

    Raises
    ------
    FormatError
        If there is no index at `path`, or the file of a version is damaged.
    """
    root = locate_index(path)
    return [read_version(root, number) for number in list_version_numbers(root)]


def list_version_numbers(root: Path) -> list[int]:
    """Return the numbers of all committed versions, ascending."""
    last = read_head(root).last
    return [number for number in _list_file_numbers(root) if number <= last]


def _list_file_numbers(root: Path) -> list[int]:
    """Return the numbers of all files of versions, committed or not, ascending."""
    folder = root / "versions"
    if not folder.is_dir():
        return []
    return sorted(int(file.stem) for file in folder.iterdir() if re.fullmatch(r"\d{8}\.json", file.name))


def get_version_file(root: Path, version: int) -> Path:
    return root / "versions" / f"{version:08d}.json"


def get_quarantine_folder(root: Path, version: int) -> Path:
    """Return the folder with the rows that the update to this version did not apply, as Parquet files."""
    return root / "quarantine" / f"version={version}"
