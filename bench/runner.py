"""Experiments -> results. Every point is measured in a process of its own, watched for the time and memory it takes."""

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
PATIENCE = 10
"""So many times as long may those steps take that are no engine's fault: imports, the workload, the truth."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """How to run: sizes as a share of the papers', rounds, caps on one step of one engine, and on subscriptions."""

    scale: float = 0.1
    repeat: int = 5
    seconds: float = 120
    megabytes: float = 6_000
    most: int = 1_000_000
    load: tuple[str, ...] = ()  # modules with further engines


class OtherSettings(Exception):
    """There are results that were measured in another way."""


def run(
    experiment: Experiment, folder: Path, settings: Settings, told: Told, engines: list[str] | None = None
) -> Results:
    """Measure the points that are not measured yet, and save after each."""
    found = results.load(folder, experiment.name) or Results(experiment.name, settings.scale, settings.repeat)
    if (found.scale, found.repeat) != (settings.scale, settings.repeat):
        raise OtherSettings(
            f"{folder} has results of {experiment.name} at scale {found.scale:g}, {found.repeat} rounds; "
            f"choose another folder, or remove them"
        )
    facts = machine.facts()
    found.machine = facts
    if experiment.rows is not None and not found.rows:
        told(experiment.name)
        found.rows = experiment.rows(settings.scale)
        results.save(folder, found)
    for point in experiment.points(settings.scale):
        known = {row["engine"]: row for row in found.of(point.variant, point.x)}
        # All engines again, not only those that are new: what is compared is measured together.
        wanted = [*known, *(name for name in engines or experiment.present if name not in known)]
        stale = set(wanted) > known.keys() or any(_again(row, settings) for row in known.values())
        if stale and point.count <= settings.most:
            told(f"{experiment.name} {point.variant} {point.x}")
            caps = {"commit": facts["commit"], "seconds": settings.seconds, "megabytes": settings.megabytes}
            rows = measure(experiment, point, wanted, settings)
            found.replace(point.variant, point.x, [row | caps for row in rows])
            results.save(folder, found)
    return found


def _again(row: Row, settings: Settings) -> bool:
    """Did it take too much, and may take more now?"""
    more = row.get("seconds", 0) < settings.seconds or row.get("megabytes", 0) < settings.megabytes
    return row["status"] in OVER and more


def measure(experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> list[Row]:
    """A row for each engine, also for one that fails or takes too much: then the others start again without it."""
    rows: list[Row] = []
    left = list(engines)
    while left:
        child = _Child(experiment, point, left, settings)
        rows += child.rows
        if child.failure is None:
            break
        engine, row = child.failure
        known = {row["engine"] for row in rows}
        if engine is None:  # the workload itself, or the very end: no engine's fault
            rows += [{"engine": name, **row} for name in left if name not in known]
            break
        if engine not in known:
            rows.append({"engine": engine, **row})
        left = [name for name in left if name not in known | {engine}]
    return sorted(rows, key=lambda row: engines.index(row["engine"]))


class _Child:
    """A process that measures one point; `failure` names the engine that stopped it, and how."""

    def __init__(self, experiment: Experiment, point: Point, engines: list[str], settings: Settings) -> None:
        self.rows: list[Row] = []
        self.failure: tuple[str | None, Row] | None = None
        told = {
            "experiment": experiment.name, "point": point.key, "scale": settings.scale, "engines": engines,
            "repeat": settings.repeat, "load": settings.load,
        }  # fmt: skip
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.point", json.dumps(told)],
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
        """Until it ends or takes too much; returns what it was doing then."""
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
            patience = settings.seconds * (1 if doing["engine"] else PATIENCE)
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
            # What an engine has taken since its step began: the others' memory is not its fault.
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
