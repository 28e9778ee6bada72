"""`python -m bench`: list, run, report and compare experiments."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import results
from bench.changes import compare as compare_results
from bench.changes import describe_processor_difference
from bench.engines import parse_engine_names
from bench.experiment import Experiment
from bench.judging import describe_finding, judge_experiment
from bench.registry import EXPERIMENTS
from bench.runner import Settings, SettingsMismatch
from bench.runner import run as run_experiments

RESULTS = Path(__file__).parent / "results"
QUICK = ["betree-fig5", "atree-fig7", "atree-table4", "opindex-fig1", "opindex-fig14", "pstree-fig6"]
"""Experiments that `make bench` runs: one or two of each paper, together in at most 15 minutes."""

app = typer.Typer(no_args_is_help=True, help="The experiments of the papers, run on this machine.")
Folder = Annotated[Path, typer.Option(help="Folder of the results.")]


@app.command("list")
def list_() -> None:
    """List all experiments, with the engines that each runs with and waits for."""
    table = Table("experiment", "what", "points", "runs with", "waits for")
    for name, experiment in EXPERIMENTS.items():
        count = "" if experiment.rows else str(len(experiment.list_points()))
        table.add_row(name, experiment.title, count, ", ".join(experiment.available_engines), experiment.missing_names)
    Console().print(table)


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names, patterns ('betree-*') or all; default: one or two per paper.")
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(help="Sizes, as a share of the papers'; default: those of the kept results.", min=0.0001),
    ] = None,
    repeat: Annotated[int, typer.Option(help="Rounds; the result is their median.", min=2)] = 5,
    seconds: Annotated[float, typer.Option(help="Time limit of one step of an engine.")] = 120,
    megabytes: Annotated[float, typer.Option(help="Memory limit of one step of an engine.")] = 6_000,
    subscriptions_min: Annotated[int, typer.Option("--least", help="Leave out points with fewer subscriptions.")] = 0,
    subscriptions_max: Annotated[
        int, typer.Option("--most", help="Leave out points with more subscriptions.")
    ] = 1_000_000,
    jobs: Annotated[
        int, typer.Option(help="Points to prepare at the same time; while one is measured the others stop.", min=1)
    ] = 1,
    engines: Annotated[str, typer.Option(help="Engines, with commas; default: those of the figure.")] = "",
    folder: Folder = RESULTS,
) -> None:
    """Measure experiments. Points that have results are not measured again, so an interrupted run can be resumed."""
    experiments = _find_experiments(names or QUICK)
    try:
        engine_names = parse_engine_names(engines)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    settings = Settings(scale, repeat, seconds, megabytes, subscriptions_min, subscriptions_max, jobs)
    console = Console()
    for experiment in experiments:
        skipped = sum(not settings.covers(point) for point in experiment.list_points(scale))
        if skipped:
            console.print(f"{experiment.name}: {skipped} points left out, which have too many or too few subscriptions")
        if not (engine_names or experiment.available_engines or experiment.rows):
            console.print(f"{experiment.name}: waits for {experiment.missing_names}")
    points = sum(
        1 if experiment.rows else sum(settings.covers(point) for point in experiment.list_points(scale))
        for experiment in experiments
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=points)
        try:
            found = run_experiments(
                experiments,
                folder,
                settings,
                lambda what: progress.update(task, description=what, advance=1),
                engine_names or None,
            )
        except (SettingsMismatch, ValueError) as error:
            raise typer.BadParameter(str(error)) from None
        progress.update(task, completed=points)
    faults = 0
    for result in found:
        for row in result.rows:
            faults += row["status"] in ("wrong", "failed")
            if row["status"] != "ok":
                where = f"{result.experiment} {row['variant']} {row['x']} {row['engine']}"
                console.print(f"{where}: {row['status']}: {row['detail']}")
    console.print(f"The results are in {folder}; `python -m bench report` makes a page of them.")
    if faults:
        console.print(f"{faults} rows are wrong or failed.")
        raise typer.Exit(1)


def _find_experiments(names: list[str]) -> list[Experiment]:
    found = []
    for name in names:
        matching = [
            experiment for known, experiment in EXPERIMENTS.items() if fnmatch(known, "*" if name == "all" else name)
        ]
        if not matching:
            raise typer.BadParameter(f"there is no experiment {name}; `python -m bench list` shows all")
        found += [experiment for experiment in matching if experiment not in found]
    return found


@app.command()
def report(
    folder: Folder = RESULTS,
    to: Annotated[Path, typer.Option(help="The page to write.")] = Path("bench-report.html"),
) -> None:
    """Write all results to one page."""
    from bench.report import write_report  # imported here, because only this command draws plots

    console = Console()
    table = Table("experiment", "verdict", "finding")
    for name, experiment in EXPERIMENTS.items():
        result = _load_results(folder, name)
        if result is not None:
            for finding in judge_experiment(experiment, result):
                table.add_row(name, finding.verdict, describe_finding(name, finding))
    if not table.row_count:
        raise typer.BadParameter(f"{folder} has no results; `python -m bench run` makes some")
    console.print(table)
    console.print(f"A page with plots: {write_report(folder, to)}")


def _load_results(folder: Path, name: str) -> results.Results | None:
    try:
        return results.load(folder, name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A folder of results (A).")],
    second: Annotated[Path, typer.Argument(help="Another one (B), usually newer.")],
) -> None:
    """Show which times of B differ from those of A by more than the noise."""
    for folder in (first, second):
        if not any(folder.glob("*.json")):
            raise typer.BadParameter(f"{folder} has no results")
    difference = describe_processor_difference(first, second)
    console = Console()
    if difference:
        console.print(f"The processors differ: {difference}")
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
