"""Tenants: each has an index, listeners, recent events and metrics of its own.

An index is either stored in the folder of the service (`DurableIndex`), or is a version of an index that Spark builds
(`FollowedIndex`).
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
from tellwhen.service.listeners import ListenerRegistry
from tellwhen.service.match_timing import MatchTiming
from tellwhen.service.metrics import Metrics
from tellwhen.service.settings import TIMEOUTS, Limits, Timeouts
from tellwhen.service.tenant_defaults import TenantDefaults
from tellwhen.warehouse.versions import CURRENT, read_current_number

log = logging.getLogger("tellwhen")

DEFAULTS_FILE = "service.json"
SERVICE_FILES = r"tenants|lock|(keys|service)\.json(\.\w+)?|lost\+found"
"""Names that the folder of a service may contain. Every new ext4 file system has a folder `lost+found`."""


class FollowedIndex:
    """The current version of an index that Spark builds. It is read-only, and replaced when there is a new version."""

    failure: str | None = None
    journal_bytes = 0

    def __init__(self, folder: Path, memory_limit: int | None = None, timeouts: Timeouts = TIMEOUTS) -> None:
        self._folder, self._memory_limit, self._timeouts = folder, memory_limit, timeouts
        self.version = read_current_number(folder)
        self.index = Index.load(folder, memory_limit=memory_limit)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tellwhen-follow", daemon=True)
        self._thread.start()

    def submit(self, change: Change, deliver: Callable[[Any], None]) -> None:
        """Deliver the error `ReadOnly`."""
        deliver(ReadOnly("this service follows an index that Spark builds; change it with tellwhen.spark.update"))

    def close(self) -> None:
        """Stop the thread that checks for new versions."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._timeouts.version_check_seconds):
            try:
                self._open_new_version()
                self.failure = None
            except Exception as error:  # keep serving the previous version
                if self.failure is None:
                    log.warning("tellwhen: %s cannot be followed: %s", self._folder, error)
                self.failure = f"a new version cannot be opened: {error}"

    def _open_new_version(self) -> None:
        number = read_current_number(self._folder)
        if number != self.version:
            # Requests use the old version until the new one is loaded.
            self.index, self.version = Index.load(self._folder, memory_limit=self._memory_limit), number
            log.warning("tellwhen: version %d is served now", number)


class Tenant:
    """State of one tenant: its index, listeners, recent events and metrics."""

    def __init__(self, name: str, storage: DurableIndex | FollowedIndex, limits: Limits) -> None:
        self.name, self.storage = name, storage
        self.listeners = ListenerRegistry(storage.index.schema)
        self.match_timing = MatchTiming()
        self.recent_events: deque[dict[str, Any]] = deque(maxlen=limits.recent)
        self.metrics = Metrics(self)

    @property
    def index(self) -> Index:
        """The current index; a followed index is replaced at each new version."""
        return self.storage.index


