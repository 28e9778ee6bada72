"""Streams of server-sent events, which carry live matches to listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from tellwhen.service.listeners import Listener
from tellwhen.service.messages import encode_message
from tellwhen.service.settings import TIMEOUTS, Timeouts


class EventStream(Response):
    """A response that sends a listener's messages until the client disconnects, loses access, or the service stops.

    `protocol.py` disconnects clients that do not read.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        listener: Listener,
        remove_listener: Callable[[], None],
        has_access: Callable[[], bool] = lambda: True,
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        super().__init__()
        self._listener, self._remove_listener, self._has_access = listener, remove_listener, has_access
        self._timeouts = timeouts
        self.raw_headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the response (ASGI)."""
        disconnect: asyncio.Future[Any] = asyncio.ensure_future(_wait_for_disconnect(receive))
        messages: asyncio.Future[Any] | None = None
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _send_chunk(send, b": connected\n\n")
            while not disconnect.done():
                if messages is None:
                    messages = asyncio.ensure_future(self._listener.receive())
                await asyncio.wait(
                    [disconnect, messages],
                    timeout=self._timeouts.heartbeat_seconds,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if self._listener.is_closed or not self._has_access():
                    break  # the service stops, or the key was removed
                if not messages.done():
                    await _send_chunk(send, b": still here\n\n")
                    continue
                chunk = b"".join(message.encoded for message in messages.result())
                messages = None
                if self._listener.unreported_losses:
                    chunk += encode_message("lost", {"count": self._listener.unreported_losses})
                    self._listener.unreported_losses = 0
                await _send_chunk(send, chunk)
            with suppress(Exception):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._remove_listener()
            disconnect.cancel()
            if messages is not None:
                messages.cancel()


async def _send_chunk(send: Any, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _wait_for_disconnect(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
