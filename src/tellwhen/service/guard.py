"""Authentication, roles and limits of requests, before they reach the application."""

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
from tellwhen.service.keys import ANONYMOUS_KEY, Key, Keys
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenants

log = logging.getLogger("tellwhen")

PATHS_WITHOUT_KEY = ("/", "/healthz", "/readyz", "/openapi.json", "/favicon.ico")
"""Paths that need no key. The files of the console need none either."""

BULK_PATHS = ("/v1/subscriptions", "/v1/subscriptions/remove", "/v1/scores", "/v1/publish/many")
"""Paths whose requests may have `Limits.body` bytes; all others may have `Limits.single` bytes."""

CONTENT_LENGTH_DIGITS_MAX = 18
"""A Content-Length with more digits is too large, and is not converted to an int, which would take long."""

PORT_SUFFIX = re.compile(r":\d+$")

CLIENT_CLOSED_STATUS = 499
"""Status in the metrics of a request whose client disconnected; nginx uses it, too."""

SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
]


def get_required_role(method: str, path: str) -> str:
    """Return the role that a request needs."""
    if path.startswith("/v1/publish"):
        return "publish"
    if path.startswith(("/v1/subscriptions", "/v1/scores")) and method not in ("GET", "HEAD"):
        return "manage"
    return "read"


