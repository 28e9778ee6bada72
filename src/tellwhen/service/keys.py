"""API keys, in a file from which no key can be learned.

A key is random, has 256 bits, and is shown once. The file has its SHA-256: nobody can guess a random key, so a slow
hash is not needed. A running service reads the file again when it changes, so keys come and go without a restart.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from tellwhen.deprecation import alias_method
from tellwhen.errors import ArgumentError, FormatError, UnknownId, abbreviate
from tellwhen.service.json_output import replace_json
from tellwhen.service.settings import TIMEOUTS, Timeouts

ROLES = ("read", "publish", "manage")
"""`read`: list, match and listen; `publish`: publish events; `manage`: change subscriptions. A key may have several."""
TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DEFAULT_TENANT = "default"
KEY_NAME_CHARACTERS_MAX = 100


@dataclass(frozen=True)
class Key:
    """A key as its file describes it, without the secret.

    `digest` is the SHA-256 of the secret. `rate` limits requests per second; None for the limit of the service.
    """

    name: str
    tenant: str
    roles: tuple[str, ...]
    digest: str
    rate: float | None = None


ANONYMOUS_KEY = Key("", DEFAULT_TENANT, ROLES, "")
"""The key of all requests while no keys are in use."""


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _validate_tenant(tenant: str) -> None:
    if not TENANT_NAME.fullmatch(tenant):
        raise ArgumentError(
            "the name of a tenant has 1 to 63 lower-case letters, digits, - and _, and begins with neither - nor _; "
            f"found {abbreviate(tenant)}"
        )


class Keys:
    """The API keys of a service, in a file.

    Several processes may change the file, such as a service and `tellwhen keys add`.

    Parameters
    ----------
    file
        The file, which may not exist yet.
    timeouts
        `keys_check_seconds` is the interval at which the file is checked for changes.
    """

    def __init__(self, file: Path, *, timeouts: Timeouts = TIMEOUTS) -> None:
        self._file, self._timeouts = file, timeouts
        self._check_time = -inf
        self._stamp: tuple[int, int] | None = None  # modification time and inode of the file that was read
        self._keys: dict[str, Key] = {}
        self._is_in_use = file.exists()

    @property
    def is_in_use(self) -> bool:
        """Whether requests need a key: True from the first key on, even if all keys are removed later."""
        self._reload_if_due()
        return self._is_in_use

    def list_keys(self) -> list[Key]:
        """Return all keys, without their secrets."""
        self._reload_if_due()
        return list(self._keys.values())

    def _reload_if_due(self) -> None:
        now = time.monotonic()
        if now - self._check_time >= self._timeouts.keys_check_seconds:
            self._reload_if_changed()
            self._check_time = now  # only without an error: a damaged file must reject every request

    def _reload_if_changed(self) -> None:
        try:
            status = self._file.stat()
        except FileNotFoundError:
            self._keys, self._stamp = {}, None  # `is_in_use` stays as it is
            return
        self._is_in_use = True
        if (stamp := (status.st_mtime_ns, status.st_ino)) != self._stamp:
            self._keys = {key.name: key for key in _read_keys(self._file)}
            self._stamp = stamp

    def find(self, secret: str) -> Key | None:
        """Return the key with a secret, or None.

        The secret is compared with all keys, in constant time each, so the duration tells nothing about keys.
        """
        self._reload_if_due()
        digest, match = _hash_secret(secret), None
        for key in self._keys.values():
            if hmac.compare_digest(key.digest, digest):
                match = key
        return match

    def add(self, name: str, roles: list[str], tenant: str = DEFAULT_TENANT, rate: float | None = None) -> str:
        """Add a key and return its secret, which cannot be read again.

        Parameters
        ----------
        name
            A name for `remove`, with 1 to 100 characters.
        roles
            One or more of "read", "publish" and "manage".
        tenant
            The tenant whose subscriptions the key gives access to.
        rate
            Requests per second; None for the limit of the service.

        Raises
        ------
        ArgumentError
            If the name is taken, or an argument is invalid.
        """
        if not name or len(name) > KEY_NAME_CHARACTERS_MAX or not name.isprintable():
            raise ArgumentError(
                f"the name of a key has 1 to {KEY_NAME_CHARACTERS_MAX} printable characters, not {abbreviate(name)}"
            )
        unknown = [role for role in roles if role not in ROLES]
        if unknown or not roles:
            raise ArgumentError(f"a role is one of {', '.join(ROLES)}, not {', '.join(unknown) or 'nothing'}")
        if rate is not None and not 0 < rate < inf:
            raise ArgumentError(f"a rate is a number of requests per second above 0, not {rate}")
        _validate_tenant(tenant)
        secret = f"tw_{secrets.token_urlsafe(32)}"
        key = Key(name, tenant, tuple(roles), _hash_secret(secret), rate)
        with self._lock_file():
            if name in self._keys:
                raise ArgumentError(f"there is a key {name} already; remove it first, or choose another name")
            self._write({**self._keys, name: key})
        return secret

    def remove(self, name: str) -> None:
        """Remove a key; raise `UnknownId` if there is no key with this name."""
        with self._lock_file():
            if name not in self._keys:
                raise UnknownId(f"there is no key {name}")
            self._write({other: key for other, key in self._keys.items() if other != name})

    @contextmanager
    def _lock_file(self) -> Iterator[None]:
        """Lock the file against other processes, and read it, for the duration of a `with` statement."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._file.with_name(f"{self._file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._reload_if_changed()
            yield
        finally:
            os.close(lock)

    def _write(self, keys: dict[str, Key]) -> None:
        replace_json(self._file, {"format": 1, "keys": [asdict(key) for key in keys.values()]})
        self._keys, self._stamp = keys, None

    all = alias_method("Keys.all", "list_keys")
    of = alias_method("Keys.of", "find")


def _read_keys(file: Path) -> list[Key]:
    try:
        body: Any = json.loads(file.read_bytes())
        keys = [Key(**{**fields, "roles": tuple(fields["roles"])}) for fields in body["keys"]]
        if not all(isinstance(key.digest, str) and key.digest.isascii() for key in keys):
            raise ValueError
        return keys
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{file} is damaged; restore it, or delete it and add new keys") from None
