"""Page of results: a summary for every paper, then plots, claims and rows for every experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import results
from bench.claims import VERDICTS, Row
from bench.experiment import METRICS, SUBSCRIPTIONS_MIN, Experiment, Metric
from bench.judging import (
    PAPER_TITLES,
    count_verdicts,
    get_paper,
    judge_experiment,
    summarize_verdicts,
)
from bench.reasons import find_reason
from bench.registry import EXPERIMENTS
from bench.results import Results
from tellwhen.report import Page, bars, lines


def write_report(folder: Path, target: Path) -> Path:
    """Write a page with all results of a folder; return its path."""
    loaded = {name: results.load(folder, name) for name in EXPERIMENTS}
    measured = {name: result for name, result in loaded.items() if result is not None and result.rows}
    page = Page("tellwhen: the papers' experiments, run again")
    page.contents()
    _add_summary(page, measured)
    for paper, title in PAPER_TITLES.items():
        page.heading(title)
        page.table(
            ["experiment", "what", "claims", "waits for"],
            [
                [name, experiment.title, _describe_verdicts(experiment, measured.get(name)), experiment.missing_names]
                for name, experiment in EXPERIMENTS.items()
                if get_paper(name) == paper
            ],
        )
        for name, result in measured.items():
            if get_paper(name) == paper:
                _add_experiment(page, EXPERIMENTS[name], result)
    return page.save(target)


def _add_summary(page: Page, measured: dict[str, Results]) -> None:
    page.heading("Summary")
    page.text(
        "A claim is a statement of a paper with an order, a factor or a growth. It holds, fails, or is a draw: a "
        "difference within the noise of the measurement. It is not comparable if it was not measured, if its bound is "
        "absolute and the size was not the paper's, or if scaling changed what the paper holds fixed."
    )
    rows: list[list[Any]] = []
    for paper, title in PAPER_TITLES.items():
        found = [
            finding
            for name, result in measured.items()
            if get_paper(name) == paper
            for finding in judge_experiment(EXPERIMENTS[name], result)
        ]
        counts = count_verdicts(found)
        rows.append([title, len(found), *(counts[verdict] for verdict in VERDICTS)])
    totals = [sum(row[column] for row in rows) for column in range(1, len(VERDICTS) + 2)]
    page.table(["paper", "claims", *VERDICTS], [*rows, ["all", *totals]])
    machines = {tuple(result.machine.items()) for result in measured.values()}
    for facts in sorted(machines, key=lambda facts: dict(facts).get("day", "")):
        page.table(["measured on", ""], facts, summary=f"measured on {dict(facts).get('processor', 'unknown')}")


def _describe_verdicts(experiment: Experiment, result: Results | None) -> str:
    return "not run" if result is None else summarize_verdicts(judge_experiment(experiment, result))


def _add_experiment(page: Page, experiment: Experiment, result: Results) -> None:
    page.heading(f"{experiment.name}: {experiment.title}", level=3)
    page.text(f"The paper: {experiment.paper_finding}")
    order = {engine: number for number, engine in enumerate(experiment.engines)}
    ok_rows = [row for row in result.rows if row["status"] == "ok"]
    ok_rows.sort(key=lambda row: order.get(row["engine"], len(order)))  # an engine has one colour in all plots
    for metric in (experiment.metric, *experiment.more_metrics):
        for variant in dict.fromkeys(row["variant"] for row in ok_rows):
            rows = [row for row in ok_rows if row["variant"] == variant and row.get(metric) is not None]
            _add_plot(page, experiment, variant, rows, metric)
    findings = judge_experiment(experiment, result)
    page.table(
        ["verdict", "claim, and what was measured", "why"],
        [[finding.verdict, finding.text, find_reason(experiment.name, finding)] for finding in findings],
    )
    _add_paper_values(page, experiment, result)
    if experiment.rows is None:
        _add_rows(page, experiment, result)


def _add_plot(page: Page, experiment: Experiment, variant: str, rows: Sequence[Row], metric: Metric) -> None:
    if not rows:
        return
    unit = METRICS[metric]
    axis = variant.split(": ", 1)[-1] if experiment.axis == "see the variant" else experiment.axis
    points = [{axis: row["x"], unit: row[metric], "engine": experiment.get_label(row["engine"])} for row in rows]
    if len({row["x"] for row in rows}) == 1:
        page.chart(bars(points, "engine", unit, title=variant))
    else:
        is_positive = all(point[unit] > 0 for point in points)
        log_x = experiment.log_x or "rank" in variant
        page.chart(lines(points, axis, unit, "engine", title=variant, log_x=log_x, log_y=is_positive))


def _add_paper_values(page: Page, experiment: Experiment, result: Results) -> None:
    """Show the paper's own numbers beside ours, where its text gives them."""
    own = {(row["variant"], row["x"], row["engine"]): row.get(experiment.metric) for row in result.rows}
    rows = [
        [*key[:2], experiment.get_label(key[2]), value, own.get(key)] for key, value in experiment.paper_values.items()
    ]
    if rows:
        page.table(["variant", experiment.axis, "engine", f"the paper: {METRICS[experiment.metric]}", "here"], rows)


def _add_rows(page: Page, experiment: Experiment, result: Results) -> None:
    """Show every row of the results, folded."""
    scales = sorted({row.get("scale", result.scale) for row in result.rows})
    sizes = " and ".join(f"{scale:g}" for scale in scales)
    page.table(
        ["variant", experiment.axis, "engine", "us / event", "noise", "candidates", "matches", "build s",
         "index bytes", "all bytes", "status"],
        [_format_cells(experiment, row) for row in result.rows],
        summary=f"all rows; sizes are {sizes} of the paper's, but at least {SUBSCRIPTIONS_MIN:,} subscriptions",
    )  # fmt: skip


def _format_cells(experiment: Experiment, row: Row) -> list[object]:
    status = row["status"] if row["status"] == "ok" else f"{row['status']}: {row['detail']}"
    noise = None if row.get("match_noise") is None else f"{row['match_noise']:.0%}"
    values = [row.get(name) for name in ("candidates", "matches", "build", "index", "bytes")]
    return [row["variant"], row["x"], experiment.get_label(row["engine"]), row.get("match"), noise, *values, status]
