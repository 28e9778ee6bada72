"""`python -m bench.match_file`: what does `tellwhen match` of a million JSON events spend its time on?

The command runs in this process, and clocks stand around the parsing of JSON and around the matching kernels: what is
left is the time outside of both, which should be under half. The rival is the loop that one would write: `json.loads`
of every line and `Index.match`.
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
from bench.measure import Measured, measured, timed
from tellwhen.cli import app, event_files
from tellwhen.index import matching

EVENTS, SUBSCRIPTIONS, ROUNDS = 1_000_000, 20_000, 5
LOOPED = 50_000
"""Events of the rival: its time is scaled up."""

CITIES = [f"city-{n}" for n in range(200)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.match_file", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="tellwhen-bench-") as name:
        folder = Path(name)
        size = write(folder, events)
        shown = Table("", "seconds", "noise", "share", title=f"{events:,} events, {size / 1e6:.0f} MB of JSON")
        for what, found, total in measure(folder, events):
            shown.add_row(what, f"{found.median:.2f}", f"{found.noise:.0%}", f"{found.median / total:.0%}")
        Console(width=100).print(shown)


def write(folder: Path, events: int) -> int:
    """An index and a file of events; returns the size of the file."""
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
    """Adds up the time that is spent in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, module: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(module, name)

        @functools.wraps(inner)
        def run(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return inner(*given, **named)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(module, name, run)


def measure(folder: Path, events: int) -> list[tuple[str, Measured, float]]:
    """The parts of the command's time, each with the time of all of it; then the rival's."""
    parsing, kernels = Clock(), Clock()
    parsing.around(event_files, "_parse_block")
    parsing.around(event_files, "_parse_lines")
    kernels.around(matching, "match_in_threads")
    parts: dict[str, list[float]] = {"parsing JSON": [], "matching kernels": [], "all else": [], "tellwhen match": []}
    loops = []
    for number in range(ROUNDS + 1):
        parsing.seconds = kernels.seconds = 0.0
        total = timed(lambda: _command(folder))
        loop = timed(lambda: _loop(folder)) * events / min(events, LOOPED)
        if number:  # the first round loads kernels
            times = (parsing.seconds, kernels.seconds, total - parsing.seconds - kernels.seconds, total)
            for name, seconds in zip(parts, times, strict=True):
                parts[name].append(seconds)
            loops.append(loop)
    found = {name: measured(times) for name, times in parts.items()}
    total = found["tellwhen match"].median
    return [
        *((name, one, total) for name, one in found.items()),
        ("json.loads and Index.match in a loop", measured(loops), total),
    ]


def _command(folder: Path) -> None:
    given = ["match", str(folder / "index"), str(folder / "events.jsonl"), "-o", str(folder / "matches.parquet")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output


def _loop(folder: Path) -> None:
    index = tw.Index.load(folder / "index")
    with (folder / "events.jsonl").open() as file:
        for number, line in enumerate(file):
            if number >= LOOPED:
                return
            index.match(json.loads(line))


if __name__ == "__main__":
    main()
