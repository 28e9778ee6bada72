"""`tellwhen serve` and `tellwhen keys`: an index for whoever asks over HTTP, and who may."""

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
    Path, typer.Argument(help="An empty folder, one of a service, a saved index, or one built on Spark.")
]


@command
def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 8080,
    engine: Annotated[str | None, typer.Option(help="Of a new index; see `tellwhen engines`.")] = None,
    schema: SchemaOption = None,
    strict: StrictOption = False,
    certificate: Annotated[Path | None, typer.Option(help="A file with the certificate, for TLS.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="A file with its private key.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second of one key.", min=0.001)] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.", min=0.1)] = 30.0,
    max_body: Annotated[int, typer.Option(help="Bytes that a request may have.", min=1)] = 16 << 20,
    memory_limit: Annotated[int | None, typer.Option(help="Bytes that the index of a tenant may take.", min=1)] = None,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Start although acknowledged changes are missing in the log.")
    ] = False,
    console: Annotated[bool, typer.Option(help="Serve the console, at /.")] = True,
) -> None:
    """Serve an index over HTTP, with a console. Every change is on disk before it is answered.

    Example: tellwhen serve data --port 8080
    """
    try:
        from tellwhen import service
    except ImportError as error:
        fail(f"{error.name} is missing: pip install 'tellwhen[service]'")
    logging.getLogger("tellwhen").setLevel(logging.WARNING)  # of a service, the log is all that is seen
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


keys = typer.Typer(no_args_is_help=True, help="Who may use a service: make, list and remove keys.")


def _keys(folder: Path) -> Keys:
    try:
        from tellwhen.service import Keys
        from tellwhen.service.tenants import data_folder
    except ImportError as error:
        fail(f"{error.name} is missing: pip install 'tellwhen[service]'")
    return Keys(data_folder(folder) / "keys.json")


@keys.command("add")
@command
def add(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="What to call it.")],
    role: Annotated[list[str], typer.Option(help="read, publish or manage; several times for several.")],
    tenant: Annotated[str, typer.Option(help="Whose subscriptions it sees.")] = "default",
    rate: Annotated[float | None, typer.Option(help="Requests per second.")] = None,
) -> None:
    """Make a key, and show it: for the only time. A service that runs takes it at once.

    Example: tellwhen keys add data shop --role publish --role read
    """
    if not folder.exists():
        err.print(f"{folder} is new", soft_wrap=True)
    elif not folder.is_dir():
        fail(f"{folder} is a file; keys belong to the folder of a service")
    print(_keys(folder).add(name, role, tenant, rate))


@keys.command("list")
@command
def list_keys(folder: Folder, as_json: JsonOption = False) -> None:
    """Show whom keys were made for; the keys themselves are not known.

    Example: tellwhen keys list data --json
    """
    table = Table("name", "tenant", "roles", "requests per second")
    for key in _keys(folder).all():
        if as_json:
            print_json({"name": key.name, "tenant": key.tenant, "roles": list(key.roles), "rate": key.rate})
        table.add_row(key.name, key.tenant, ", ".join(key.roles), "" if key.rate is None else f"{key.rate:g}")
    if not as_json:
        out.print(table)


@keys.command("remove")
@command
def remove(folder: Folder, name: Annotated[str, typer.Argument(help="Which one.")]) -> None:
    """Remove a key. A service that runs refuses it within a second.

    Example: tellwhen keys remove data shop
    """
    _keys(folder).remove(name)
