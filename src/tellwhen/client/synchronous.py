"""The blocking client, and the steps of a call that the async client shares: HTTP options, answers and errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from tellwhen.client.calls import SUBSCRIPTIONS_PER_PAGE_MAX, Call, ClientMethods, Id, build_listen_call
from tellwhen.client.errors import ServiceError, make_error
from tellwhen.client.messages import Message, MessageParser
from tellwhen.errors import ArgumentError, TellwhenError, abbreviate
from tellwhen.index.subscriptions import Subscription

PORT_MAX = 65_535

LISTEN_TIMEOUT_SECONDS = 60.0
"""End listening after 60 seconds without data: the service sends at least a comment every 15 seconds."""


def make_http_options(url: str, key: str | None, timeout: float, options: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `httpx2.Client`; raise ArgumentError for an invalid address or key."""
    try:
        port = httpx2.URL(url).port or 0
    except (httpx2.InvalidURL, TypeError) as error:
        raise ArgumentError(
            f"expected the address of a service, such as http://127.0.0.1:8080, found {abbreviate(url)}: {error}"
        ) from None
    if port > PORT_MAX:
        raise ArgumentError(f"{abbreviate(url)}: expected a port of at most {PORT_MAX}, found {port}")
    if not url.startswith(("http://", "https://")):
        raise ArgumentError(f"the address of a service starts with http:// or https://, not {abbreviate(url)}")
    key = None if key is None else key.strip()
    if key is not None and not (key.isascii() and key.isprintable()):
        # The message does not show the key, because messages end up in logs.
        raise ArgumentError("a key is printable ASCII text; pass the key as `tellwhen keys add` printed it")
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout, **options}


def read_answer(call: Call, response: httpx2.Response) -> Any:
    """Return the result of a call; raise the error that the answer describes."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and body is not None:
        return body if call.convert is None else call.convert(body)
    raise make_error(response.status_code, body, response.headers.get("retry-after", ""))


def convert_http_error(error: httpx2.HTTPError | httpx2.InvalidURL) -> TellwhenError:
    """Return the error to raise for an error of the HTTP library."""
    if isinstance(error, httpx2.InvalidURL):
        return ArgumentError(f"an id or a search text cannot be part of a URL: {error}")
    return ServiceError(f"the service does not answer: {error or type(error).__name__}", 0, type(error).__name__)


class Client(ClientMethods):
    """A client of a service. Threads may share it.

    Parameters
    ----------
    url : str
        The address of the service.
    key : str, optional
        A key that `tellwhen keys add` printed.
    timeout : float, default 30.0
        Seconds to wait for the connection, and for each part of an answer.
    **options
        Other arguments of `httpx2.Client`, such as `verify` for certificates.

    Raises
    ------
    ServiceError
        By every method, if the service does not answer, refuses the key, allows no more requests now, or a request
        exceeds a limit of the service. For all other reasons, methods raise the errors of `Index`.

    Examples
    --------
    >>> from tellwhen.client import Client
    >>> with Client("http://127.0.0.1:8080") as client:                     # doctest: +SKIP
    ...     client.add("ann", "price < 20", payload={"subscriber": "ann"})
    ...     client.publish({"price": 12})
    ['ann']
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, **options: Any) -> None:
        self._http = httpx2.Client(**make_http_options(url, key, timeout, options))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __len__(self) -> int:
        return int(self.get_service_info()["subscriptions"])

    def _send(self, call: Call) -> Any:
        try:
            response = self._http.request(call.method, call.path, **call.http_options)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise convert_http_error(error) from error
        return read_answer(call, response)

    def iter_subscriptions(self) -> Iterator[Subscription]:
        """Iterate over all subscriptions, in the order in which their ids were first added.

        Subscriptions are read page by page. A subscription that is added or removed meanwhile may be missing.

        Yields
        ------
        Subscription
            A subscription, as `get_subscription` returns it.
        """
        start: Any = None
        while True:
            page = self.list_subscriptions(start=start, limit=SUBSCRIPTIONS_PER_PAGE_MAX)
            yield from page.subscriptions
            start = page.next
            if start is None:
                return

    def listen(self, *, subscriber: Any = None, ids: Iterable[Id] = (), filter: str | None = None) -> Iterator[Message]:
        """Listen for matches of published events, until the caller stops iterating or the connection ends.

        Matches are not stored: a client that listens later does not get them. All conditions must hold.

        Parameters
        ----------
        subscriber : str or int, optional
            Only matches of subscriptions whose payload has this `subscriber`.
        ids : iterable of id, optional
            Only matches of these subscriptions. All ids are strings, or all are integers.
        filter : str, optional
            Only matches of events that satisfy this expression.

        Yields
        ------
        Message
            An event with its matches, or the number of lost messages.

        Raises
        ------
        ParseError
            If `filter` is not an expression.
        ServiceError
            If the service does not answer, or nothing arrives for 60 seconds.
        """
        call, parser = build_listen_call(subscriber, ids, filter), MessageParser()
        try:
            with self._http.stream(
                "GET", call.path, params=dict(call.query), timeout=LISTEN_TIMEOUT_SECONDS
            ) as response:
                if not response.is_success:
                    response.read()
                    read_answer(call, response)
                for line in response.iter_lines():
                    if (message := parser.feed(line)) is not None:
                        yield message
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise convert_http_error(error) from error
