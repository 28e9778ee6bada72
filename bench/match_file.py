"""`python -m bench.match_file`: the parts of the time that `tellwhen match` takes for a million JSON events.

The command runs in this process. Clocks measure the parsing of JSON and the matching kernels; the rest should be less
than half of the time. The rival is the loop that one would write by hand: `json.loads` of every line and `Index.match`.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import tellwhen as tw
from bench.timing import Measurement, summarize, time_run
from tellwhen.cli import app, event_files
from tellwhen.index import matching

EVENTS, SUBSCRIPTIONS, ROUNDS = 1_000_000, 20_000, 5
LOOP_EVENTS = 50_000
"""Events that the rival matches; its time is scaled up to all events."""

CITIES = [f"city-{n}" for n in range(200)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.match_file", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="tellwhen-bench-") as name:
        folder = Path(name)
        size = write_files(folder, events)
        table = Table("", "seconds", "noise", "share", title=f"{events:,} events, {size / 1e6:.0f} MB of JSON")
        for what, measurement, total in measure(folder, events):
            table.add_row(
                what, f"{measurement.median:.2f}", f"{measurement.noise:.0%}", f"{measurement.median / total:.0%}"
            )
        Console(width=100).print(table)


def write_files(folder: Path, events: int) -> int:
    """Write an index and a file of events; return the size of the file in bytes."""
    rng = random.Random(1)
    rules = {
        n: f"city = '{rng.choice(CITIES)}' AND price < {rng.randint(10, 900)} AND stock >= {rng.randint(0, 90)}"
        for n in range(SUBSCRIPTIONS)
    }
    tw.Index().add_many(rules).rebuild().save(folder / "index")
    with (folder / "events.jsonl").open("w") as file:
        for n in range(events):
            event = {
                "id": n,
                "city": rng.choice(CITIES),
                "price": round(rng.uniform(1, 1000), 2),
                "brand": f"b{n % 77}",
                "stock": rng.randint(0, 99),
                "new": n % 3 == 0,
            }
            file.write(json.dumps(event) + "\n")
    return (folder / "events.jsonl").stat().st_size


class Clock:
    """The total time that is spent in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wrap(self, module: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(module, name)

        @functools.wraps(inner)
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return inner(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(module, name, run)


def measure(folder: Path, events: int) -> list[tuple[str, Measurement, float]]:
    """Measure the parts of the command's time, each with the total time, and then the rival's time."""
    parsing, kernels = Clock(), Clock()
    parsing.wrap(event_files, "_parse_block")
    parsing.wrap(event_files, "_parse_lines")
    kernels.wrap(matching, "match_in_threads")
    parts: dict[str, list[float]] = {"parsing JSON": [], "matching kernels": [], "all else": [], "tellwhen match": []}
    loops = []
    for number in range(ROUNDS + 1):
        parsing.seconds = kernels.seconds = 0.0
        total = time_run(lambda: _run_command(folder))
        loop = time_run(lambda: _run_loop(folder)) * events / min(events, LOOP_EVENTS)
        if number:  # not the first round, which loads kernels
            times = (parsing.seconds, kernels.seconds, total - parsing.seconds - kernels.seconds, total)
            for name, seconds in zip(parts, times, strict=True):
                parts[name].append(seconds)
            loops.append(loop)
    measurements = {name: summarize(times) for name, times in parts.items()}
    total = measurements["tellwhen match"].median
    return [
        *((name, measurement, total) for name, measurement in measurements.items()),
        ("json.loads and Index.match in a loop", summarize(loops), total),
    ]


def _run_command(folder: Path) -> None:
    arguments = ["match", str(folder / "index"), str(folder / "events.jsonl"), "-o", str(folder / "matches.parquet")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output


def _run_loop(folder: Path) -> None:
    index = tw.Index.load(folder / "index")
    with (folder / "events.jsonl").open() as file:
        for number, line in enumerate(file):
            if number >= LOOP_EVENTS:
                return
            index.match(json.loads(line))


if __name__ == "__main__":
    main()
