"""A client whose answers are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx2

from tellwhen.client.calls import Call, Calls, Id, listening
from tellwhen.client.messages import Message, Reader
from tellwhen.client.synchronous import answer, options, unreachable


class AsyncClient(Calls):
    """As `Client`, with `await` before every call and `async for` for what is live."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, **given: Any) -> None:
        self._http = httpx2.AsyncClient(**options(url, key, timeout, given))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def _send(self, call: Call) -> Any:
        try:
            response = await self._http.request(call.method, call.path, **call.options)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(error) from error
        return answer(call, response)

    async def all(self) -> AsyncIterator[dict[str, Any]]:
        """All subscriptions, page after page."""
        start: Any = None
        while True:
            found = await self.page(start=start, limit=1_000)
            for one in found["subscriptions"]:
                yield one
            start = found["next"]
            if start is None:
                return

    async def live(
        self, *, subscriber: Any = None, ids: Iterable[Id] = (), filter: str | None = None
    ) -> AsyncIterator[Message]:
        """Matches as they are published, until the caller ends it or the connection does."""
        call, reader = listening(subscriber, ids, filter), Reader()
        try:
            async with self._http.stream("GET", call.path, params=dict(call.query), timeout=60.0) as response:
                if not response.is_success:
                    await response.aread()
                    answer(call, response)
                async for line in response.aiter_lines():
                    if (message := reader.feed(line)) is not None:
                        yield message
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(error) from error
