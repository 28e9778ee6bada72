"""Runs of experiments: each point is measured in a process of its own, with limits on time and memory."""

from __future__ import annotations

import json
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine, results
from bench.claims import LIMIT_STATUSES, Row
from bench.experiment import Experiment, Point
from bench.messages import BEGIN_TURN, END_TURN
from bench.results import Results
from bench.turns import MemoryBudget, Turns

ROOT = Path(__file__).parent.parent
SETUP_TIME_FACTOR = 10
"""Steps that belong to no engine (imports, workload, truth) may take this many times an engine's limit."""

BYTES_PER_SUBSCRIPTION = 2_500
"""Estimated bytes that a point needs for each subscription: workload, truth, store and all engines of a figure."""

MEMORY_SHARE = 0.75
"""Share of the memory that the points of a run may use together."""

ReportProgress = Callable[[str], None]
"""Function that is called with the name of the next measurement."""


@dataclass(frozen=True)
class Settings:
    """Sizes, rounds and limits of a run. If `scale` is None, each experiment has its own scale."""

    scale: float | None = None  # sizes, as a share of the papers' sizes
    repeat: int = 5  # rounds
    seconds: float = 120  # limit on one step of an engine
    megabytes: float = 6_000  # limit on one step of an engine
    subscriptions_min: int = 0  # points with fewer subscriptions are left out
    subscriptions_max: int = 1_000_000  # points with more subscriptions are left out
    jobs: int = 1  # points that are prepared at the same time
    engine_modules: tuple[str, ...] = ()  # modules that register further engines

    def covers(self, point: Point) -> bool:
        return self.subscriptions_min <= point.count <= self.subscriptions_max


class SettingsMismatch(Exception):
    """Error for a folder with results that were measured with other settings, or on another machine."""


@dataclass(frozen=True)
class _Task:
    """A point that has to be measured."""

    experiment: Experiment
    stored: Results
    point: Point
    engines: list[str]


def run(
    experiments: Sequence[Experiment],
    folder: Path,
    settings: Settings,
    report_progress: ReportProgress,
    engines: list[str] | None = None,
) -> list[Results]:
    """Measure the points that have no results, and save after each point."""
    facts = machine.describe_machine()
    turns, saving = Turns(), threading.Lock()
    stored = {experiment.name: _load(experiment, folder, settings, facts) for experiment in experiments}
    for experiment in experiments:
        result = stored[experiment.name]
        if experiment.rows is not None and not result.rows:
            report_progress(experiment.name)
            result.rows = experiment.rows(result.scale)
            results.save(folder, result)

    def measure_task(task: _Task) -> None:
        report_progress(f"{task.experiment.name} {task.point.variant} {task.point.x}")
        rows = measure(task.experiment, task.point, task.engines, settings, turns)
        point_fields = {
            "count": task.point.count, "scale": task.point.scale, "comparable": task.point.comparable,
            "commit": facts["commit"], "seconds": settings.seconds, "megabytes": settings.megabytes,
        }  # fmt: skip
        with saving:
            task.stored.replace(task.point.variant, task.point.x, [row | point_fields for row in rows])
            results.save(folder, task.stored)

    tasks = [
        task
        for experiment in experiments
        for task in _find_tasks(experiment, stored[experiment.name], settings, engines)
    ]
    _run_all(measure_task, tasks, settings.jobs, turns)
    return list(stored.values())


def _run_all(measure_task: Callable[[_Task], None], tasks: list[_Task], jobs: int, turns: Turns) -> None:
    """Measure all tasks, `jobs` at a time. On an error or interrupt, kill the processes and raise it again."""
    if jobs == 1:
        for task in tasks:
            measure_task(task)
        return
    budget = MemoryBudget(
        MEMORY_SHARE * machine.read_memory_size(), [(task.point.count * BYTES_PER_SUBSCRIPTION, task) for task in tasks]
    )

    def work() -> None:
        for task in budget:
            measure_task(task)

    with ThreadPoolExecutor(jobs) as pool:
        workers = [pool.submit(work) for _ in range(jobs)]
        try:
            for worker in wait(workers, return_when=FIRST_EXCEPTION).done:
                worker.result()
        except BaseException:
            budget.clear()
            turns.kill_all()
            raise


def _load(experiment: Experiment, folder: Path, settings: Settings, facts: dict[str, str]) -> Results:
    """Return the stored results of an experiment, or new ones."""
    scale = settings.scale or experiment.scale
    stored = results.load(folder, experiment.name) or Results(experiment.name, scale, settings.repeat, facts)
    if (stored.scale, stored.repeat) != (scale, settings.repeat):
        raise SettingsMismatch(
            f"{folder} has results of {experiment.name} at scale {stored.scale:g}, {stored.repeat} rounds; "
            f"choose another folder, or remove them"
        )
    if any(stored.machine.get(name) != facts[name] for name in ("processor", "cores")):
        raise SettingsMismatch(
            f"{folder} has results of {experiment.name} from another machine ({stored.machine.get('processor')}, "
            f"{stored.machine.get('cores')} cores): times are comparable on one machine only; choose another folder"
        )
    stored.machine = facts
    return stored


