"""Timeouts for clients that send the head of a request too slowly, or do not read their responses.

Uvicorn has no such timeouts: it would keep the connection and its data forever.
"""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tellwhen.service.settings import TIMEOUTS, Timeouts

HEAD_BYTES_MAX = 64 << 10
STREAM_PATHS = ("/v1/live",)
"""Paths whose responses do not end."""


class TimeoutProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, with limits on the size and time of heads and on the time of reading."""

    timeouts: ClassVar[Timeouts] = TIMEOUTS

    _head_timer: asyncio.TimerHandle | None = None  # aborts the connection if no head is complete by then
    _is_in_head = False
    _head_count = 0  # heads that have begun on this connection
    _head_chunk_bytes = 0  # bytes of the current head, without the chunk of data in which it began
    _head_line_bytes = 0  # bytes of the current head in complete lines
    _read_timer: asyncio.TimerHandle | None = None
    _unread_bytes = 0  # when the read timer was started

    def connection_made(self, transport: Any) -> None:
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    # heads

    def data_received(self, data: bytes) -> None:
        """Parse data, and abort the connection if the current head is too large."""
        head_before = self._head_count if self._is_in_head else None
        super().data_received(data)
        if self._is_in_head:
            self._head_chunk_bytes += len(data) if self._head_count == head_before else 0
            if max(self._head_chunk_bytes, self._head_line_bytes) > HEAD_BYTES_MAX:
                self.transport.abort()
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._head_timer is None and not self.transport.is_closing():
            # The data did not begin a request, and uvicorn has stopped its timer of idle connections.
            self._start_head_timer()

    def on_message_begin(self) -> None:
        """Start to count and time a new head."""
        super().on_message_begin()
        self._is_in_head, self._head_chunk_bytes, self._head_line_bytes = True, 0, 0
        self._head_count += 1
        self._start_head_timer()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the address."""
        self._head_line_bytes += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self._head_line_bytes += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer of the head; abort the connection if the request would wait behind an endless stream."""
        self._is_in_head = False
        self._stop_head_timer()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.scope["path"] in STREAM_PATHS:
            # The request would never be answered, and while it waits, uvicorn would not notice a disconnect.
            self.transport.abort()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body, unless the connection is being closed."""
        if not self.transport.is_closing():
            super().on_body(body)

    def _start_head_timer(self) -> None:
        self._stop_head_timer()
        self._head_timer = self.loop.call_later(self.timeouts.head_seconds, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    # responses

    def pause_writing(self) -> None:
        """Start the read timer: the buffer of unread data is full."""
        super().pause_writing()
        self._start_read_timer()

    def resume_writing(self) -> None:
        """Stop the read timer: the client has read most of the data."""
        self._stop_read_timer()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Start the read timer if the connection closes once the client has read the rest."""
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._start_read_timer()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, unless the client is still reading the last response."""
        if not self.transport.get_write_buffer_size():
            return super().timeout_keep_alive_handler()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        if self._read_timer is None:
            self._start_read_timer()
        return None

    def _start_read_timer(self) -> None:
        self._stop_read_timer()
        self._unread_bytes = _count_unread_bytes(self.transport)
        self._read_timer = self.loop.call_later(self.timeouts.send_seconds, self._check_reading)

    def _check_reading(self) -> None:
        """Abort the connection if the client has read nothing since the timer was started."""
        buffered_bytes = self.transport.get_write_buffer_size()
        if buffered_bytes and _count_unread_bytes(self.transport) >= self._unread_bytes:
            self.transport.abort()  # `close` would wait until the client has read everything
        elif buffered_bytes:
            self._start_read_timer()
        else:
            self._stop_read_timer()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def make_protocol(timeouts: Timeouts) -> type[TimeoutProtocol]:
    """Return a protocol class with these timeouts, since uvicorn takes a class and calls it without them."""
    return type("ConfiguredTimeoutProtocol", (TimeoutProtocol,), {"timeouts": timeouts})


def _count_unread_bytes(transport: Any) -> int:
    """Return the bytes that were written and have not arrived: in the transport's buffer and in the kernel's."""
    kernel_bytes = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    return int(transport.get_write_buffer_size()) + int.from_bytes(kernel_bytes, sys.byteorder)
