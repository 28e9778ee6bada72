"""A client that waits for its answers. Threads may share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from tellwhen.client.calls import Call, Calls, Id, listening
from tellwhen.client.errors import ServiceError, error_of
from tellwhen.client.messages import Message, Reader
from tellwhen.errors import ArgumentError, TellwhenError, abbreviate


def options(url: str, key: str | None, timeout: float, given: dict[str, Any]) -> dict[str, Any]:
    """What a client of HTTP is made with."""
    try:
        if (httpx2.URL(url).port or 0) > 65_535:
            raise TypeError("a port is at most 65535")
    except (httpx2.InvalidURL, TypeError) as error:
        raise ArgumentError(f"{abbreviate(url)} is no address of a service: {error}") from None
    if not url.startswith(("http://", "https://")):
        raise ArgumentError(f"the address of a service begins with http:// or https://, not {abbreviate(url)}")
    key = None if key is None else key.strip()
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ArgumentError("this is no key: it has characters that none has")
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout, **given}


def answer(call: Call, response: httpx2.Response) -> Any:
    """What an answer means, or the error that it stands for."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and body is not None:
        return call.read(body)
    raise error_of(response.status_code, body, response.headers.get("retry-after", ""))


def unreachable(error: httpx2.HTTPError | httpx2.InvalidURL) -> TellwhenError:
    if isinstance(error, httpx2.InvalidURL):  # a text to search for, or an id, that is too long
        return ArgumentError(f"it cannot stand in an address: {error}")
    return ServiceError(f"the service does not answer: {error or type(error).__name__}", 0, type(error).__name__)


class Client(Calls):
    """A service, at its address. Other options are those of `httpx2.Client`, such as `verify` for certificates."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, **given: Any) -> None:
        self._http = httpx2.Client(**options(url, key, timeout, given))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __len__(self) -> int:
        return int(self.about()["subscriptions"])

    def _send(self, call: Call) -> Any:
        try:
            response = self._http.request(call.method, call.path, **call.options)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(error) from error
        return answer(call, response)

    def all(self) -> Iterator[dict[str, Any]]:
        """All subscriptions, page after page."""
        start: Any = None
        while True:
            found = self.page(start=start, limit=1_000)
            yield from found["subscriptions"]
            start = found["next"]
            if start is None:
                return

    def live(self, *, subscriber: Any = None, ids: Iterable[Id] = (), filter: str | None = None) -> Iterator[Message]:
        """Matches as they are published, until the caller ends it or the connection does."""
        call, reader = listening(subscriber, ids, filter), Reader()
        try:
            with self._http.stream("GET", call.path, params=dict(call.query), timeout=60.0) as response:
                if not response.is_success:
                    response.read()
                    answer(call, response)
                for line in response.iter_lines():
                    if (message := reader.feed(line)) is not None:
                        yield message
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(error) from error
