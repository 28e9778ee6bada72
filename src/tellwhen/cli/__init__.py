"""The command line: `tellwhen --help`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from tellwhen.cli import generate_command as generating
from tellwhen.cli import match_commands as asking
from tellwhen.cli import service_commands as serving
from tellwhen.cli import shell
from tellwhen.cli import subscription_commands as subscribing
from tellwhen.cli.console_output import command, fail, json_line
from tellwhen.cli.options import JsonOption

app = typer.Typer(
    no_args_is_help=True,
    help="An event arrives: which of millions of standing Boolean expressions does it satisfy?\n\n"
    "Example: tellwhen build rules.jsonl -o index, and then: tellwhen match index events.jsonl",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tellwhen {tw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass  # its docstring would replace the help of `app`


for _run in (
    subscribing.validate,
    subscribing.build,
    asking.match,
    asking.top_k,
    asking.explain,
    asking.inspect,
    shell.shell,
    subscribing.convert,
    generating.generate,
    serving.serve,
):
    app.command()(_run)
app.add_typer(serving.keys, name="keys")


@app.command()
@command
def demo() -> None:
    """See it work: a marketplace in this process and on Spark, and a page about it. Needs the extra `demo`.

    Example: tellwhen demo
    """
    from tellwhen.demo import run

    run(Console())


@app.command()
@command
def engines(as_json: JsonOption = False) -> None:
    """List the engines and their options. An option goes behind the name: betree:max_cap=5.

    Example: tellwhen engines --json
    """
    if as_json:
        for info in tw.list_engines():
            given = {name: option._asdict() for name, option in info.options.items()}
            json_line(info._asdict() | {"supports": sorted(info.supports), "options": given})
        return
    table = Table("engine", "what it is", "takes")
    owners: dict[tuple[str, tw.Option], list[str]] = {}
    for info in tw.list_engines():
        # The one capability in which engines differ.
        takes = "any expression" if "expressions" in info.supports else "a normal form"
        table.add_row(info.name, info.summary, takes)
        for named in info.options.items():
            owners.setdefault(named, []).append(info.name)
    options = Table("option", "of", "default", "from .. to", "what it is")
    for (name, option), names in owners.items():
        bounds = f"{option.least} .. {option.most}"
        options.add_row(name, ", ".join(names), str(option.default), bounds, option.meaning)
    console = Console()
    console.print(table)
    if owners:
        console.print(options)


@app.command()
@command
def warm(
    engines: Annotated[list[str] | None, typer.Argument(help="Engines, as in betree:max_cap=5; default: auto.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All engines.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compile kernels ahead of time: a new process then loads them from the cache. For images and installations.

    Example: tellwhen warm auto betree
    """
    from tellwhen.cli.warm_command import warm as warm_engine
    from tellwhen.kernels.jit import cache_directory

    console = Console(stderr=as_json)  # where the status is shown
    directory = cache_directory()
    if directory is None:
        fail("no directory can be written, so nothing that is compiled could be kept: set NUMBA_CACHE_DIR")
    for engine in [info.name for info in tw.list_engines()] if every else engines or ["auto"]:
        with console.status(f"Compiling the kernels of {engine} ..."):
            done = warm_engine(engine)
        if as_json:
            json_line(done._asdict() | {"cache": str(directory)})
            continue
        what = f"{done.compiled} functions compiled" if done.compiled else "nothing to compile"
        console.print(f"{engine}: {what}, {done.seconds:.1f} s", highlight=False)
    if not as_json:
        console.print(f"The cache is in {directory}", highlight=False, soft_wrap=True)
