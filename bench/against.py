"""Is this checkout faster or slower than another one? Both are measured in one run, alternately.

    this process ──> a process per checkout (checkout.py), which holds the workload and one engine
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

from bench.compare import verdict_of
from bench.machine import commit
from bench.measure import measured
from tellwhen.workloads import BEGen

ROOT = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("checkout.py")
WAYS = ("one by one", "in a batch")
BUILDS = 3
"""Builds of an engine in each process."""


class Pair(NamedTuple):
    """Seconds in A and in B, timed one right after the other."""

    a: float
    b: float


class Checkout:
    """A process that runs the code of one checkout, and answers questions in JSON."""

    def __init__(self, root: Path, python: str) -> None:
        self._root = root
        # Its own source only: the environment may point to another checkout.
        environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
        self._process = subprocess.Popen(
            [python, "-P", str(SCRIPT), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, question: str, **given: Any) -> Any:
        """Ask, wait for the answer, and return it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"question": question, **given}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # then there is no answer either
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self._root} ended with {self._process.wait()}; see its error above")
        return json.loads(line)

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()


class Comparison:
    """This checkout (B) against another one (A)."""

    def __init__(self, other: Path, python: str | None, processes: int, rounds: int, this: Path = ROOT) -> None:
        self._roots = other.resolve(), this
        own = other / ".venv" / "bin" / "python"
        self._pythons = python or (str(own.absolute()) if own.exists() else sys.executable), sys.executable
        self._processes, self._rounds = processes, rounds

    def table(self, title: str, work: BEGen, count: int, events: int, engines: list[str]) -> Table:
        """Measure the engines on a workload, and show the ratio of every time with its noise."""
        pairs: dict[tuple[str, str], list[Pair]] = {}
        notes: dict[str, str] = {}
        for number in range(self._processes):
            with Checkout(self._roots[0], self._pythons[0]) as a, Checkout(self._roots[1], self._pythons[1]) as b:
                for side in (a, b):
                    side.ask("load", work=asdict(work), count=count, events=events)
                for engine in engines:
                    if engine not in notes:
                        self._measure(engine, (a, b), number, pairs, notes)
        names = [f"{letter}: {root} ({commit(root)})" for letter, root in zip("AB", self._roots, strict=True)]
        table = Table(
            "engine", "what", "A", "B", "B / A", "noise", "verdict", title=f"{title}, {count:,} subscriptions"
        )
        table.caption = ", ".join(names)
        for engine in engines:
            for what in ("build", *WAYS):
                if (engine, what) in pairs and engine not in notes:
                    table.add_row(engine, what, *_cells(what, pairs[engine, what]))
            if engine in notes:
                table.add_row(engine, notes[engine])
        return table

    def _measure(
        self,
        engine: str,
        sides: tuple[Checkout, Checkout],
        number: int,
        pairs: dict[tuple[str, str], list[Pair]],
        notes: dict[str, str],
    ) -> None:
        """Build and time an engine in both checkouts, alternately."""
        for letter, side in zip("AB", sides, strict=True):
            fault = side.ask("prepare", engine=engine).get("fault")
            if fault:
                notes[engine] = f"{letter}: {fault}"
                return

        def timed(turn: int, question: str, **given: Any) -> Pair:
            # Each checkout is first in half of the pairs.
            order = (0, 1) if (turn + number) % 2 == 0 else (1, 0)
            seconds = {which: sides[which].ask(question, **given)["seconds"] for which in order}
            return Pair(seconds[0], seconds[1])

        builds = [timed(turn, "build", engine=engine) for turn in range(BUILDS)]
        pairs.setdefault((engine, "build"), []).extend(builds)
        if len({side.ask("answers")["checksum"] for side in sides}) > 1:
            notes[engine] = "the matches differ"
            return
        for turn in range(self._rounds):
            for way in WAYS:
                pairs.setdefault((engine, way), []).append(timed(turn, "match", way=way))


def _cells(what: str, pairs: list[Pair]) -> list[str]:
    """The medians of A and B, the median of the ratios, its noise, and the verdict."""
    unit, factor = ("s", 1.0) if what == "build" else ("us", 1e6)
    medians = [measured(list(times)).median for times in zip(*pairs, strict=True)]
    ratio = measured([pair.b / pair.a for pair in pairs])
    times = [f"{time:,.0f} {unit}" if time >= 1000 else f"{time:.4g} {unit}" for time in (m * factor for m in medians)]
    return [*times, f"{ratio.median:.2f}", f"{ratio.spread:.0%}", verdict_of(ratio.median - 1, ratio.spread)]
