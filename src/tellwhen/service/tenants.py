"""What does a tenant have? An index, those who listen, recent events and measurements; tenants share nothing.

An index is kept in a folder of the service (`DurableIndex`), or is a version that Spark built, which is followed.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tellwhen.errors import ArgumentError, FormatError, SchemaError, TellwhenError
from tellwhen.index import Index
from tellwhen.language.schema import Schema
from tellwhen.persistence.directory import MANIFEST
from tellwhen.persistence.paths import resolve_path
from tellwhen.service.changes import Change
from tellwhen.service.durable_index import DurableIndex
from tellwhen.service.errors import ReadOnly
from tellwhen.service.keys import DEFAULT_TENANT, Keys
from tellwhen.service.listeners import Live
from tellwhen.service.match_timing import Pace
from tellwhen.service.metrics import Metrics
from tellwhen.service.settings import Limits
from tellwhen.service.tenant_defaults import Chosen
from tellwhen.warehouse.versions import CURRENT, read_current_number

log = logging.getLogger("tellwhen")

FOLLOW_SECONDS = 2.0
AGAIN_SECONDS = 10.0
"""A tenant that could not be opened is not tried again before: it may be large."""
CHOSEN = "service.json"
OURS = r"tenants|lock|(keys|service)\.json(\.\w+)?|lost\+found"
"""What may be in a folder of a service; the last one is in every new file system."""


class Followed:
    """The current version of an index that Spark builds."""

    failure: str | None = None
    journal_bytes = 0

    def __init__(self, folder: Path, memory_limit: int | None = None) -> None:
        self._folder, self._memory_limit = folder, memory_limit
        self.version = read_current_number(folder)
        self.index = Index.load(folder, memory_limit=memory_limit)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tellwhen-follow", daemon=True)
        self._thread.start()

    def submit(self, change: Change, done: Callable[[Any], None]) -> None:
        done(ReadOnly("this service follows an index that Spark builds: change it there, with tellwhen.spark.update"))

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._ended.wait(FOLLOW_SECONDS):
            try:
                self._look()
                self.failure = None
            except Exception as error:  # the version before is served on
                if self.failure is None:
                    log.warning("tellwhen: %s cannot be followed: %s", self._folder, error)
                self.failure = f"a new version cannot be opened: {error}"

    def _look(self) -> None:
        found = read_current_number(self._folder)
        if found != self.version:
            # Opened beside the one that is served, and put in its place at once.
            self.index, self.version = Index.load(self._folder, memory_limit=self._memory_limit), found
            log.warning("tellwhen: version %d is served now", found)


class Tenant:
    """What belongs to one."""

    def __init__(self, name: str, kept: DurableIndex | Followed, limits: Limits) -> None:
        self.name, self.kept = name, kept
        self.live = Live(kept.index.schema)
        self.pace = Pace()
        self.recent: deque[dict[str, Any]] = deque(maxlen=limits.recent)
        self.metrics = Metrics(self)

    @property
    def index(self) -> Index:
        return self.kept.index


class Tenants:
    """The tenants of a service, which are opened when they are first asked for."""

    def __init__(
        self,
        folder: Path,
        keys: Keys,
        limits: Limits,
        engine: str | None = None,
        schema: Any = None,
        memory_limit: int | None = None,
        accept_loss: bool = False,
    ) -> None:
        """On the folder that a user names. Its indexes get this schema, also those that are there; a new index has this
        engine, and one that is there must have it already. What is not given is what was given last."""
        self._folder, self._data, self._limits = folder, data_folder(folder), limits
        self._memory_limit, self._engine, self._accept_loss = memory_limit, engine, accept_loss
        given = Schema.coerce(schema)
        self._schema = given if given.types or given.strict else None
        self._opened: dict[str, Tenant] = {}
        self._failed: dict[str, tuple[float, Exception]] = {}  # when, and why
        self._lock = threading.Lock()
        self.is_new = not self._data.exists()
        self._held = None if _is_version(folder) else _hold(self._data)
        try:
            self._chosen = Chosen.read(self._data / CHOSEN).updated(engine, self._schema, self._source())
            for name in {key.tenant for key in keys.all()} or {DEFAULT_TENANT}:
                self.get(name)
            if self._held is not None:
                self._chosen.write(self._data / CHOSEN)
        except BaseException:
            self.close()
            raise

    def get(self, name: str) -> Tenant:
        found = self._opened.get(name)
        return found if found is not None else self._open(name)

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self._folder if _is_version(self._folder) else self._data

    @property
    def note(self) -> str:
        """What whoever started it should know."""
        if self.is_new:
            return ", which is new"
        is_old = self._source() not in ("", self._chosen.source)
        return f"; {self._folder} was saved again since, which changes nothing here" if is_old else ""

    def _source(self) -> str:
        """A hash of the saved index that it was given."""
        manifest = self._folder / MANIFEST
        is_given = self._folder != self._data and manifest.exists()
        return hashlib.sha256(manifest.read_bytes()).hexdigest() if is_given else ""

    def opened(self) -> list[Tenant]:
        return list(self._opened.values())

    def close(self) -> None:
        with self._lock:
            for tenant in self._opened.values():
                tenant.kept.close()
            self._opened = {}
            if self._held is not None:
                os.close(self._held)
                self._held = None

    def _open(self, name: str) -> Tenant:
        with self._lock:
            at, error = self._failed.get(name, (0.0, None))
            if error is not None and time.monotonic() < at + AGAIN_SECONDS:
                raise error.with_traceback(None)
            if name not in self._opened:
                try:
                    self._opened[name] = Tenant(name, self._checked(name), self._limits)
                except (TellwhenError, OSError) as error:
                    self._failed[name] = time.monotonic(), error
                    raise
            return self._opened[name]

    def _checked(self, name: str) -> DurableIndex | Followed:
        kept = self._kept(name)
        engine = kept.index.inspect.get_stats()["engine"]
        if self._engine is not None and engine != (wanted := Index(self._engine).inspect.get_stats()["engine"]):
            kept.close()
            raise ArgumentError(f"the index of {name} has the engine {engine}, which stays: give none, not {wanted}")
        return kept

    def _kept(self, name: str) -> DurableIndex | Followed:
        if not _is_version(self._folder):
            try:
                place = self._data / "tenants" / name
                return DurableIndex(
                    place, lambda: self._first(name), self._memory_limit, self._schema, accept_loss=self._accept_loss
                )
            except SchemaError as error:
                raise ArgumentError(f"the index of {name} cannot have this schema: {error}") from None
        if name != DEFAULT_TENANT:
            raise FormatError(
                f"the key of the tenant {name} opens nothing: the one index here is of the tenant {DEFAULT_TENANT}"
            )
        followed = Followed(self._folder, self._memory_limit)
        if self._schema is not None and followed.index.schema != self._schema:
            followed.close()
            raise ArgumentError(f"{self._folder} was built on Spark with another schema: give none, or build it again")
        return followed

    def _first(self, name: str) -> Index:
        """What the index of a tenant begins with: nothing, or what was saved."""
        if self._folder != self._data and name == DEFAULT_TENANT:
            return Index.load(self._folder, memory_limit=self._memory_limit)
        return Index(self._chosen.engine, schema=self._chosen.schema, memory_limit=self._memory_limit)


def data_folder(folder: Path) -> Path:
    """Where the service keeps what it serves, and its keys. An index that it was given is left as it is, and what
    belongs to the service is beside it."""
    folder = resolve_path(folder)
    is_given = _is_version(folder) or (folder / MANIFEST).exists()
    return folder.with_name(f"{folder.name}-service") if is_given else folder


def _is_version(folder: Path) -> bool:
    """Is it an index that Spark built?"""
    return (folder / CURRENT).exists()


def _hold(folder: Path) -> int:
    """Two services on one folder would not know of each other's changes."""
    folder.mkdir(parents=True, exist_ok=True)
    strange = [path.name for path in folder.iterdir() if not re.fullmatch(OURS, path.name)]
    if strange:
        raise FormatError(f"{folder} has {strange[0]} in it, and is no folder of a service; choose an empty one")
    held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise FormatError(f"another service runs on {folder}; stop it first") from None
    return held
