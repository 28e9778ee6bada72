"""The command line: `tellwhen demo`, `tellwhen engines`."""

from __future__ import annotations

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
    """List the engines and what each can do."""
    table = Table("engine", "what it is", "supports")
    for info in tw.engines():
        table.add_row(info.name, info.summary, ", ".join(sorted(info.supports)))
    Console().print(table)


if __name__ == "__main__":
    app()