class TokenBucket:
    """Rate limiter of one key: `rate` requests per second, in bursts of up to one second's worth."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._tokens = max(1.0, rate)
        self._refill_time = time.monotonic()

    def take(self) -> float:
        """Take a token and return 0, or return the seconds to wait if the bucket is empty."""
        now = time.monotonic()
        self._tokens = min(max(1.0, self.rate), self._tokens + (now - self._refill_time) * self.rate)
        self._refill_time = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self.rate


class Guard:
    """The outermost ASGI application: checks requests, and passes them on with their tenant."""

    def __init__(self, app: Any, keys: Keys, tenants: Tenants, limits: Limits) -> None:
        self._app, self._keys, self._tenants, self._limits = app, keys, tenants, limits
        self._buckets: dict[str, TokenBucket] = {}

    def close_listeners(self) -> None:
        """End all streams of live matches, so that the server can stop."""
        for tenant in self._tenants.list_open():
            tenant.listeners.close_all()

    @property
    def startup_message(self) -> str:
        """The number and place of the subscriptions, for the message at the start."""
        count = sum(len(tenant.index) for tenant in self._tenants.list_open())
        return f"{pluralize(count, 'subscription')} in {self._tenants.folder}{self._tenants.note}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, pass it on, and count it (ASGI)."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        status = 500
        scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, self._limit_body(scope, receive), send_with_headers)
        except ServiceError as error:
            await send_error(error, send_with_headers)
        except ClientDisconnect:
            status = CLIENT_CLOSED_STATUS
        finally:
            if (tenant := scope["state"].get("tenant")) is not None:
                route = scope.get("route")
                tenant.metrics.requests.labels(getattr(route, "path", "none"), str(status)).inc()
        return None

    def _check(self, scope: Scope) -> None:
        """Check a request; log an unreadable file of the service, and raise `Unavailable` without its details."""
        try:
            self._admit(scope)
        except (TellwhenError, OSError) as error:
            if isinstance(error, ServiceError):
                raise
            log.error("tellwhen: no request is admitted: %s", error)
            raise Unavailable("the service cannot read its files; its log has the details") from None

    def _admit(self, scope: Scope) -> None:
        """Check length, host, key, role and rate of a request; add the key and its tenant to the request's state."""
        state = scope["state"]
        path, headers = scope["path"], _validate_head(scope)
        length = headers.get(b"content-length", b"0").lstrip(b"0")
        if length.isdigit() and (len(length) > CONTENT_LENGTH_DIGITS_MAX or int(length) > self._get_body_limit(path)):
            raise TooLarge(f"a request to this path has at most {self._get_body_limit(path):,} bytes")
        if not self._keys.is_in_use:
            _check_host(headers)
        if path in PATHS_WITHOUT_KEY or path.startswith("/console/"):
            return
        key = self._authenticate(headers)
        if (role := get_required_role(scope["method"], path)) not in key.roles:
            raise RoleMissing(f"this request needs the role {role}; the key {key.name} has {', '.join(key.roles)}")
        self._check_rate(key)
        state["key"], state["tenant"] = key, self._tenants.get(key.tenant)
        state["has_access"] = lambda: not self._keys.is_in_use or key in self._keys.list_keys()

    def _authenticate(self, headers: dict[bytes, bytes]) -> Key:
        """Return the key of a request; raise `KeyRefused` if it has none or an unknown one."""
        if not self._keys.is_in_use:
            return ANONYMOUS_KEY
        scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise KeyRefused("send a key: Authorization: Bearer <key>")
        key = self._keys.find(secret.strip())
        if key is None:
            raise KeyRefused("this key is unknown")
        return key

    def _check_rate(self, key: Key) -> None:
        rate = key.rate or self._limits.rate
        if rate is None:
            return
        bucket = self._buckets.get(key.name)
        if bucket is None or bucket.rate != rate:
            bucket = self._buckets[key.name] = TokenBucket(rate)
        if (seconds := bucket.take()) > 0:
            error = TooMany(f"{rate:g} requests per second are allowed for this key; wait {seconds:.2f} seconds")
            error.headers = ((b"retry-after", str(ceil(seconds)).encode()),)
            raise error

    def _get_body_limit(self, path: str) -> int:
        return self._limits.body if path in BULK_PATHS else min(self._limits.body, self._limits.single)

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that raises if the body is too large or arrives too slowly."""
        bytes_max = bytes_left = self._get_body_limit(scope["path"])
        deadline, is_complete = time.monotonic() + self._limits.seconds, False

        async def receive_limited() -> Message:
            nonlocal bytes_left, is_complete
            if is_complete:
                return await receive()  # waits for the disconnect
            try:
                if _has_arrived(receive):
                    message = await receive()
                else:
                    async with asyncio.timeout(deadline - time.monotonic()):
                        message = await receive()
            except TimeoutError:
                raise TooSlow(f"the request did not arrive within {self._limits.seconds:g} seconds") from None
            if message["type"] == "http.request":
                bytes_left -= len(message.get("body", b""))
                is_complete = not message.get("more_body", False)
                if bytes_left < 0:
                    raise TooLarge(f"a request to this path has at most {bytes_max:,} bytes")
            return message

        return receive_limited


def _has_arrived(receive: Receive) -> bool:
    """Return whether uvicorn has the whole body; a timeout is not needed then, and costs more than receiving."""
    return getattr(getattr(receive, "__self__", None), "more_body", True) is False


def _validate_head(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; raise if an identifying header is repeated, or if the address is not UTF-8.

    Proxies and servers disagree about which of two equal headers counts, so neither can be trusted.
    """
    headers = dict(scope["headers"])
    if len(headers) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"]]
        for name in (b"host", b"origin", b"authorization"):
            if names.count(name) > 1:
                raise MalformedRequest(f"the header {name.decode()} occurs twice; send it once")
    address = (scope.get("raw_path") or b"") + scope["query_string"]
    if b"%" in address or not address.isascii():
        try:
            unquote_to_bytes(address).decode()
        except UnicodeDecodeError:
            raise MalformedRequest("the address is not UTF-8; encode it before %-encoding") from None
    return headers


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return whether a host name or an IP address always leads to this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_host(headers: dict[bytes, bytes]) -> None:
    """Reject foreign Host and Origin headers when no API keys are in use (DNS rebinding)."""
    host = PORT_SUFFIX.sub("", headers.get(b"host", b"").decode("latin-1").lower())
    origin = PORT_SUFFIX.sub("", headers.get(b"origin", b"").decode("latin-1").split("//")[-1].lower())
    if not is_loopback(host.strip("[]")) or (origin and not is_loopback(origin.strip("[]"))):
        raise HostRefused(
            "without keys, the service answers only programs and pages of this machine: the headers Host and Origin "
            "must name localhost or 127.0.0.1; to allow others, add a key with tellwhen keys add"
        )


async def send_error(error: ServiceError, send: Send) -> None:
    """Send the response of an error."""
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
