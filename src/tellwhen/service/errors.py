"""Errors of the service. Each class has the HTTP status of its response."""

from __future__ import annotations

from tellwhen import errors
from tellwhen.errors import TellwhenError

CLOSE_CONNECTION = ((b"connection", b"close"),)
"""Header for errors that are sent before the whole body has been read, because the rest of it will not be read."""


class ServiceError(TellwhenError):
    """The base of all errors of the service."""

    status = 500
    headers: tuple[tuple[bytes, bytes], ...] = ()


class MalformedRequest(ServiceError, ValueError):
    """A body, parameter, header or address that is malformed."""

    status = 422


class KeyRefused(ServiceError, PermissionError):
    """A request without a key, or with an unknown key."""

    status = 401


class RoleMissing(ServiceError, PermissionError):
    """A request that needs a role that its key lacks."""

    status = 403


class HostRefused(ServiceError, PermissionError):
    """A request to another host name while the service has no keys, as a malicious web page could send it."""

    status = 421


class ReadOnly(ServiceError):
    """A change of an index that Spark builds and the service only follows."""

    status = 409


class CursorExpired(ServiceError):
    """A cursor of a version of the index that is no longer served."""

    status = 409


class TooLarge(ServiceError, ValueError):
    """A request, or its response, that exceeds a limit of size."""

    status = 413
    headers = CLOSE_CONNECTION


class TooMany(ServiceError):
    """Too many requests of a key, or too many listeners."""

    status = 429


class TooSlow(ServiceError, TimeoutError):
    """A request that exceeds the time limit."""

    status = 504
    headers = CLOSE_CONNECTION


class Unavailable(ServiceError):
    """Damaged files of the service; its log has the details."""

    status = 503


class StorageError(ServiceError, OSError):
    """A change that could not be written to disk, and was not made."""

    status = 507

    def __str__(self) -> str:
        return str(self.args[0])


STATUS_BY_ERROR: list[tuple[type[Exception], int]] = [
    (errors.UnknownId, 404),
    (errors.DuplicateId, 409),
    (MemoryError, 507),
]


def get_status(error: Exception) -> int:
    """Return the HTTP status of an error; 422 for errors of an index, because the request caused them."""
    if isinstance(error, ServiceError):
        return error.status
    return next((status for kind, status in STATUS_BY_ERROR if isinstance(error, kind)), 422)
