"""Who is let in, and with how much? It stands before everything else, and knows nothing of subscriptions."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import time
from functools import lru_cache
from math import ceil
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from tellwhen.errors import TellwhenError, pluralize
from tellwhen.service.errors import (
    HostRefused,
    KeyRefused,
    MalformedRequest,
    RoleMissing,
    ServiceError,
    TooLarge,
    TooMany,
    TooSlow,
    Unavailable,
)
from tellwhen.service.keys import EVERYBODY, Key, Keys
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenants

log = logging.getLogger("tellwhen")

OPEN = ("/", "/healthz", "/readyz", "/openapi.json", "/favicon.ico")
"""Paths that need no key; the files of the console do not either."""

MANY = ("/v1/subscriptions", "/v1/subscriptions/remove", "/v1/scores", "/v1/publish/many")
"""Paths of requests that may be large."""

DIGITS = 18
"""Of the length of a body; more are not read as a number."""

PORT = re.compile(r":\d+$")

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
]


def role_for(method: str, path: str) -> str:
    """Which role does a request need?"""
    if path.startswith("/v1/publish"):
        return "publish"
    if path.startswith(("/v1/subscriptions", "/v1/scores")) and method not in ("GET", "HEAD"):
        return "manage"
    return "read"


class Bucket:
    """So many requests per second, and one second's worth at once."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._left = max(1.0, rate)
        self._at = time.monotonic()

    def take(self) -> float:
        """0 if it may pass, or in how many seconds it may."""
        now = time.monotonic()
        self._left = min(max(1.0, self.rate), self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self.rate


class Guard:
    """Checks requests, and passes them on with their tenant."""

    def __init__(self, app: Any, keys: Keys, tenants: Tenants, limits: Limits) -> None:
        self._app, self._keys, self._tenants, self._limits = app, keys, tenants, limits
        self._buckets: dict[str, Bucket] = {}

    def end(self) -> None:
        """The service stops."""
        for tenant in self._tenants.opened():
            tenant.live.end()

    @property
    def summary(self) -> str:
        """What is served."""
        count = sum(len(tenant.index) for tenant in self._tenants.opened())
        return f"{pluralize(count, 'subscription')} in {self._tenants.folder}{self._tenants.note}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        status = 500
        scope.setdefault("state", {})

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._checked(scope)
            await self._app(scope, self._limited(scope, receive), sending)
        except ServiceError as error:
            await refuse(error, sending)
        except ClientDisconnect:
            status = 499  # it left before all was sent: nobody is there to answer
        finally:
            if (tenant := scope["state"].get("tenant")) is not None:
                route = scope.get("route")
                tenant.metrics.requests.labels(getattr(route, "path", "none"), str(status)).inc()
        return None

    def _checked(self, scope: Scope) -> None:
        try:
            self._let_in(scope)
        except (TellwhenError, OSError) as error:
            if isinstance(error, ServiceError):
                raise
            log.error("tellwhen: nobody is let in: %s", error)
            raise Unavailable("the service cannot read its files; its log says more") from None

    def _let_in(self, scope: Scope) -> None:
        state = scope["state"]
        path, headers = scope["path"], _headers(scope)
        length = headers.get(b"content-length", b"0").lstrip(b"0")
        if length.isdigit() and (len(length) > DIGITS or int(length) > self._most(path)):
            raise TooLarge(f"a request has at most {self._most(path):,} bytes")
        if not self._keys.is_in_use:
            _check_host(headers)
        if path in OPEN or path.startswith("/console/"):
            return
        key = self._key(headers)
        if (role := role_for(scope["method"], path)) not in key.roles:
            raise RoleMissing(f"this needs the role {role}; the key {key.name} has {', '.join(key.roles)}")
        self._slow_down(key)
        state["key"], state["tenant"] = key, self._tenants.get(key.tenant)
        state["is_let_in"] = lambda: not self._keys.is_in_use or key in self._keys.all()

    def _key(self, headers: dict[bytes, bytes]) -> Key:
        if not self._keys.is_in_use:
            return EVERYBODY
        scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not given:
            raise KeyRefused("send a key: Authorization: Bearer <key>")
        key = self._keys.of(given.strip())
        if key is None:
            raise KeyRefused("this key is not known")
        return key

    def _slow_down(self, key: Key) -> None:
        rate = key.rate or self._limits.rate
        if rate is None:
            return
        bucket = self._buckets.get(key.name)
        if bucket is None or bucket.rate != rate:
            bucket = self._buckets[key.name] = Bucket(rate)
        if (seconds := bucket.take()) > 0:
            error = TooMany(f"{rate:g} requests per second are allowed; wait {seconds:.2f} seconds")
            error.headers = ((b"retry-after", str(ceil(seconds)).encode()),)
            raise error

    def _most(self, path: str) -> int:
        return self._limits.body if path in MANY else min(self._limits.body, self._limits.single)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """A body of limited size, in limited time."""
        most = left = self._most(scope["path"])
        ends, is_whole = time.monotonic() + self._limits.seconds, False

        async def limited() -> Message:
            nonlocal left, is_whole
            if is_whole:
                return await receive()  # for its end
            try:
                if _has_arrived(receive):
                    message = await receive()
                else:
                    async with asyncio.timeout(ends - time.monotonic()):
                        message = await receive()
            except TimeoutError:
                raise TooSlow(f"the request did not arrive within {self._limits.seconds:g} seconds") from None
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if left < 0:
                    raise TooLarge(f"a request has at most {most:,} bytes")
            return message

        return limited


def _has_arrived(receive: Receive) -> bool:
    """Is the whole body here? Then there is no need to watch the time, which costs more than to take it."""
    return getattr(getattr(receive, "__self__", None), "more_body", True) is False


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers of a request; of two that say who it is, none can be trusted."""
    headers = dict(scope["headers"])
    if len(headers) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"]]
        for name in (b"host", b"origin", b"authorization"):
            if names.count(name) > 1:
                raise MalformedRequest(f"the header {name.decode()} is given twice")
    address = (scope.get("raw_path") or b"") + scope["query_string"]
    if b"%" in address or not address.isascii():
        try:
            unquote_to_bytes(address).decode()
        except UnicodeDecodeError:
            raise MalformedRequest("the address is not UTF-8") from None
    return headers


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Does this name, or this number, lead to this machine itself, wherever one is?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_host(headers: dict[bytes, bytes]) -> None:
    """Where there are no keys: a page on the web whose name was made to lead here would call this host by that name."""
    host = PORT.sub("", headers.get(b"host", b"").decode("latin-1").lower())
    origin = PORT.sub("", headers.get(b"origin", b"").decode("latin-1").split("//")[-1].lower())
    if not is_loopback(host.strip("[]")) or (origin and not is_loopback(origin.strip("[]"))):
        raise HostRefused(
            "without keys, only programs and pages of this machine are answered: the header Host, and Origin if there "
            "is one, must name localhost or 127.0.0.1; with keys, any will do"
        )


async def refuse(error: ServiceError, send: Send) -> None:
    """Answer with an error."""
    body = json.dumps({"error": type(error).__name__, "message": str(error)}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *error.headers,
    ]
    if isinstance(error, KeyRefused):
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
