"""What can go wrong in the service, beside what an index refuses? Each has the status of its answer."""

from __future__ import annotations

from tellwhen import errors
from tellwhen.errors import TellwhenError

CLOSE = ((b"connection", b"close"),)
"""For answers before the whole body was read: the rest of it is not."""


class ServiceError(TellwhenError):
    """Something that is answered with a status."""

    status = 500
    headers: tuple[tuple[bytes, bytes], ...] = ()


class MalformedRequest(ServiceError, ValueError):
    """A body or a parameter that is not what the API describes."""

    status = 422


class KeyRefused(ServiceError, PermissionError):
    """No key, or none that is known."""

    status = 401


class RoleMissing(ServiceError, PermissionError):
    """The key may not do this."""

    status = 403


class HostRefused(ServiceError, PermissionError):
    """A request that names another host, as a page on the web would send it."""

    status = 421


class ReadOnly(ServiceError):
    """This service only follows what is built elsewhere."""

    status = 409


class CursorExpired(ServiceError):
    """A cursor of a version of the index that is not served any more."""

    status = 409


class TooLarge(ServiceError, ValueError):
    """A body, or an answer, above the limit."""

    status = 413
    headers = CLOSE


class TooMany(ServiceError):
    """More requests than the key may send."""

    status = 429


class TooSlow(ServiceError, TimeoutError):
    """The request took longer than it may."""

    status = 504
    headers = CLOSE


class Unavailable(ServiceError):
    """Something on disk is damaged; the log says what."""

    status = 503


class StorageError(ServiceError, OSError):
    """The disk does not take the change; nothing was changed."""

    status = 507

    def __str__(self) -> str:
        return str(self.args[0])


STATUS: list[tuple[type[Exception], int]] = [
    (errors.UnknownId, 404),
    (errors.DuplicateId, 409),
    (MemoryError, 507),
]


def status_of(error: Exception) -> int:
    """With which status is an error answered? What a user sent wrongly is 422."""
    if isinstance(error, ServiceError):
        return error.status
    return next((status for kind, status in STATUS if isinstance(error, kind)), 422)
