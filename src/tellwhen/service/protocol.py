"""How long may a client take to send the head of a request, and to read an answer?

The server below us would wait, and keep what was sent or is unread, for ever.
"""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 << 10
HEAD_SECONDS = 30.0
UNREAD_SECONDS = 60.0
"""For so long, one may read nothing of what was sent."""
STREAMS = ("/v1/live",)
"""Paths whose answers do not end."""


class ImpatientProtocol(HttpToolsProtocol):
    """Ends a connection whose next request does not begin with a whole head, in time and of a decent size, and one
    over which nobody reads."""

    _late: asyncio.TimerHandle | None = None  # ends the connection if no head is complete by then
    _is_head = False  # is a head being read?
    _heads = 0  # that have begun
    _bytes = 0  # of the pieces behind that in which a head began
    _read = 0  # of its lines that are whole
    _watch: asyncio.TimerHandle | None = None
    _unread = 0  # when it was looked last

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    # heads

    def data_received(self, data: bytes) -> None:
        before = self._heads if self._is_head else None
        super().data_received(data)
        if self._is_head:
            self._bytes += len(data) if self._heads == before else 0
            if max(self._bytes, self._read) > HEAD_BYTES:
                self.transport.abort()
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._late is None and not self.transport.is_closing():
            self._wait()  # what came was no request, and the time of an idle connection is not counted any more

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_head, self._bytes, self._read = True, 0, 0
        self._heads += 1
        self._wait()

    def on_url(self, url: bytes) -> None:
        self._read += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._read += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_head = False
        self._stop_waiting()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.scope["path"] in STREAMS:
            self.transport.abort()  # its answer would never come, and it would not be noticed when the client leaves
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def _wait(self) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    # answers

    def pause_writing(self) -> None:
        """More is written than the client reads."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """It has read most of it."""
        self._stop_watching()
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():  # it waits until all is read
            self._look_later()

    def timeout_keep_alive_handler(self) -> None:
        """The connection was idle for long; but perhaps the last answer is still being read."""
        if not self.transport.get_write_buffer_size():
            return super().timeout_keep_alive_handler()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        if self._watch is None:
            self._look_later()
        return None

    def _look_later(self) -> None:
        self._stop_watching()
        self._unread = _unread(self.transport)
        self._watch = self.loop.call_later(UNREAD_SECONDS, self._look)

    def _look(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left and _unread(self.transport) >= self._unread:
            self.transport.abort()  # to close it would wait until all is read
        elif left:
            self._look_later()
        else:
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None


def _unread(transport: Any) -> int:
    """Bytes that were written, and did not arrive yet: those that wait here, and those that the system keeps."""
    kept = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    return int(transport.get_write_buffer_size()) + int.from_bytes(kept, sys.byteorder)
