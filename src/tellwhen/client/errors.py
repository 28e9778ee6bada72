"""Errors for answers without success: the errors that an `Index` raises, and `ServiceError` for all others."""

from __future__ import annotations

from typing import Any

from tellwhen import errors
from tellwhen.errors import ParseError, TellwhenError


class ServiceError(TellwhenError):
    """An error of the service itself, such as a refused key or no answer at all.

    Attributes
    ----------
    status : int
        The HTTP status of the answer; 0 without an answer.
    kind : str
        The name of the error in the answer, such as "KeyRefused".
    retry_after : int or None
        After how many seconds the request may be sent again, if the service says so (status 429).
    """

    def __init__(self, message: str, status: int, kind: str = "", retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.retry_after = status, kind, retry_after


def make_error(status: int, body: Any, retry_after: str = "") -> TellwhenError:
    """Return the error that an answer describes.

    Parameters
    ----------
    status : int
        The HTTP status.
    body
        The JSON of the answer; None if it is not JSON.
    retry_after : str
        The header `Retry-After`, in seconds. A date is ignored: the service sends none.
    """
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return ServiceError(
            f"expected an answer of a tellwhen service, found status {status} without an error in JSON; "
            "check the address of the service",
            status,
        )
    kind, message = str(body.get("error")), body["message"]
    if kind == "ParseError":
        error = ParseError(message)
        error.position = body.get("position") or 0
        return error
    error_class = getattr(errors, kind, None)
    if isinstance(error_class, type) and issubclass(error_class, TellwhenError):
        return error_class(message)
    return ServiceError(message, status, kind, int(retry_after) if retry_after.isdecimal() else None)
