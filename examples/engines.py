"""Which engine is the fastest on my subscriptions and my events? `python examples/engines.py rules.jsonl events.jsonl`

    python examples/engines.py                                        subscriptions that are made up: ads
    python examples/engines.py --workload begen --subscriptions 50000 others, see `tellwhen generate --help`
    python examples/engines.py rules.jsonl events.jsonl --engines auto,betree:max_cap=50,scan

Files are JSON lines, CSV or Parquet. Subscriptions have an id and an expression, events an attribute in every column.
The guide to it is docs/howto/engines.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from tellwhen.workloads import WORKLOADS, taken, taken_events

USUAL = "auto,counting,scan"
Rows = list[dict[str, Any]]


def rows_of(path: Path) -> Rows:
    """The rows of a file."""
    if path.suffix == ".parquet":
        return list(pyarrow.parquet.read_table(path).to_pylist())
    if path.suffix == ".csv":
        return list(pyarrow.csv.read_csv(path).to_pylist())
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def generated(workload: str, subscriptions: int, events: int) -> tuple[Rows, Rows]:
    """Subscriptions and events of a known workload."""
    work = WORKLOADS[workload]()
    texts = enumerate(taken(work, subscriptions))
    return [{"id": number, "expression": text} for number, text in texts], taken_events(work, events)


class Candidate:
    """An engine with the subscriptions, and what was measured of it."""

    def __init__(self, name: str, subscriptions: Rows, profile: tw.Profile) -> None:
        self.name = name
        given = [(row["id"], row["expression"]) for row in subscriptions]
        begin = time.perf_counter()
        self.index = tw.Index(name, profile=profile).add_many(given).rebuild()
        self.build = time.perf_counter() - begin
        self.single: list[float] = []
        self.batch: list[float] = []

    def measure(self, events: Rows) -> None:
        """One round: all events, one at a time and at once."""
        self.single.append(seconds(lambda: [self.index.match(event) for event in events]) / len(events))
        self.batch.append(seconds(lambda: self.index.match_many(events)) / len(events))

    def answers(self, events: Rows) -> list[set[Any]]:
        """What it finds; the kernels are compiled then."""
        self.index.match_many(events)
        return [set(self.index.match(event)) for event in events]

    @property
    def bytes_each(self) -> float:
        """Bytes of all arrays, for each subscription."""
        return float(sum(self.index.stats()["bytes"].values())) / max(1, len(self.index))


def seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def noise(times: Sequence[float]) -> float:
    """Half of the distance between the quartiles, as a share of the median."""
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / 2 / middle


def compared(names: Sequence[str], subscriptions: Rows, events: Rows, rounds: int) -> list[Candidate]:
    """Time the engines in turn, so that a busy moment of the machine is nobody's fault."""
    profile = tw.Profile.of_events(events)
    candidates = [Candidate(name, subscriptions, profile) for name in names]
    expected = candidates[0].answers(events)
    for one in candidates[1:]:
        assert one.answers(events) == expected, f"{one.name} finds something else than {candidates[0].name}"
    print(f"{sum(map(len, expected)) / len(events):,.1f} subscriptions match an event, and all engines find the same")
    for _ in range(rounds):
        for one in candidates:
            one.measure(events)
    return candidates


def shown(candidates: Sequence[Candidate]) -> Table:
    """A row for each engine, the fastest first."""
    table = Table("engine", "ms per event", "noise", "in a batch", "build s", "bytes each", "candidates", "beside it")
    for one in sorted(candidates, key=lambda one: statistics.median(one.single)):
        plan = one.index.plan()
        table.add_row(
            one.name,
            f"{statistics.median(one.single) * 1e3:.3f}",
            f"{noise(one.single):.0%}",
            f"{statistics.median(one.batch) * 1e3:.3f}",
            f"{one.build:.1f}",
            f"{one.bytes_each:,.0f}",
            "" if plan.observed is None else f"{plan.observed:,.0f}",
            f"{plan.over_budget:,}" if plan.over_budget else "",
        )
    return table


def verdict(candidates: Sequence[Candidate]) -> str:
    """Is it worth naming an engine?"""
    first = min(candidates, key=lambda one: statistics.median(one.single))
    auto = next((one for one in candidates if one.name.startswith("auto")), None)
    if auto is None or auto is first:
        return f"{first.name} is the fastest"
    times = statistics.median(auto.single) / statistics.median(first.single)
    return f"{first.name} is the fastest; auto takes {times:.2f} times as long"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="a file of subscriptions and one of events")
    parser.add_argument(
        "--engines", default=USUAL, help=f"names from `tellwhen engines`, with options; default: {USUAL}"
    )
    parser.add_argument("--workload", default="targeting", choices=sorted(WORKLOADS), help="default: targeting")
    parser.add_argument("--subscriptions", type=int, default=2_000, help="how many are made up")
    parser.add_argument("--events", type=int, default=200, help="how many, at most")
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is measured")
    given = parser.parse_args(arguments)
    if len(given.files) not in (0, 2):
        parser.error("give a file of subscriptions and a file of events, or none")
    if given.files:
        subscriptions, events = map(rows_of, given.files)
        events = events[: given.events]
    else:
        subscriptions, events = generated(given.workload, given.subscriptions, given.events)
    print(f"{len(subscriptions):,} subscriptions, for example: {subscriptions[0]['expression']!s:.80}")
    print(f"{len(events):,} events, for example: {events[0]!s:.80}")
    print("the first use of an engine compiles it, up to a minute, and building is slow then: run this twice")
    candidates = compared(given.engines.split(","), subscriptions, events, given.rounds)
    Console(width=110).print(shown(candidates))
    print(verdict(candidates))
    print(candidates[0].index.plan())


if __name__ == "__main__":
    main()
