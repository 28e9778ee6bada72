"""Page of results: for every experiment plots, the paper's claim, our finding and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import results
from bench.claims import Finding, Row, judge_all
from bench.experiment import METRICS, SUBSCRIPTIONS_MIN, Experiment, Metric
from bench.registry import EXPERIMENTS
from bench.results import Results
from tellwhen.report import Page, bars, lines


def write_report(folder: Path, target: Path) -> Path:
    """Write a page with all results of a folder; return its path."""
    loaded = {name: results.load(folder, name) for name in EXPERIMENTS}
    measured = {name: result for name, result in loaded.items() if result is not None and result.rows}
    page = Page("tellwhen: the papers' experiments, run again")
    if measured:
        last = max(measured.values(), key=lambda result: result.machine.get("day", ""))
        page.table(["measured on", ""], list(last.machine.items()))
    page.heading("All experiments")
    page.table(
        ["experiment", "what", "verdict", "waits for"],
        [
            [name, experiment.title, _describe_verdict(experiment, measured.get(name)), experiment.missing_names]
            for name, experiment in EXPERIMENTS.items()
        ],
    )
    for name, result in measured.items():
        _add_section(page, EXPERIMENTS[name], result)
    return page.save(target)


def _describe_verdict(experiment: Experiment, result: Results | None) -> str:
    return "not run" if result is None else judge_experiment(experiment, result).verdict


def judge_experiment(experiment: Experiment, result: Results) -> Finding:
    """Check the paper's claims on the results of an experiment."""
    absent = {engine for claim in experiment.claims for engine in claim.engines} & set(experiment.missing_engines)
    if absent:
        return Finding("not comparable", f"waits for {', '.join(sorted(absent))}")
    if experiment.no_verdict_reason:
        return Finding("not comparable", experiment.no_verdict_reason)
    finding = judge_all(experiment.claims, result.rows, experiment.metric)
    if finding.verdict == "does not hold" and experiment.difference_reason:
        return Finding(finding.verdict, f"{finding.text}. Why: {experiment.difference_reason}")
    return finding


def _add_section(page: Page, experiment: Experiment, result: Results) -> None:
    finding = judge_experiment(experiment, result)
    page.heading(f"{experiment.name}: {experiment.title}")
    page.text(f"The paper: {experiment.paper_finding}")
    page.text(
        f"Here: {finding.verdict}; {finding.text}. Sizes are {result.scale:g} of the paper's, but at least "
        f"{SUBSCRIPTIONS_MIN:,} subscriptions; points that were too large are left out."
    )
    ok_rows = [row for row in result.rows if row["status"] == "ok"]
    for metric in (experiment.metric, *experiment.more_metrics):
        for variant in dict.fromkeys(row["variant"] for row in ok_rows):
            _add_plot(page, experiment, variant, [row for row in ok_rows if row["variant"] == variant], metric)
    if experiment.rows is not None:
        return
    page.table(
        ["variant", experiment.axis, "engine", "us / event", "noise", "us in a batch", "candidates", "matches",
         "build s", "index bytes", "all bytes", "status"],
        [_format_cells(experiment, row) for row in result.rows],
    )  # fmt: skip


def _add_plot(page: Page, experiment: Experiment, variant: str, rows: Sequence[Row], metric: Metric) -> None:
    unit = METRICS[metric]
    axis = variant.split(": ", 1)[-1] if experiment.axis == "see the variant" else experiment.axis
    points = [{axis: row["x"], unit: row[metric], "engine": experiment.get_label(row["engine"])} for row in rows]
    if len({row["x"] for row in rows}) == 1:
        page.chart(bars(points, "engine", unit, title=variant))
    else:
        is_positive = all(point[unit] > 0 for point in points)
        log_x = experiment.log_x or "rank" in variant
        page.chart(lines(points, axis, unit, "engine", title=variant, log_x=log_x, log_y=is_positive))


def _format_cells(experiment: Experiment, row: Row) -> list[object]:
    status = row["status"] if row["status"] == "ok" else f"{row['status']}: {row['detail']}"
    noise = None if row.get("match_noise") is None else f"{row['match_noise']:.0%}"
    values = [row.get(name) for name in ("batch", "candidates", "matches", "build", "index", "bytes")]
    return [row["variant"], row["x"], experiment.get_label(row["engine"]), row.get("match"), noise, *values, status]
