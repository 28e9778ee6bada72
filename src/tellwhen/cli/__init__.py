"""The command line: `tellwhen --help`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from tellwhen.cli import generate_command, match_commands, service_commands, shell, subscription_commands
from tellwhen.cli.console_output import command, fail, print_json
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


for _command in (
    subscription_commands.validate,
    subscription_commands.build,
    match_commands.match,
    match_commands.top_k,
    match_commands.explain,
    match_commands.inspect,
    shell.shell,
    subscription_commands.convert,
    generate_command.generate,
    service_commands.serve,
):
    app.command()(_command)
app.add_typer(service_commands.keys, name="keys")


@app.command()
@command
def demo() -> None:
    """Match the listings of a marketplace in this process and on Spark, explain matches, and write an HTML page.

    Needs the extra `demo`.

    Example: tellwhen demo
    """
    from tellwhen.demo import run

    run(Console())


@app.command()
@command
def engines(as_json: JsonOption = False) -> None:
    """List the engines and their options. Options follow the name of an engine, as in betree:max_cap=5.

    Example: tellwhen engines --json
    """
    if as_json:
        for info in tw.list_engines():
            options_by_name = {name: option._asdict() for name, option in info.options.items()}
            print_json(info._asdict() | {"supports": sorted(info.supports), "options": options_by_name})
        return
    table = Table("engine", "algorithm", "takes")
    owners: dict[tuple[str, tw.Option], list[str]] = {}
    for info in tw.list_engines():
        # Engines differ in this capability only.
        takes = "any expression" if "expressions" in info.supports else "a normal form"
        table.add_row(info.name, info.summary, takes)
        for option_item in info.options.items():
            owners.setdefault(option_item, []).append(info.name)
    options = Table("option", "of", "default", "from .. to", "meaning")
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
    """Compile kernels ahead of time, for example in a container image. New processes load them from the cache.

    Example: tellwhen warm auto betree
    """
    from tellwhen.cli.warm_command import compile_kernels
    from tellwhen.kernels.jit import find_cache_directory

    console = Console(stderr=as_json)  # the standard output is for the JSON
    directory = find_cache_directory()
    if directory is None:
        fail("no cache directory is writable, so compiled kernels would be lost: set NUMBA_CACHE_DIR")
    for engine in [info.name for info in tw.list_engines()] if every else engines or ["auto"]:
        with console.status(f"Compiling the kernels of {engine} ..."):
            result = compile_kernels(engine)
        if as_json:
            print_json(result._asdict() | {"cache": str(directory)})
            continue
        summary = f"{result.compiled} functions compiled" if result.compiled else "nothing to compile"
        console.print(f"{engine}: {summary}, {result.seconds:.1f} s", highlight=False)
    if not as_json:
        console.print(f"The cache is in {directory}", highlight=False, soft_wrap=True)
