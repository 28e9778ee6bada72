"""How do live matches reach a listener? As server-sent events, until one of both ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from tellwhen.service.listeners import Listener
from tellwhen.service.messages import message

HEARTBEAT_SECONDS = 15.0
"""A comment is sent when nothing else was, so that both notice when the other has gone."""


class EventStream(Response):
    """What a listener is told, until `is_let_in` says no. (One that reads nothing is cut off: see `protocol.py`.)"""

    media_type = "text/event-stream"

    def __init__(
        self,
        listener: Listener,
        leave: Callable[[], None],
        is_let_in: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__()
        self._listener, self._leave, self._is_let_in = listener, leave, is_let_in
        self.raw_headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        gone: asyncio.Future[Any] = asyncio.ensure_future(_gone(receive))
        news: asyncio.Future[Any] | None = None
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _put(send, b": connected\n\n")
            while not gone.done():
                if news is None:
                    news = asyncio.ensure_future(self._listener.next())
                await asyncio.wait([gone, news], timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if self._listener.is_ended or not self._is_let_in():
                    break  # the service stops, or the key was removed
                if not news.done():
                    await _put(send, b": still here\n\n")
                    continue
                chunk = b"".join(one.written for one in news.result())
                news = None
                if self._listener.lost:
                    chunk += message("lost", {"count": self._listener.lost})
                    self._listener.lost = 0
                await _put(send, chunk)
            with suppress(Exception):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._leave()
            gone.cancel()
            if news is not None:
                news.cancel()


async def _put(send: Any, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
