"""The commands `tellwhen serve`, which serves an index over HTTP, and `tellwhen keys`, which manages API keys."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tellwhen.cli.console_output import command, err, fail, out, print_json
from tellwhen.cli.options import JsonOption
from tellwhen.cli.subscription_commands import SchemaOption, StrictOption, read_schema_file

if TYPE_CHECKING:
    from tellwhen.service import Keys

Folder = Annotated[
    Path,
    typer.Argument(help="Folder of a service, of a saved index or of an index built on Spark; or an empty folder."),
]


@command
def serve(
    folder: Folder,
    host: Annotated[
        str, typer.Option(help="Address to listen on; keys are required unless it is local.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)] = 8080,
    engine: Annotated[str | None, typer.Option(help="Engine of a new index; see `tellwhen engines`.")] = None,
    schema: SchemaOption = None,
    strict: StrictOption = False,
    certificate: Annotated[Path | None, typer.Option(help="File with the certificate for TLS.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="File with the private key of the certificate.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second with one key, at most.", min=0.001)] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a request takes, at most.", min=0.1)] = 30.0,
    max_body: Annotated[int, typer.Option(help="Size of a request in bytes, at most.", min=1)] = 16 << 20,
    memory_limit: Annotated[int | None, typer.Option(help="Size of a tenant's index in bytes, at most.", min=1)] = None,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Start even if acknowledged changes are missing in the log.")
    ] = False,
    console: Annotated[bool, typer.Option(help="Serve the web console at /.")] = True,
) -> None:
    """Serve an index over HTTP, with a web console. A change is written to disk before it is acknowledged.

    Example: tellwhen serve data --port 8080
    """
    try:
        from tellwhen import service
    except ImportError as error:
        fail(f"{error.name} is missing: pip install 'tellwhen[service]'")
    logging.getLogger("tellwhen").setLevel(logging.WARNING)  # the log is the only output of a service
    service.serve(
        folder,
        host=host,
        port=port,
        limits=service.Limits(rate=rate, seconds=timeout, body=max_body),
        engine=engine,
        schema=read_schema_file(schema, strict),
        memory_limit=memory_limit,
        accept_loss=accept_loss,
        certificate=certificate,
        private_key=private_key,
        console=console,
        ready=_print_address,
    )


def _print_address(address: str, what: str) -> None:
    err.print(f"tellwhen listens on {address}; {what}; Ctrl-C stops it", soft_wrap=True)


keys = typer.Typer(no_args_is_help=True, help="Add, list and remove the API keys of a service.")


def _open_keys(folder: Path) -> Keys:
    try:
        from tellwhen.service import Keys
        from tellwhen.service.tenants import resolve_data_folder
    except ImportError as error:
        fail(f"{error.name} is missing: pip install 'tellwhen[service]'")
    return Keys(resolve_data_folder(folder) / "keys.json")


@keys.command("add")
@command
def add(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the new key.")],
    role: Annotated[
        list[str], typer.Option(help="Permission: read, publish or manage. Repeat the option for several.")
    ],
    tenant: Annotated[str, typer.Option(help="Tenant whose subscriptions the key gives access to.")] = "default",
    rate: Annotated[float | None, typer.Option(help="Requests per second, at most.")] = None,
) -> None:
    """Add a key and print it. It cannot be printed again. A running service accepts it at once.

    Example: tellwhen keys add data shop --role publish --role read
    """
    if not folder.exists():
        err.print(f"{folder} is new", soft_wrap=True)
    elif not folder.is_dir():
        fail(f"{folder} is a file; keys belong to the folder of a service")
    print(_open_keys(folder).add(name, role, tenant, rate))


@keys.command("list")
@command
def list_keys(folder: Folder, as_json: JsonOption = False) -> None:
    """List the names, tenants, roles and rates of the keys. The keys themselves are not stored.

    Example: tellwhen keys list data --json
    """
    table = Table("name", "tenant", "roles", "requests per second")
    for key in _open_keys(folder).list_keys():
        if as_json:
            print_json({"name": key.name, "tenant": key.tenant, "roles": list(key.roles), "rate": key.rate})
        table.add_row(key.name, key.tenant, ", ".join(key.roles), "" if key.rate is None else f"{key.rate:g}")
    if not as_json:
        out.print(table)


@keys.command("remove")
@command
def remove(folder: Folder, name: Annotated[str, typer.Argument(help="Name of the key.")]) -> None:
    """Remove a key. A running service rejects it within a second.

    Example: tellwhen keys remove data shop
    """
    _open_keys(folder).remove(name)