def _find_tasks(
    experiment: Experiment, stored: Results, settings: Settings, engines: list[str] | None
) -> Iterator[_Task]:
    """Yield the points that lack results, or have results that are measured again, with their engines."""
    for point in experiment.list_points(settings.scale):
        known = {row["engine"]: row for row in stored.find_rows(point.variant, point.x)}
        # With a new engine, all engines are measured again: only times of one process are comparable.
        names = [*known, *(name for name in engines or experiment.available_engines if name not in known)]
        is_stale = set(names) > known.keys() or any(_needs_rerun(row, settings) for row in known.values())
        if is_stale and settings.covers(point):
            yield _Task(experiment, stored, point, names)


def _needs_rerun(row: Row, settings: Settings) -> bool:
    """Return whether the times of an engine were unsteady, or it exceeded a limit that is higher now."""
    if row["status"] == "unsteady":
        return True
    is_higher = row.get("seconds", 0) < settings.seconds or row.get("megabytes", 0) < settings.megabytes
    return row["status"] in LIMIT_STATUSES and is_higher


def measure(experiment: Experiment, point: Point, engines: list[str], settings: Settings, turns: Turns) -> list[Row]:
    """Return a row for each engine. If an engine fails or exceeds a limit, the process starts again without it."""
    rows: list[Row] = []
    remaining = list(engines)
    while remaining:
        arguments = {
            "experiment": experiment.name, "point": point.key, "scale": point.scale, "engines": remaining,
            "repeat": settings.repeat, "engine_modules": settings.engine_modules,
        }  # fmt: skip
        process = _PointProcess(arguments, settings, turns)
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

    `rows` has the rows that the process has printed. `failure` is None if the process ended well. Otherwise it is the
    engine that was at work, or None if no engine was, and a row that says what failed.
    """

    def __init__(self, arguments: dict[str, Any], settings: Settings, turns: Turns) -> None:
        self.rows: list[Row] = []
        self.failure: tuple[str | None, Row] | None = None
        self._settings, self._turns = settings, turns
        command = [sys.executable, "-m", "bench.point", json.dumps(arguments)]
        with tempfile.TemporaryFile("w+") as errors, turns.run(command, ROOT, errors.fileno()) as process:
            step = self._watch(process)
            if self.failure is None and process.wait() != 0:
                errors.seek(0)
                detail = (errors.read().strip().splitlines() or [f"exit {process.returncode}"])[-1]
                self.failure = step["engine"], {"status": "failed", "detail": f"{step['doing']}: {detail}"}

    def _watch(self, process: Any) -> dict[str, Any]:
        """Wait until the process ends or exceeds a limit; return its last step."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_forward_lines, args=(process.stdout, lines.put), daemon=True).start()
        step: dict[str, Any] = {"doing": "start", "engine": None, "resident": 0}
        seconds_by_step: dict[tuple[str, str | None], float] = {}
        while True:
            begin, was_stopped = time.monotonic(), self._turns.is_stopped(process)
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                line = ""
            step_name = step["doing"], step["engine"]
            if not was_stopped:  # the time during the turns of other processes does not count
                seconds_by_step[step_name] = seconds_by_step.get(step_name, 0.0) + time.monotonic() - begin
            if line is None:
                return step
            if line:
                message = json.loads(line)
                if message == BEGIN_TURN:
                    self._turns.begin(process)
                elif message == END_TURN:
                    self._turns.end(process)
                elif "row" in message:
                    self.rows.append(message["row"])
                    step = {**step, "doing": "end", "engine": None}
                else:
                    step = message
            elif self._exceeds_limit(process.pid, step, seconds_by_step.get(step_name, 0.0)):
                return step

    def _exceeds_limit(self, pid: int, step: dict[str, Any], seconds: float) -> bool:
        """Return whether a step takes too much time or memory; set `failure` if it does."""
        limit = self._settings.seconds * (1 if step["engine"] else SETUP_TIME_FACTOR)
        if seconds > limit:
            self.failure = step["engine"], _make_limit_row("time", f"{step['doing']}: more than {limit:g} s")
        # Memory that was allocated before the step belongs to other engines.
        elif machine.read_resident_bytes(pid) - step["resident"] > self._settings.megabytes * 1e6:
            detail = f"{step['doing']}: more than {self._settings.megabytes:,.0f} MB"
            self.failure = step["engine"], _make_limit_row("memory", detail)
        return self.failure is not None


def _make_limit_row(what: str, detail: str) -> Row:
    return {"status": f"over {what}", "detail": detail}


def _forward_lines(source: Any, put: Callable[[str | None], object]) -> None:
    """Call `put` with each line of the source, and with None at its end."""
    for line in source:
        put(line)
    put(None)
