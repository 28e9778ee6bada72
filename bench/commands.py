"""`tellwhen bench`: list, run, report and compare experiments."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import report as pages
from bench import results
from bench.compare import compare as compared
from bench.experiment import Experiment
from bench.registry import EXPERIMENTS
from bench.runner import Settings
from bench.runner import run as run_one
from tellwhen.engines.base import REGISTRY

RESULTS = Path(__file__).parent / "results"
QUICK = ["betree-fig5", "betree-fig11", "atree-fig8", "atree-table4", "opindex-fig1", "opindex-fig14",
         "pstree-fig6", "pstree-fig12", "pstree-table2"]  # fmt: skip
"""What `make bench` runs: something of every paper that can be run, in at most 15 minutes."""

app = typer.Typer(no_args_is_help=True, help="The experiments of the papers: run them on this machine.")
Folder = Annotated[Path, typer.Option(help="Where results are kept.")]


@app.command("list")
def list_() -> None:
    """All experiments, and what each waits for."""
    table = Table("experiment", "what", "points", "waits for")
    for name, one in EXPERIMENTS.items():
        table.add_row(name, one.title, str(len(one.points(1.0))), one.waits)
    Console().print(table)


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names or patterns, such as 'betree-*'; a selection.")
    ] = None,
    scale: Annotated[float, typer.Option(help="Sizes, as a share of the papers'.")] = 0.1,
    repeat: Annotated[int, typer.Option(help="Rounds, of which the median counts.", min=2)] = 5,
    seconds: Annotated[float, typer.Option(help="Time that one step of an engine may take.")] = 120,
    megabytes: Annotated[float, typer.Option(help="Memory that a point may take.")] = 6_000,
    engines: Annotated[str, typer.Option(help="Only these engines, with commas; default: those of the figure.")] = "",
    folder: Folder = RESULTS,
) -> None:
    """Measure experiments. What is there already is not measured again, so a run that was stopped goes on."""
    chosen = _chosen(names or QUICK)
    asked = [name for name in engines.split(",") if name]
    unknown = [name for name in asked if name not in REGISTRY]
    if unknown:
        raise typer.BadParameter(f"there is no engine {unknown[0]}; there are {', '.join(sorted(REGISTRY))}")
    settings = Settings(scale, repeat, seconds, megabytes)
    console = Console()
    points = sum(len(one.points(scale)) for one in chosen)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=points)
        done = 0
        for one in chosen:
            if not (asked or one.present or one.rows):
                progress.console.print(f"{one.name}: waits for {one.waits}")
            else:
                found = run_one(
                    one, folder, settings,
                    lambda what: progress.update(task, description=what, advance=1), asked or None,
                )  # fmt: skip
                bad = [row for row in found.rows if row["status"] != "ok"]
                for row in bad:
                    place = f"{one.name} {row['variant']} {row['x']} {row['engine']}"
                    progress.console.print(f"{place}: {row['status']}: {row['detail']}")
            done += len(one.points(scale))
            progress.update(task, completed=done)


def _chosen(names: list[str]) -> list[Experiment]:
    found = []
    for name in names:
        matching = [one for known, one in EXPERIMENTS.items() if fnmatch(known, "*" if name == "all" else name)]
        if not matching:
            raise typer.BadParameter(f"there is no experiment {name}; `tellwhen bench list` shows all")
        found += [one for one in matching if one not in found]
    return found


@app.command()
def report(
    folder: Folder = RESULTS,
    to: Annotated[Path, typer.Option(help="The page to write.")] = Path("bench-report.html"),
) -> None:
    """Write all results as one page."""
    console = Console()
    table = Table("experiment", "verdict", "finding")
    for name, one in EXPERIMENTS.items():
        result = results.load(folder, name)
        if result is not None:
            outcome = pages.finding(one, result)
            table.add_row(name, outcome.verdict, outcome.text)
    if not table.row_count:
        raise typer.BadParameter(f"{folder} has no results; `tellwhen bench run` makes some")
    console.print(table)
    console.print(f"A page with plots: {pages.report(folder, to)}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A folder of results.")],
    second: Annotated[Path, typer.Argument(help="Another one, as a rule newer.")],
) -> None:
    """What has become faster or slower from one run to another, beyond the noise."""
    for folder in (first, second):
        if not any(folder.glob("*.json")):
            raise typer.BadParameter(f"{folder} has no results")
    table = Table("experiment", "variant", "x", "engine", "A us", "B us", "change", "noise", "verdict")
    counts: dict[str, int] = {}
    for change in compared(first, second):
        counts[change.verdict] = counts.get(change.verdict, 0) + 1
        numbers = ["" if v is None else f"{v:,.1f}" for v in (change.before, change.after)]
        shares = ["" if v is None else f"{v:+.0%}" for v in (change.delta, change.noise)]
        table.add_row(
            change.experiment, change.variant, str(change.x), change.engine, *numbers, *shares, change.verdict
        )
    console = Console()
    console.print(table)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
