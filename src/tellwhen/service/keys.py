"""Who may do what? API keys, in a file of which nobody can learn a key.

A key is random, 256 bits long, and shown once. The file has its SHA-256, which is enough for a random key: there is
nothing to guess. It is read again when it changes, so keys come and go without a restart.
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

from tellwhen.errors import ArgumentError, FormatError, UnknownId, abbreviate
from tellwhen.service.json_output import replace_json

ROLES = ("read", "publish", "manage")
"""To look and ask; to publish events; to change subscriptions. A key may have several."""
TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DEFAULT_TENANT = "default"
LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True)
class Key:
    """What is known of a key."""

    name: str
    tenant: str
    roles: tuple[str, ...]
    digest: str
    rate: float | None = None
    """Requests per second; None for what the service allows each key."""


EVERYBODY = Key("", DEFAULT_TENANT, ROLES, "")
"""Where there are no keys."""


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def checked_tenant(tenant: str) -> str:
    if not TENANT.fullmatch(tenant):
        raise ArgumentError(
            f"a tenant is named by lower-case letters, digits, - and _, 63 at most, not {abbreviate(tenant)}"
        )
    return tenant


class Keys:
    """The keys in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_at = -LOOK_AGAIN_SECONDS
        self._stamp: tuple[int, int] | None = None
        self._keys: dict[str, Key] = {}
        self._is_in_use = file.exists()

    @property
    def is_in_use(self) -> bool:
        """Is a key needed? Once there was one, always."""
        self._look_again()
        return self._is_in_use

    def all(self) -> list[Key]:
        """All keys, as the file has them now."""
        self._look_again()
        return list(self._keys.values())

    def _look_again(self) -> None:
        now = time.monotonic()
        if now - self._read_at >= LOOK_AGAIN_SECONDS:
            self._look()
            self._read_at = now  # not after an error: a damaged file lets nobody in

    def _look(self) -> None:
        try:
            found = self._file.stat()
        except FileNotFoundError:
            self._keys, self._stamp = {}, None  # the last one was removed, not the need for one
            return
        self._is_in_use = True
        if (stamp := (found.st_mtime_ns, found.st_ino)) != self._stamp:
            self._keys = {key.name: key for key in _read(self._file)}
            self._stamp = stamp

    def of(self, given: str) -> Key | None:
        """The key, if it is one. All are compared, in constant time each."""
        self._look_again()
        digest, found = _digest(given), None
        for key in self._keys.values():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def add(self, name: str, roles: list[str], tenant: str = DEFAULT_TENANT, rate: float | None = None) -> str:
        """Make a key; returns it, for the only time."""
        if not name or len(name) > 100 or not name.isprintable():
            raise ArgumentError(f"a key is named by 1 to 100 printable characters, not {abbreviate(name)}")
        unknown = [role for role in roles if role not in ROLES]
        if unknown or not roles:
            raise ArgumentError(f"a role is one of {', '.join(ROLES)}, not {', '.join(unknown) or 'nothing'}")
        if rate is not None and not 0 < rate < inf:
            raise ArgumentError(f"a rate is a number of requests per second above 0, not {rate}")
        secret = f"tw_{secrets.token_urlsafe(32)}"
        key = Key(name, checked_tenant(tenant), tuple(roles), _digest(secret), rate)
        with self._locked():
            if name in self._keys:
                raise ArgumentError(f"there is a key of the name {name}; remove it first, or choose another name")
            self._write({**self._keys, name: key})
        return secret

    def remove(self, name: str) -> None:
        with self._locked():
            if name not in self._keys:
                raise UnknownId(f"there is no key of the name {name}")
            self._write({other: key for other, key in self._keys.items() if other != name})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Read the file, and write it, before anybody else does."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(self._file.with_name(f"{self._file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            self._look()
            yield
        finally:
            os.close(held)

    def _write(self, keys: dict[str, Key]) -> None:
        replace_json(self._file, {"format": 1, "keys": [asdict(key) for key in keys.values()]})
        self._keys, self._stamp = keys, None


def _read(file: Path) -> list[Key]:
    try:
        body: Any = json.loads(file.read_bytes())
        keys = [Key(**{**one, "roles": tuple(one["roles"])}) for one in body["keys"]]
        if not all(isinstance(key.digest, str) and key.digest.isascii() for key in keys):
            raise ValueError
        return keys
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{file} is damaged; restore it, or delete it and make new keys") from None
