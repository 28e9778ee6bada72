"""What does an answer mean that is no success? The same errors that an `Index` raises; a `ServiceError` for others."""

from __future__ import annotations

from typing import Any

from tellwhen import errors
from tellwhen.errors import ParseError, TellwhenError


class ServiceError(TellwhenError):
    """The service refuses, or cannot be understood. `status` is that of its answer, `kind` the name it gives;
    `retry_after` says in how many seconds to try again, if that helps (status 429)."""

    def __init__(self, message: str, status: int, kind: str = "", retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.retry_after = status, kind, retry_after


def error_of(status: int, body: Any, retry_after: str = "") -> TellwhenError:
    """The error that an answer stands for."""
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return ServiceError(f"the service answers with status {status}: is this its address?", status)
    kind, message = str(body.get("error")), body["message"]
    if kind == "ParseError":
        error = ParseError(message)
        error.position = body.get("position") or 0
        return error
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, TellwhenError):
        return known(message)
    return ServiceError(message, status, kind, int(retry_after) if retry_after.isdecimal() else None)
