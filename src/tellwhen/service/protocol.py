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
UNREAD_SECONDS = 30.0
"""For so long, one may read nothing of an answer that is larger than what the system keeps anyway."""


class ImpatientProtocol(HttpToolsProtocol):
    """Ends a connection whose next request does not begin with a whole head, in time and of a decent size, and one
    over which nobody reads."""

    _late: asyncio.TimerHandle | None = None
    _bytes = 0
    _watch: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._late is not None:
            self._bytes += len(data)
            if self._bytes > HEAD_BYTES:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._bytes = 0
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    # Called when more is written than the client reads, and when it has read most of it.

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        self._stop_watching()
        super().resume_writing()

    def _look_later(self) -> None:
        self._unread = _unread(self.transport)
        self._watch = self.loop.call_later(UNREAD_SECONDS, self._look)

    def _look(self) -> None:
        if _unread(self.transport) < self._unread:
            self._look_later()
        else:
            self.transport.abort()  # to close it would wait until all is read

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()


def _unread(transport: Any) -> int:
    """Bytes that were written, and did not arrive yet: those that wait here, and those that the system keeps."""
    kept = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    return int(transport.get_write_buffer_size()) + int.from_bytes(kept, sys.byteorder)
