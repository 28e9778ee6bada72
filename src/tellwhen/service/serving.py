"""How is the service started? Where it listens, with which certificate, and what it refuses."""

from __future__ import annotations

import ipaddress
import logging
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from tellwhen.errors import ArgumentError
from tellwhen.index import Index
from tellwhen.service.app import create_app
from tellwhen.service.keys import DEFAULT_TENANT
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import is_saved_index

log = logging.getLogger("tellwhen")

SHUTDOWN_SECONDS = 3
"""How long those who listen may take to leave."""


def is_loopback(host: str) -> bool:
    """Can only this machine reach it?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def data_folder(folder: Path) -> Path:
    """Where the service keeps what it serves: a saved index is left as it is, and its copy is kept beside it."""
    return folder.with_name(f"{folder.name}-service") if is_saved_index(folder) else folder


def serve(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | None = None,
    engine: str = "auto",
    schema: Any = None,
    memory_limit: int | None = None,
    certificate: Path | None = None,
    private_key: Path | None = None,
    console: bool = True,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until it is stopped. `ready` is called with the address."""
    data = data_folder(folder)
    if not is_loopback(host) and not (data / "keys.json").exists():
        raise ArgumentError(
            f"{host} can be reached from other machines, and there are no keys; make one: "
            f"tellwhen keys add {data} NAME --role manage"
        )
    if (certificate is None) != (private_key is None):
        raise ArgumentError("TLS needs two files: a certificate and its private key")
    app = create_app(data, limits, _maker(folder, data, engine, schema, memory_limit), memory_limit, console)
    _raise_open_files()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        lifespan="on",
    )
    _Server(config, ready).run()


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            scheme = "https" if self.config.ssl_certfile else "http"
            self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")


def _maker(folder: Path, data: Path, engine: str, schema: Any, memory_limit: int | None) -> Callable[[str], Index]:
    """What the index of a tenant begins with: nothing, or what was saved, for the default tenant."""

    def make(tenant: str) -> Index:
        if folder != data and tenant == DEFAULT_TENANT:
            return Index.load(folder, memory_limit=memory_limit)
        return Index(engine, schema=schema, memory_limit=memory_limit)

    return make


def _raise_open_files() -> None:
    """Each listener is an open file."""
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
