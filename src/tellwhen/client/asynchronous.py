"""The async client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx2

from tellwhen.client.calls import SUBSCRIPTIONS_PER_PAGE_MAX, Call, ClientMethods, Id, build_listen_call
from tellwhen.client.messages import Message, MessageParser
from tellwhen.client.synchronous import LISTEN_TIMEOUT_SECONDS, convert_http_error, make_http_options, read_answer
from tellwhen.index.subscriptions import Subscription


class AsyncClient(ClientMethods):
    """A client of a service for asyncio, with the methods of `Client`.

    Every method returns an awaitable of the result, except that `iter_subscriptions` and `listen` are iterated with
    `async for`.

    Parameters
    ----------
    url : str
        The address of the service.
    key : str, optional
        A key that `tellwhen keys add` printed.
    timeout : float, default 30.0
        Seconds to wait for the connection, and for each part of an answer.
    **options
        Other arguments of `httpx2.AsyncClient`, such as `verify` for certificates.

    Raises
    ------
    ServiceError
        By every method, if the service does not answer, refuses the key, or allows no more requests now. For
        all other reasons, methods raise the errors of `Index`.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, **options: Any) -> None:
        self._http = httpx2.AsyncClient(**make_http_options(url, key, timeout, options))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _send(self, call: Call) -> Any:
        try:
            response = await self._http.request(call.method, call.path, **call.http_options)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise convert_http_error(error) from error
        return read_answer(call, response)

    async def iter_subscriptions(self) -> AsyncIterator[Subscription]:
        """Iterate over all subscriptions, in the order in which their ids were first added.

        Subscriptions are read page by page. A subscription that is added or removed meanwhile may be missing.

        Yields
        ------
        Subscription
            A subscription, as `get_subscription` returns it.
        """
        start: Any = None
        while True:
            page = await self.list_subscriptions(start=start, limit=SUBSCRIPTIONS_PER_PAGE_MAX)
            for subscription in page.subscriptions:
                yield subscription
            start = page.next
            if start is None:
                return

    async def listen(
        self, *, subscriber: Any = None, ids: Iterable[Id] = (), filter: str | None = None
    ) -> AsyncIterator[Message]:
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
            async with self._http.stream(
                "GET", call.path, params=dict(call.query), timeout=LISTEN_TIMEOUT_SECONDS
            ) as response:
                if not response.is_success:
                    await response.aread()
                    read_answer(call, response)
                async for line in response.aiter_lines():
                    if (message := parser.feed(line)) is not None:
                        yield message
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise convert_http_error(error) from error
