"""How is an experiment run? Point by point, each in a process of its own with limits on time and memory."""

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
from bench.claims import OVER, Row
from bench.experiment import Experiment, Point
from bench.results import Results

ROOT = Path(__file__).parent.parent
SETUP_PATIENCE = 10
"""Steps before an engine (imports, the workload, the truth) may take this many times the limit of an engine."""

Progress = Callable[[str], None]
"""Called with what is measured next."""


@dataclass(frozen=True)
class Settings:
    """How to run: sizes as a share of the papers', rounds, limits on one step of an engine, and on subscriptions."""

    scale: float = 0.1
    repeat: int = 5
    seconds: float = 120
    megabytes: float = 6_000
    most: int = 1_000_000
    load: tuple[str, ...] = ()  # modules that register further engines


class OtherSettings(Exception):
    """The folder has results that were measured with other settings."""


def run(
    experiment: Experiment, folder: Path, settings: Settings, progress: Progress, engines: list[str] | None = None
) -> Results:
    """Measure the points without results, and save after each."""
    found = results.load(folder, experiment.name) or Results(experiment.name, settings.scale, settings.repeat)
    if (found.scale, found.repeat) != (settings.scale, settings.repeat):
        raise OtherSettings(
            f"{folder} has results of {experiment.name} at scale {found.scale:g}, {found.repeat} rounds; "
            f"choose another folder, or remove them"
        )
    facts = machine.facts()
    found.machine = facts
    if experiment.rows is not None and not found.rows:
        progress(experiment.name)
        found.rows = experiment.rows(settings.scale)
        results.save(folder, found)
    for point in experiment.points(settings.scale):
        known = {row["engine"]: row for row in found.of(point.variant, point.x)}
        # With a new engine all are measured again: only times from one process are comparable.
        wanted = [*known, *(name for name in engines or experiment.present if name not in known)]
        stale = set(wanted) > known.keys() or any(_again(row, settings) for row in known.values())
        if stale and point.count <= settings.most:
            progress(f"{experiment.name} {point.variant} {point.x}")
            limits = {"commit": facts["commit"], "seconds": settings.seconds, "megabytes": settings.megabytes}
            rows = measure(experiment, point, wanted, settings)
            found.replace(point.variant, point.x, [row | limits for row in rows])
            results.save(folder, found)
    return found


def _again(row: Row, settings: Settings) -> bool:
    """Did the engine exceed a limit that is higher now?"""
    is_higher = row.get("seconds", 0) < settings.seconds or row.get("megabytes", 0) < settings.megabytes
    return row["status"] in OVER and is_higher


def measure(experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> list[Row]:
    """A row for each engine. If one fails or exceeds a limit, the process starts again without it."""
    rows: list[Row] = []
    left = list(engines)
    while left:
        child = _Child(experiment, point, left, settings)
        rows += child.rows
        if child.failure is None:
            break
        engine, row = child.failure
        known = {row["engine"] for row in rows}
        if engine is None:  # the workload itself, or the end: not the fault of an engine
            rows += [{"engine": name, **row} for name in left if name not in known]
            break
        if engine not in known:
            rows.append({"engine": engine, **row})
        left = [name for name in left if name not in known | {engine}]
    return sorted(rows, key=lambda row: engines.index(row["engine"]))


class _Child:
    """A process that measures one point; `failure` is the engine that ended it, and its row."""

    def __init__(self, experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> None:
        self.rows: list[Row] = []
        self.failure: tuple[str | None, Row] | None = None
        given = {
            "experiment": experiment.name, "point": point.key, "scale": settings.scale, "engines": engines,
            "repeat": settings.repeat, "load": settings.load,
        }  # fmt: skip
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.point", json.dumps(given)],
                stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
            )  # fmt: skip
            try:
                doing = self._watch(process, settings)
                if self.failure is None and process.wait() != 0:
                    errors.seek(0)
                    detail = (errors.read().strip().splitlines() or [f"exit {process.returncode}"])[-1]
                    self.failure = doing["engine"], {"status": "failed", "detail": f"{doing['doing']}: {detail}"}
            finally:
                process.kill()
                process.wait()

    def _watch(self, process: subprocess.Popen[str], settings: Settings) -> dict[str, Any]:
        """Wait until the process ends or exceeds a limit; returns its last step."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_pump, args=(process.stdout, lines.put), daemon=True).start()
        doing: dict[str, Any] = {"doing": "start", "engine": None, "resident": 0}
        spent: dict[tuple[str, str | None], float] = {}
        while True:
            begin = time.monotonic()
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                line = ""
            step = doing["doing"], doing["engine"]
            spent[step] = spent.get(step, 0.0) + time.monotonic() - begin
            patience = settings.seconds * (1 if doing["engine"] else SETUP_PATIENCE)
            if line is None:
                return doing
            if line:
                said = json.loads(line)
                if "row" in said:
                    self.rows.append(said["row"])
                    doing = {**doing, "doing": "end", "engine": None}
                else:
                    doing = said
            elif spent[step] > patience:
                self.failure = doing["engine"], _over("time", f"{doing['doing']}: more than {patience:g} s")
                return doing
            # Only what was allocated since its step began: the rest belongs to the other engines.
            elif machine.resident(process.pid) - doing["resident"] > settings.megabytes * 1e6:
                detail = f"{doing['doing']}: more than {settings.megabytes:,.0f} MB"
                self.failure = doing["engine"], _over("memory", detail)
                return doing


def _over(what: str, detail: str) -> Row:
    return {"status": f"over {what}", "detail": detail}


def _pump(source: Any, put: Callable[[str | None], object]) -> None:
    for line in source:
        put(line)
    put(None)
