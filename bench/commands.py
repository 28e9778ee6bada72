"""`python -m bench`: list, run, report and compare experiments."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import results
from bench.claims import Row
from bench.compare import compare as compare_results
from bench.compare import processors
from bench.engines import chosen as chosen_engines
from bench.experiment import Experiment
from bench.registry import EXPERIMENTS
from bench.runner import OtherSettings, Settings
from bench.runner import run as run_experiment

RESULTS = Path(__file__).parent / "results"
QUICK = ["betree-fig5", "atree-fig7", "atree-table4", "opindex-fig1", "opindex-fig14", "pstree-fig6"]
"""What `make bench` runs: something of every paper that can be run, in at most 15 minutes."""

app = typer.Typer(no_args_is_help=True, help="The experiments of the papers, run on this machine.")
Folder = Annotated[Path, typer.Option(help="Folder of the results.")]


@app.command("list")
def list_() -> None:
    """List all experiments, and what each waits for."""
    table = Table("experiment", "what", "points", "runs with", "waits for")
    for name, one in EXPERIMENTS.items():
        count = "" if one.rows else str(len(one.points(1.0)))
        table.add_row(name, one.title, count, ", ".join(one.present), one.waits)
    Console().print(table)


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names, patterns ('betree-*') or all; default: one or two per paper.")
    ] = None,
    scale: Annotated[float, typer.Option(help="Sizes, as a share of the papers'.", min=0.0001)] = 0.1,
    repeat: Annotated[int, typer.Option(help="Rounds; the result is their median.", min=2)] = 5,
    seconds: Annotated[float, typer.Option(help="Time limit of one step of an engine.")] = 120,
    megabytes: Annotated[float, typer.Option(help="Memory limit of one step of an engine.")] = 6_000,
    most: Annotated[int, typer.Option(help="Leave out points with more subscriptions.")] = 1_000_000,
    engines: Annotated[str, typer.Option(help="Engines, with commas; default: those of the figure.")] = "",
    folder: Folder = RESULTS,
) -> None:
    """Measure experiments. Points that have results are not measured again, so an interrupted run can be resumed."""
    experiments = _experiments(names or QUICK)
    try:
        chosen = chosen_engines(engines)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    settings = Settings(scale, repeat, seconds, megabytes, most)
    console = Console()
    points = sum(max(1, len(one.points(scale))) for one in experiments)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    faults = done = 0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=points)
        for one in experiments:
            rows = _run_one(one, folder, settings, chosen, progress, task)
            faults += sum(row["status"] in ("wrong", "failed") for row in rows)
            done += max(1, len(one.points(scale)))
            progress.update(task, completed=done)
    console.print(f"The results are in {folder}; `python -m bench report` makes a page of them.")
    if faults:
        console.print(f"{faults} rows are wrong or failed.")
        raise typer.Exit(1)


def _run_one(
    one: Experiment, folder: Path, settings: Settings, engines: list[str], progress: Progress, task: TaskID
) -> list[Row]:
    """Measure one experiment, and print whatever did not work."""
    if not (engines or one.present or one.rows):
        progress.console.print(f"{one.name}: waits for {one.waits}")
        return []
    skipped = sum(point.count > settings.most for point in one.points(settings.scale))
    if skipped:
        progress.console.print(f"{one.name}: {skipped} points with more than {settings.most:,} subscriptions left out")
    try:
        found = run_experiment(
            one, folder, settings, lambda what: progress.update(task, description=what, advance=1), engines or None
        )
    except (OtherSettings, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    for row in found.rows:
        if row["status"] != "ok":
            where = f"{one.name} {row['variant']} {row['x']} {row['engine']}"
            progress.console.print(f"{where}: {row['status']}: {row['detail']}")
    return found.rows


def _experiments(names: list[str]) -> list[Experiment]:
    found = []
    for name in names:
        matching = [one for known, one in EXPERIMENTS.items() if fnmatch(known, "*" if name == "all" else name)]
        if not matching:
            raise typer.BadParameter(f"there is no experiment {name}; `python -m bench list` shows all")
        found += [one for one in matching if one not in found]
    return found


@app.command()
def report(
    folder: Folder = RESULTS,
    to: Annotated[Path, typer.Option(help="The page to write.")] = Path("bench-report.html"),
) -> None:
    """Write all results to one page."""
    from bench import report as pages  # here, since the other commands draw nothing

    console = Console()
    table = Table("experiment", "verdict", "finding")
    for name, one in EXPERIMENTS.items():
        result = _loaded(folder, name)
        if result is not None:
            outcome = pages.finding(one, result)
            table.add_row(name, outcome.verdict, outcome.text)
    if not table.row_count:
        raise typer.BadParameter(f"{folder} has no results; `python -m bench run` makes some")
    console.print(table)
    console.print(f"A page with plots: {pages.report(folder, to)}")


def _loaded(folder: Path, name: str) -> results.Results | None:
    try:
        return results.load(folder, name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A folder of results (A).")],
    second: Annotated[Path, typer.Argument(help="Another one (B), usually newer.")],
) -> None:
    """Show what is faster or slower in B than in A, beyond the noise."""
    for folder in (first, second):
        if not any(folder.glob("*.json")):
            raise typer.BadParameter(f"{folder} has no results")
    different = processors(first, second)
    console = Console()
    if different:
        console.print(f"The processors differ: {different}")
    table = Table("experiment", "metric", "variant", "x", "engine", "A", "B", "change", "noise", "verdict")
    counts: dict[str, int] = {}
    for change in compare_results(first, second):
        counts[change.verdict] = counts.get(change.verdict, 0) + 1
        numbers = ["" if v is None else f"{v:,.4g}" for v in (change.before, change.after)]
        delta = "" if change.delta is None else f"{change.delta:+.0%}"
        noise = "" if change.noise is None else f"{change.noise:.0%}"
        where = change.experiment, change.metric, change.variant, str(change.x), change.engine
        table.add_row(*where, *numbers, delta, noise, change.verdict)
    console.print(table)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
