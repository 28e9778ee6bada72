"""How are results shown? On one page: for every experiment a plot, the paper's claim, our finding and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import results
from bench.claims import Finding, Row, judged
from bench.experiment import COUNT_MIN, METRICS, Experiment, Metric
from bench.registry import EXPERIMENTS
from bench.results import Results
from tellwhen.report import Page, bars, lines


def report(folder: Path, target: Path) -> Path:
    """Write a page with all results of a folder."""
    found = {name: results.load(folder, name) for name in EXPERIMENTS}
    measured = {name: result for name, result in found.items() if result is not None and result.rows}
    page = Page("tellwhen: the papers' experiments, run again")
    if measured:
        last = max(measured.values(), key=lambda result: result.machine.get("day", ""))
        page.table(["measured on", ""], list(last.machine.items()))
    page.heading("All experiments")
    page.table(
        ["experiment", "what", "verdict", "waits for"],
        [[name, one.title, _verdict(one, measured.get(name)), one.waits] for name, one in EXPERIMENTS.items()],
    )
    for name, result in measured.items():
        _section(page, EXPERIMENTS[name], result)
    return page.save(target)


def _verdict(experiment: Experiment, result: Results | None) -> str:
    return "not run" if result is None else finding(experiment, result).verdict


def finding(experiment: Experiment, result: Results) -> Finding:
    """Does the paper's claim hold in these results?"""
    absent = {engine for claim in experiment.claims for engine in claim.engines} & set(experiment.missing)
    if experiment.also or absent:
        return Finding("not comparable", f"waits for {', '.join(sorted(absent)) or experiment.also}")
    if experiment.note:
        return Finding("not comparable", experiment.note)
    found = judged(experiment.claims, result.rows, experiment.metric)
    if found.verdict == "does not hold" and experiment.differs:
        return Finding(found.verdict, f"{found.text}. Why: {experiment.differs}")
    return found


def _section(page: Page, experiment: Experiment, result: Results) -> None:
    outcome = finding(experiment, result)
    page.heading(f"{experiment.name}: {experiment.title}")
    page.text(f"The paper: {experiment.says}")
    page.text(
        f"Here: {outcome.verdict}; {outcome.text}. Sizes are {result.scale:g} of the paper's, but at least "
        f"{COUNT_MIN:,} subscriptions; points that were too large are left out."
    )
    good = [row for row in result.rows if row["status"] == "ok"]
    for metric in (experiment.metric, *experiment.more):
        for variant in dict.fromkeys(row["variant"] for row in good):
            _plot(page, experiment, variant, [row for row in good if row["variant"] == variant], metric)
    if experiment.rows is not None:
        return
    page.table(
        ["variant", experiment.axis, "engine", "us / event", "noise", "us in a batch", "candidates", "matches",
         "build s", "index bytes", "all bytes", "status"],
        [_cells(experiment, row) for row in result.rows],
    )  # fmt: skip


def _plot(page: Page, experiment: Experiment, variant: str, rows: Sequence[Row], measured: Metric) -> None:
    metric = METRICS[measured]
    axis = variant.split(": ", 1)[-1] if experiment.axis == "see the variant" else experiment.axis
    shown = [{axis: row["x"], metric: row[measured], "engine": experiment.label(row["engine"])} for row in rows]
    if len({row["x"] for row in rows}) == 1:
        page.chart(bars(shown, "engine", metric, title=variant))
    else:
        positive = all(row[metric] > 0 for row in shown)
        log_x = experiment.log_x or "rank" in variant
        page.chart(lines(shown, axis, metric, "engine", title=variant, log_x=log_x, log_y=positive))


def _cells(experiment: Experiment, row: Row) -> list[object]:
    status = row["status"] if row["status"] == "ok" else f"{row['status']}: {row['detail']}"
    noise = None if row.get("match_noise") is None else f"{row['match_noise']:.0%}"
    rest = [row.get(name) for name in ("batch", "candidates", "matches", "build", "index", "bytes")]
    return [row["variant"], row["x"], experiment.label(row["engine"]), row.get("match"), noise, *rest, status]