class Tenants:
    """The tenants of a service. A tenant without a key at the start is opened by its first request."""

    def __init__(
        self,
        folder: Path,
        keys: Keys,
        limits: Limits,
        engine: str | None = None,
        schema: Any = None,
        memory_limit: int | None = None,
        accept_loss: bool = False,
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        """Open the tenants of all keys.

        `folder` is the folder of a service, a saved index, or an index that Spark builds. `schema` replaces the schemas
        of existing indexes. `engine` is for new indexes, and existing ones must have the same engine. Without `engine`
        or `schema`, those of the last start that had one apply to new tenants.
        """
        self._folder, self._data, self._limits = folder, resolve_data_folder(folder), limits
        self._memory_limit, self._engine, self._accept_loss = memory_limit, engine, accept_loss
        self._timeouts = timeouts
        coerced = Schema.coerce(schema)
        self._schema = coerced if coerced.types or coerced.strict else None
        self._open_tenants: dict[str, Tenant] = {}
        self._failures: dict[str, tuple[float, Exception]] = {}  # time and reason, by tenant
        self._mutex = threading.Lock()
        self.is_new = not self._data.exists()
        self._folder_lock = None if _is_built_on_spark(folder) else _lock_folder(self._data)
        try:
            stored = TenantDefaults.read(self._data / DEFAULTS_FILE)
            self._defaults = stored.update(engine, self._schema, self._hash_source())
            for name in {key.tenant for key in keys.list_keys()} or {DEFAULT_TENANT}:
                self.get(name)
            if self._folder_lock is not None:
                self._defaults.write(self._data / DEFAULTS_FILE)
        except BaseException:
            self.close()
            raise

    def get(self, name: str) -> Tenant:
        """Return a tenant; open it if it is not open yet."""
        tenant = self._open_tenants.get(name)
        return tenant if tenant is not None else self._open(name)

    @property
    def folder(self) -> Path:
        """The folder of the indexes that are served."""
        return self._folder if _is_built_on_spark(self._folder) else self._data

    @property
    def note(self) -> str:
        """End of the message at the start: whether the folder is new, or its source was saved again and is ignored."""
        if self.is_new:
            return ", which is new"
        is_outdated = self._hash_source() not in ("", self._defaults.source)
        return (
            f"; {self._folder} was saved again since it was copied: these changes are not served" if is_outdated else ""
        )

    def _hash_source(self) -> str:
        """Return the hash of the manifest of the saved index that `folder` is; an empty text for other folders."""
        manifest = self._folder / MANIFEST
        is_saved_index = self._folder != self._data and manifest.exists()
        return hashlib.sha256(manifest.read_bytes()).hexdigest() if is_saved_index else ""

    def list_open(self) -> list[Tenant]:
        return list(self._open_tenants.values())

    def close(self) -> None:
        """Save and close all indexes, and unlock the folder."""
        with self._mutex:
            for tenant in self._open_tenants.values():
                tenant.storage.close()
            self._open_tenants = {}
            if self._folder_lock is not None:
                os.close(self._folder_lock)
                self._folder_lock = None

    def _open(self, name: str) -> Tenant:
        """Open a tenant, or raise the previous error if it occurred less than `reopen_seconds` ago."""
        with self._mutex:
            failure_time, error = self._failures.get(name, (0.0, None))
            if error is not None and time.monotonic() < failure_time + self._timeouts.reopen_seconds:
                raise error.with_traceback(None)
            if name not in self._open_tenants:
                try:
                    self._open_tenants[name] = Tenant(name, self._open_with_engine(name), self._limits)
                except (TellwhenError, OSError) as error:
                    self._failures[name] = time.monotonic(), error
                    raise
            return self._open_tenants[name]

    def _open_with_engine(self, name: str) -> DurableIndex | FollowedIndex:
        """Open the index of a tenant; raise if it has another engine than the one that was given."""
        storage = self._open_storage(name)
        engine = storage.index.inspect.get_stats()["engine"]
        if self._engine is not None and engine != (expected := Index(self._engine).inspect.get_stats()["engine"]):
            storage.close()
            raise ArgumentError(
                f"the index of {name} has the engine {engine}, which cannot be changed to {expected}; start without "
                "--engine"
            )
        return storage

    def _open_storage(self, name: str) -> DurableIndex | FollowedIndex:
        """Open the index of a tenant: one that the service changes, or a read-only one that Spark builds."""
        if not _is_built_on_spark(self._folder):
            try:
                return DurableIndex(
                    self._data / "tenants" / name,
                    lambda: self._create_index(name),
                    self._memory_limit,
                    self._schema,
                    accept_loss=self._accept_loss,
                )
            except SchemaError as error:
                raise ArgumentError(f"the index of {name} contradicts this schema: {error}") from None
        if name != DEFAULT_TENANT:
            raise FormatError(
                f"the key of the tenant {name} gives no access: an index that Spark builds belongs to the tenant "
                f"{DEFAULT_TENANT}"
            )
        followed = FollowedIndex(self._folder, self._memory_limit, self._timeouts)
        if self._schema is not None and followed.index.schema != self._schema:
            followed.close()
            raise ArgumentError(
                f"{self._folder} was built on Spark with another schema: start without --schema, or build it again"
            )
        return followed

    def _create_index(self, name: str) -> Index:
        """Return the first index of a tenant: a copy of the saved index for the default tenant, or an empty one."""
        if self._folder != self._data and name == DEFAULT_TENANT:
            return Index.load(self._folder, memory_limit=self._memory_limit)
        return Index(self._defaults.engine, schema=self._defaults.schema, memory_limit=self._memory_limit)


def resolve_data_folder(folder: Path) -> Path:
    """Return the folder in which the service stores its indexes and keys.

    A service never changes a saved index or an index that Spark builds: it stores its data in a folder beside it.
    """
    folder = resolve_path(folder)
    is_index = _is_built_on_spark(folder) or (folder / MANIFEST).exists()
    return folder.with_name(f"{folder.name}-service") if is_index else folder


def _is_built_on_spark(folder: Path) -> bool:
    return (folder / CURRENT).exists()


def _lock_folder(folder: Path) -> int:
    """Create and lock the folder of a service; return the descriptor of the lock.

    Two services on one folder would overwrite each other's changes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unknown = [path.name for path in folder.iterdir() if not re.fullmatch(SERVICE_FILES, path.name)]
    if unknown:
        raise FormatError(f"{folder} is not the folder of a service: it contains {unknown[0]}; choose an empty folder")
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise FormatError(f"another service runs on {folder}; stop it first, or choose another folder") from None
    return lock
