"""The command line: `tellwhen demo`, `tellwhen engines`, `tellwhen bench`."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

import tellwhen as tw

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="An event arrives: which of millions of standing Boolean expressions does it satisfy?",
)


@app.command()
def demo() -> None:
    """See it work: an example, and a small workload on every engine."""
    from tellwhen.demo import run

    run(Console())


@app.command()
def engines() -> None:
    """List the engines, what each can do, and their options, which go behind the name: betree:max_cap=5."""
    table = Table("engine", "what it is", "supports")
    owners: dict[tuple[str, tw.Option], list[str]] = {}
    for info in tw.list_engines():
        table.add_row(info.name, info.summary, ", ".join(sorted(info.supports)))
        for named in info.options.items():
            owners.setdefault(named, []).append(info.name)
    options = Table("option", "of", "default", "from .. to", "what it is")
    for (name, option), names in owners.items():
        bounds = f"{option.least} .. {option.most}"
        options.add_row(name, ", ".join(names), str(option.default), bounds, option.meaning)
    Console().print(table, options)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False)
def bench(context: typer.Context) -> None:
    """Run the experiments of the papers: list, run, report, compare."""
    # They live beside the package, in a checkout of the source.
    checkout = Path(__file__).parents[2]
    if not (checkout / "bench" / "commands.py").exists():
        raise typer.BadParameter("the experiments come with the source: clone it, `make setup`, and run this there")
    sys.path.append(str(checkout))
    from bench.commands import app as commands

    commands(context.args, prog_name="tellwhen bench")


if __name__ == "__main__":
    app()
