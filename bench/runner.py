"""Runs of experiments: each point is measured in a process of its own, with limits on time and memory."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine, results
from bench.claims import LIMIT_STATUSES, Row
from bench.experiment import Experiment, Point
from bench.results import Results

ROOT = Path(__file__).parent.parent
SETUP_TIME_FACTOR = 10
"""Steps that belong to no engine (imports, workload, truth) may take this many times an engine's limit."""

ReportProgress = Callable[[str], None]
"""Function that is called with the name of the next measurement."""


@dataclass(frozen=True)
class Settings:
    """Sizes, rounds and limits of a run."""

    scale: float = 0.1  # sizes, as a share of the papers' sizes
    repeat: int = 5  # rounds
    seconds: float = 120  # limit on one step of an engine
    megabytes: float = 6_000  # limit on one step of an engine
    subscriptions_max: int = 1_000_000  # points with more subscriptions are left out
    engine_modules: tuple[str, ...] = ()  # modules that register further engines


class SettingsMismatch(Exception):
    """Error for a folder with results that were measured with other settings."""


def run(
    experiment: Experiment,
    folder: Path,
    settings: Settings,
    report_progress: ReportProgress,
    engines: list[str] | None = None,
) -> Results:
    """Measure the points that have no results, and save after each point."""
    stored = results.load(folder, experiment.name) or Results(experiment.name, settings.scale, settings.repeat)
    if (stored.scale, stored.repeat) != (settings.scale, settings.repeat):
        raise SettingsMismatch(
            f"{folder} has results of {experiment.name} at scale {stored.scale:g}, {stored.repeat} rounds; "
            f"choose another folder, or remove them"
        )
    facts = machine.describe_machine()
    stored.machine = facts
    if experiment.rows is not None and not stored.rows:
        report_progress(experiment.name)
        stored.rows = experiment.rows(settings.scale)
        results.save(folder, stored)
    for point in experiment.points(settings.scale):
        known = {row["engine"]: row for row in stored.find_rows(point.variant, point.x)}
        # With a new engine, all engines are measured again: only times of one process are comparable.
        names = [*known, *(name for name in engines or experiment.available_engines if name not in known)]
        is_stale = set(names) > known.keys() or any(_needs_rerun(row, settings) for row in known.values())
        if is_stale and point.count <= settings.subscriptions_max:
            report_progress(f"{experiment.name} {point.variant} {point.x}")
            limits = {"commit": facts["commit"], "seconds": settings.seconds, "megabytes": settings.megabytes}
            rows = measure(experiment, point, names, settings)
            stored.replace(point.variant, point.x, [row | limits for row in rows])
            results.save(folder, stored)
    return stored


def _needs_rerun(row: Row, settings: Settings) -> bool:
    """Return whether the engine exceeded a limit that is higher now."""
    is_higher = row.get("seconds", 0) < settings.seconds or row.get("megabytes", 0) < settings.megabytes
    return row["status"] in LIMIT_STATUSES and is_higher


def measure(experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> list[Row]:
    """Return a row for each engine. If an engine fails or exceeds a limit, the process starts again without it."""
    rows: list[Row] = []
    remaining = list(engines)
    while remaining:
        process = _PointProcess(experiment, point, remaining, settings)
        rows += process.rows
        if process.failure is None:
            break
        engine, row = process.failure
        known = {row["engine"] for row in rows}
        if engine is None:  # failed before or after all engines: no engine caused it
            rows += [{"engine": name, **row} for name in remaining if name not in known]
            break
        if engine not in known:
            rows.append({"engine": engine, **row})
        remaining = [name for name in remaining if name not in known | {engine}]
    return sorted(rows, key=lambda row: engines.index(row["engine"]))


class _PointProcess:
    """A process that measures one point.

    `failure` is the engine whose fault ended the process, or None for no engine, and a row.
    """

    def __init__(self, experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> None:
        self.rows: list[Row] = []
        self.failure: tuple[str | None, Row] | None = None
        arguments = {
            "experiment": experiment.name, "point": point.key, "scale": settings.scale, "engines": engines,
            "repeat": settings.repeat, "engine_modules": settings.engine_modules,
        }  # fmt: skip
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.point", json.dumps(arguments)],
                stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
            )  # fmt: skip
            try:
                step = self._watch(process, settings)
                if self.failure is None and process.wait() != 0:
                    errors.seek(0)
                    detail = (errors.read().strip().splitlines() or [f"exit {process.returncode}"])[-1]
                    self.failure = step["engine"], {"status": "failed", "detail": f"{step['doing']}: {detail}"}
            finally:
                process.kill()
                process.wait()

    def _watch(self, process: subprocess.Popen[str], settings: Settings) -> dict[str, Any]:
        """Wait until the process ends or exceeds a limit; return its last step."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_pump, args=(process.stdout, lines.put), daemon=True).start()
        step: dict[str, Any] = {"doing": "start", "engine": None, "resident": 0}
        seconds_by_step: dict[tuple[str, str | None], float] = {}
        while True:
            begin = time.monotonic()
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                line = ""
            step_name = step["doing"], step["engine"]
            seconds_by_step[step_name] = seconds_by_step.get(step_name, 0.0) + time.monotonic() - begin
            limit = settings.seconds * (1 if step["engine"] else SETUP_TIME_FACTOR)
            if line is None:
                return step
            if line:
                message = json.loads(line)
                if "row" in message:
                    self.rows.append(message["row"])
                    step = {**step, "doing": "end", "engine": None}
                else:
                    step = message
            elif seconds_by_step[step_name] > limit:
                self.failure = step["engine"], _make_limit_row("time", f"{step['doing']}: more than {limit:g} s")
                return step
            # Memory that was allocated before the step belongs to other engines.
            elif machine.read_resident_bytes(process.pid) - step["resident"] > settings.megabytes * 1e6:
                detail = f"{step['doing']}: more than {settings.megabytes:,.0f} MB"
                self.failure = step["engine"], _make_limit_row("memory", detail)
                return step


def _make_limit_row(what: str, detail: str) -> Row:
    return {"status": f"over {what}", "detail": detail}


def _pump(source: Any, put: Callable[[str | None], object]) -> None:
    for line in source:
        put(line)
    put(None)
