"""Start and stop of the service: its options, socket, certificate and HTTP server."""

from __future__ import annotations

import os
import queue
import resource
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import uvicorn

from tellwhen.errors import ArgumentError
from tellwhen.index import Index
from tellwhen.service.app import create_app
from tellwhen.service.guard import is_loopback
from tellwhen.service.protocol import make_protocol
from tellwhen.service.settings import TIMEOUTS, Limits, Timeouts
from tellwhen.service.tenants import resolve_data_folder

THREAD_SWITCH_SECONDS = 0.0005
"""A change of many subscriptions runs Python code in a thread. Shorter turns of the threads let requests wait less."""
SOCKET_BACKLOG = 2048
"""Connections that may wait to be accepted."""


def serve(
    folder: Path,
    *,
    ready: Callable[[str, str], None] = lambda address, what: None,
    timeouts: Timeouts = TIMEOUTS,
    **options: Any,
) -> None:
    """Serve an index until the process is stopped.

    Parameters
    ----------
    folder
        The folder of a service, a saved index, an index built on Spark, or an empty folder.
    ready
        Is called with the address and a description of what is served, once the service listens.
    timeouts
        Timeouts and intervals.
    **options
        The options of `run_in_background`.

    Raises
    ------
    ArgumentError
        If an option is invalid, the address is in use, or `host` is not local and there are no keys.
    FormatError
        If files of the service are damaged, or another service uses the folder.
    """
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    config, listening_socket = _prepare(folder, timeouts=timeouts, **options)
    _Server(config, ready).run([listening_socket])


def run_in_background(
    folder: str | os.PathLike[str], *, timeouts: Timeouts = TIMEOUTS, **options: Any
) -> BackgroundService:
    """Start a service in a thread of this process, on a free port unless `port` is given: for tests, and to try it out.

    Parameters
    ----------
    folder
        The folder of a service, a saved index, an index built on Spark, or an empty folder.
    timeouts
        Timeouts and intervals.
    **options
        The options of `tellwhen serve`: `host`, `port`, `limits`, `engine`, `schema`, `memory_limit`, `accept_loss`,
        `certificate`, `private_key` and `console`.

    Returns
    -------
    BackgroundService
        The service, with its `address`. Call `close`, or use `with`.

    Raises
    ------
    ArgumentError
        If an option is invalid, the address is in use, or `host` is not local and there are no keys.
    FormatError
        If files of the service are damaged, or another service uses the folder.
    """
    return BackgroundService(*_prepare(Path(folder), timeouts=timeouts, **{"port": 0, **options}))


class BackgroundService:
    """A running service at `address`. It stops at `close` or at the end of a `with` statement."""

    def __init__(self, config: uvicorn.Config, listening_socket: socket.socket) -> None:
        self._socket = listening_socket
        self._startup: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()  # the address or an error
        self._server = _Server(config, lambda address, what: self._startup.put(address))
        self._thread = threading.Thread(target=self._run, name="tellwhen-service", daemon=True)
        self._thread.start()
        address = self._startup.get()
        if isinstance(address, BaseException):
            raise address
        self.address = address

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
            self._startup.put(OSError("the service did not start; its log has the reason"))
        except BaseException as error:
            self._startup.put(error)

    def __enter__(self) -> BackgroundService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the service, and wait until its index is saved."""
        self._server.should_exit = True
        self._thread.join()


def _prepare(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | None = None,
    timeouts: Timeouts = TIMEOUTS,
    engine: str | None = None,
    schema: Any = None,
    memory_limit: int | None = None,
    accept_loss: bool = False,
    certificate: Path | None = None,
    private_key: Path | None = None,
    console: bool = True,
) -> tuple[uvicorn.Config, socket.socket]:
    """Check the options, bind the socket and open the index; after an error, nothing is left open."""
    if folder.is_file():
        raise ArgumentError(f"{folder} is a file; build an index of it first: tellwhen build {folder} -o index")
    data = resolve_data_folder(folder)
    if not is_loopback(host) and not (data / "keys.json").exists():
        raise ArgumentError(
            f"other machines can reach {host}, and there are no keys; add one: "
            f"tellwhen keys add {data} NAME --role read --role publish --role manage"
        )
    if (certificate is None) != (private_key is None):
        raise ArgumentError("TLS needs two files: a certificate and its private key")
    _raise_open_file_limit()
    _compile_kernels(engine or "auto")
    with ExitStack() as stack:
        listening_socket = stack.enter_context(_bind_socket(host, port))
        app = create_app(
            folder,
            limits,
            timeouts=timeouts,
            engine=engine,
            schema=schema,
            memory_limit=memory_limit,
            accept_loss=accept_loss,
            console=console,
        )
        stack.pop_all()  # keep the socket open
    config = uvicorn.Config(
        app,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        http=make_protocol(timeouts),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=timeouts.keep_alive_seconds,
        timeout_graceful_shutdown=timeouts.shutdown_seconds,
        lifespan="on",
    )
    return config, listening_socket


def _bind_socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=SOCKET_BACKLOG)
    except OSError as error:
        raise ArgumentError(f"the service cannot listen on {host}:{port}: {error.strerror or error}") from None


def _compile_kernels(engine: str) -> None:
    """Compile the kernels of matching before the service listens; all requests would wait while the first compiles."""
    index = Index(engine).add("a", "x = 1 AND y > 2", score=1.0)
    event = {"x": 1, "y": 3}
    index.match(event)
    index.match_many([event])
    index.top_k(event, 1)


class _Server(uvicorn.Server):
    """A server that calls `ready` once it listens, and ends the streams of listeners before it stops."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str, str], None]) -> None:
        super().__init__(config)
        self._guard: Any = config.app
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, and call `ready` with the address."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            scheme = "https" if self.config.ssl_certfile else "http"
            self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}", self._guard.startup_message)

    async def shutdown(self, sockets: Any = None) -> None:
        """End the streams of listeners, which have no end of their own, and stop."""
        self._guard.close_listeners()
        await super().shutdown(sockets)


def _raise_open_file_limit() -> None:
    """Raise the limit of open files to the highest allowed value, because each connection is an open file."""
    with suppress(ValueError, OSError):
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
