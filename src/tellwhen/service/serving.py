"""How is the service started? Where it listens, with which certificate, and what it refuses."""

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
from tellwhen.service.protocol import ImpatientProtocol
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import data_folder

SWITCH_SECONDS = 0.0005
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays."""
SHUTDOWN_SECONDS = 3
"""How long those who listen may take to leave."""


def serve(folder: Path, *, ready: Callable[[str, str], None] = lambda address, what: None, **given: Any) -> None:
    """Serve until the process is stopped. `ready` is called with the address and a few words about what is served; all
    else as in `running`."""
    # A change of many subscriptions is made in a thread, in Python: those who publish meanwhile wait for shorter turns.
    sys.setswitchinterval(SWITCH_SECONDS)
    config, listening = _prepared(folder, **given)
    _Server(config, ready).run([listening])


def running(folder: str | os.PathLike[str], **given: Any) -> Running:
    """Start a service in a thread of this process, on any free port: for tests, and to try it out.

    It takes the options of `tellwhen serve`: `host`, `port`, `limits`, `engine`, `schema`, `memory_limit`,
    `accept_loss`, `certificate`, `private_key` and `console`.
    """
    return Running(*_prepared(Path(folder), **{"port": 0, **given}))


class Running:
    """A service that runs, at its `address`, until it is closed or the end of `with`."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        self._listening = listening
        self._said: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()
        self._server = _Server(config, lambda address, what: self._said.put(address))
        self._thread = threading.Thread(target=self._run, name="tellwhen-service", daemon=True)
        self._thread.start()
        address = self._said.get()
        if isinstance(address, BaseException):
            raise address
        self.address = address

    def _run(self) -> None:
        try:
            self._server.run([self._listening])
            self._said.put(OSError("the service did not start; the log says why"))
        except BaseException as error:
            self._said.put(error)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop it, and wait until all is on disk."""
        self._server.should_exit = True
        self._thread.join()


def _prepared(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | None = None,
    engine: str | None = None,
    schema: Any = None,
    memory_limit: int | None = None,
    accept_loss: bool = False,
    certificate: Path | None = None,
    private_key: Path | None = None,
    console: bool = True,
) -> tuple[uvicorn.Config, socket.socket]:
    """All that can go wrong before it runs: nothing is left open then."""
    if folder.is_file():
        raise ArgumentError(f"{folder} is a file; build an index of it first: tellwhen build {folder} -o index")
    data = data_folder(folder)
    if not is_loopback(host) and not (data / "keys.json").exists():
        raise ArgumentError(
            f"{host} can be reached from other machines, and there are no keys; make one: "
            f"tellwhen keys add {data} NAME --role read --role publish --role manage"
        )
    if (certificate is None) != (private_key is None):
        raise ArgumentError("TLS needs two files: a certificate and its private key")
    _raise_open_files()
    _compile_what_is_hot(engine or "auto")
    with ExitStack() as undone:
        listening = undone.enter_context(_bound(host, port))
        made = {"engine": engine, "schema": schema, "memory_limit": memory_limit, "accept_loss": accept_loss}
        app = create_app(folder, limits, console=console, **made)
        undone.pop_all()
    config = uvicorn.Config(
        app,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        http=ImpatientProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        lifespan="on",
    )
    return config, listening


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ArgumentError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None


def _compile_what_is_hot(engine: str) -> None:
    """Before it listens: the first request would have to wait for it, and all others with it."""
    index = Index(engine).add("a", "x = 1 AND y > 2", score=1.0)
    event = {"x": 1, "y": 3}
    index.match(event)
    index.match_many([event])
    index.top_k(event, 1)


class _Server(uvicorn.Server):
    """Says where it listens, once it does, and ends streams before it stops."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str, str], None]) -> None:
        super().__init__(config)
        self._app: Any = config.app
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            scheme = "https" if self.config.ssl_certfile else "http"
            self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}", self._app.summary)

    async def shutdown(self, sockets: Any = None) -> None:
        self._app.end()
        await super().shutdown(sockets)


def _raise_open_files() -> None:
    """Each listener is an open file."""
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
