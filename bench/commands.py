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
from bench.compare import machines
from bench.experiment import Experiment, exists
from bench.registry import EXPERIMENTS
from bench.runner import OtherSettings, Settings
from bench.runner import run as run_one
from tellwhen.engines.base import REGISTRY

RESULTS = Path(__file__).parent / "results"
QUICK = ["betree-fig5", "atree-fig7", "atree-table4", "opindex-fig1", "opindex-fig14", "pstree-fig6"]
"""What `make bench` runs: something of every paper that can be run, in at most 15 minutes."""

app = typer.Typer(no_args_is_help=True, help="The experiments of the papers: run them on this machine.")
Folder = Annotated[Path, typer.Option(help="Where results are kept.")]


@app.command("list")
def list_() -> None:
    """All experiments, and what each waits for."""
    table = Table("experiment", "what", "points", "runs with", "waits for")
    for name, one in EXPERIMENTS.items():
        count = "" if one.rows else str(len(one.points(1.0)))
        table.add_row(name, one.title, count, ", ".join(one.present), one.waits)
    Console().print(table)


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Names, patterns ('betree-*') or all; else a few.")] = None,
    scale: Annotated[float, typer.Option(help="Sizes, as a share of the papers'.", min=0.0001)] = 0.1,
    repeat: Annotated[int, typer.Option(help="Rounds, of which the median counts.", min=2)] = 5,
    seconds: Annotated[float, typer.Option(help="Time that one step of an engine may take.")] = 120,
    megabytes: Annotated[float, typer.Option(help="Memory that one step of an engine may take.")] = 6_000,
    most: Annotated[int, typer.Option(help="Points of more subscriptions are left out.")] = 1_000_000,
    engines: Annotated[str, typer.Option(help="Only these engines, with commas; default: those of the figure.")] = "",
    folder: Folder = RESULTS,
) -> None:
    """Measure experiments. What is there already is not measured again, so a run that was stopped goes on."""
    chosen = _chosen(names or QUICK)
    asked = [name.strip() for name in engines.split(",") if name.strip()]
    unknown = [name for name in asked if not exists(name)]
    if unknown:
        raise typer.BadParameter(f"there is no engine {unknown[0]}; there are {', '.join(sorted(REGISTRY))}")
    settings = Settings(scale, repeat, seconds, megabytes, most)
    console = Console()
    points = sum(max(1, len(one.points(scale))) for one in chosen)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    wrong = done = 0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=points)
        for one in chosen:
            if not (asked or one.present or one.rows):
                progress.console.print(f"{one.name}: waits for {one.waits}")
            else:
                left = sum(point.count > most for point in one.points(scale))
                if left:
                    progress.console.print(f"{one.name}: {left} points of more than {most:,} subscriptions left out")
                try:
                    found = run_one(
                        one, folder, settings,
                        lambda what: progress.update(task, description=what, advance=1), asked or None,
                    )  # fmt: skip
                except (OtherSettings, ValueError) as error:
                    raise typer.BadParameter(str(error)) from None
                for row in found.rows:
                    if row["status"] != "ok":
                        place = f"{one.name} {row['variant']} {row['x']} {row['engine']}"
                        progress.console.print(f"{place}: {row['status']}: {row['detail']}")
                        wrong += row["status"] in ("wrong", "failed")
            done += max(1, len(one.points(scale)))
            progress.update(task, completed=done)
    console.print(f"Results are in {folder}; `tellwhen bench report` makes a page of them.")
    if wrong:
        console.print(f"{wrong} rows are wrong or failed.")
        raise typer.Exit(1)


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
        result = _loaded(folder, name)
        if result is not None:
            outcome = pages.finding(one, result)
            table.add_row(name, outcome.verdict, outcome.text)
    if not table.row_count:
        raise typer.BadParameter(f"{folder} has no results; `tellwhen bench run` makes some")
    console.print(table)
    console.print(f"A page with plots: {pages.report(folder, to)}")


def _loaded(folder: Path, name: str) -> results.Results | None:
    try:
        return results.load(folder, name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A folder of results.")],
    second: Annotated[Path, typer.Argument(help="Another one, as a rule newer.")],
) -> None:
    """What has become faster or slower from one run to another, beyond the noise."""
    for folder in (first, second):
        if not any(folder.glob("*.json")):
            raise typer.BadParameter(f"{folder} has no results")
    different = machines(first, second)
    console = Console()
    if different:
        console.print(f"Not on the same machine: {different}")
    table = Table("experiment", "metric", "variant", "x", "engine", "A", "B", "change", "noise", "verdict")
    counts: dict[str, int] = {}
    for change in compared(first, second):
        counts[change.verdict] = counts.get(change.verdict, 0) + 1
        numbers = ["" if v is None else f"{v:,.4g}" for v in (change.before, change.after)]
        delta = "" if change.delta is None else f"{change.delta:+.0%}"
        noise = "" if change.noise is None else f"{change.noise:.0%}"
        place = change.experiment, change.metric, change.variant, str(change.x), change.engine
        table.add_row(*place, *numbers, delta, noise, change.verdict)
    console.print(table)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
