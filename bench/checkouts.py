"""Comparison of this checkout's speed with another checkout's. Both are measured in one run, alternately.

    this process ──> a process per checkout (checkout_process.py), which holds the workload and one engine
                 ──> asks A, then B, then B, then A ... to time some events ──> the ratio B / A of each pair

A pair of timings sees the same disturbances, so the ratio is less noisy than either time. Processes are started several
times, because the layout of memory differs between two processes of the same code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from rich.table import Table

from bench.changes import judge_change
from bench.machine import describe_commit
from bench.timing import summarize
from tellwhen.workloads import BEGen

ROOT = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("checkout_process.py")
MATCHING_MODES = ("one by one", "in a batch")
BUILDS_PER_PROCESS = 3


class TimePair(NamedTuple):
    """Seconds in A and in B, timed immediately one after the other."""

    a: float
    b: float


class Checkout:
    """A process that runs the code of one checkout, and takes commands in JSON."""

    def __init__(self, root: Path, python: str) -> None:
        self._root = root
        # Only the source of this checkout: the environment may point to another one.
        environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
        self._process = subprocess.Popen(
            [python, "-P", str(SCRIPT), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def call(self, command: str, **arguments: Any) -> Any:
        """Send a command, wait for the answer, and return it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended, so reading its answer fails below
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self._root} ended with {self._process.wait()}; see its error above")
        return json.loads(line)

    def __enter__(self) -> Checkout:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()


class Comparison:
    """Comparison of this checkout (B) with another one (A)."""

    def __init__(self, other: Path, python: str | None, processes: int, rounds: int, this: Path = ROOT) -> None:
        self._roots = other.resolve(), this
        own_python = other / ".venv" / "bin" / "python"
        self._pythons = (
            python or (str(own_python.absolute()) if own_python.exists() else sys.executable),
            sys.executable,
        )
        self._processes, self._rounds = processes, rounds

    def measure_table(self, title: str, work: BEGen, count: int, events: int, engines: list[str]) -> Table:
        """Measure the engines on a workload; return a table with the ratio of every time and its noise."""
        pairs: dict[tuple[str, str], list[TimePair]] = {}
        notes: dict[str, str] = {}
        for number in range(self._processes):
            with Checkout(self._roots[0], self._pythons[0]) as a, Checkout(self._roots[1], self._pythons[1]) as b:
                for side in (a, b):
                    side.call("load", work=asdict(work), count=count, events=events)
                for engine in engines:
                    if engine not in notes:
                        self._measure(engine, (a, b), number, pairs, notes)
        names = [f"{letter}: {root} ({describe_commit(root)})" for letter, root in zip("AB", self._roots, strict=True)]
        table = Table(
            "engine", "what", "A", "B", "B / A", "noise", "verdict", title=f"{title}, {count:,} subscriptions"
        )
        table.caption = ", ".join(names)
        for engine in engines:
            for what in ("build", *MATCHING_MODES):
                if (engine, what) in pairs and engine not in notes:
                    table.add_row(engine, what, *_format_cells(what, pairs[engine, what]))
            if engine in notes:
                table.add_row(engine, notes[engine])
        return table

    def _measure(
        self,
        engine: str,
        sides: tuple[Checkout, Checkout],
        process_number: int,
        pairs: dict[tuple[str, str], list[TimePair]],
        notes: dict[str, str],
    ) -> None:
        """Build and time an engine in both checkouts, alternately."""
        for letter, side in zip("AB", sides, strict=True):
            fault = side.call("prepare", engine=engine).get("fault")
            if fault:
                notes[engine] = f"{letter}: {fault}"
                return

        def time_pair(turn: int, command: str, **arguments: Any) -> TimePair:
            # Each checkout is first in half of the pairs.
            order = (0, 1) if (turn + process_number) % 2 == 0 else (1, 0)
            seconds = {number: sides[number].call(command, **arguments)["seconds"] for number in order}
            return TimePair(seconds[0], seconds[1])

        builds = [time_pair(turn, "time_build", engine=engine) for turn in range(BUILDS_PER_PROCESS)]
        pairs.setdefault((engine, "build"), []).extend(builds)
        if len({side.call("compute_checksum")["checksum"] for side in sides}) > 1:
            notes[engine] = "the matches differ"
            return
        for turn in range(self._rounds):
            for mode in MATCHING_MODES:
                pairs.setdefault((engine, mode), []).append(time_pair(turn, "time_matching", mode=mode))


def _format_cells(what: str, pairs: list[TimePair]) -> list[str]:
    """Return the medians of A and B, the median of the ratios, its noise, and the verdict, as text."""
    unit, factor = ("s", 1.0) if what == "build" else ("us", 1e6)
    medians = [summarize(list(times)).median for times in zip(*pairs, strict=True)]
    ratio = summarize([pair.b / pair.a for pair in pairs])
    times = [f"{time:,.0f} {unit}" if time >= 1000 else f"{time:.4g} {unit}" for time in (m * factor for m in medians)]
    return [*times, f"{ratio.median:.2f}", f"{ratio.spread:.0%}", judge_change(ratio.median - 1, ratio.spread)]
