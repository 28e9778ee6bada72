"""Which engine is the fastest on my subscriptions and my events? `python examples/engines.py rules.jsonl events.jsonl`

    python examples/engines.py                                        subscriptions that are made up: ads
    python examples/engines.py --workload begen --subscriptions 50000 others, see `tellwhen generate --help`
    python examples/engines.py rules.jsonl events.jsonl --engines auto,betree:max_cap=50,scan
    python examples/engines.py rules.jsonl events.jsonl --schema types.json

Files are JSON lines, CSV or Parquet. Subscriptions have an id and an expression, events an attribute in every column.
The schema is a JSON object of types. Times in JSON lines are text, and match only if it has {"at": "timestamp"}.
The guide to it is docs/howto/engines.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from tellwhen.workloads import WORKLOADS, take_events, take_subscriptions

USUAL = "auto,counting,scan"
Rows = list[dict[str, Any]]


class Unusable(Exception):
    """A file that cannot be taken; the message says which, and why."""


class ToldOnce(logging.Filter):
    """Every engine has an index of its own, and all of them warn of the same."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        is_new = message not in self._told
        self._told.add(message)
        return is_new


def rows_of(path: Path, columns: Sequence[str] = ()) -> Rows:
    """The rows of a file, each with these columns."""
    try:
        rows = read(path)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from None
    except (ValueError, pa.ArrowException) as error:
        raise Unusable(f"{path} cannot be read: {error}") from None
    if not rows:
        raise Unusable(f"{path} is empty")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Unusable(f"{path}: row {number} is no object, but {row!s:.60}")
        for name in columns:
            if row.get(name) is None:
                raise Unusable(f"{path}: row {number} has no {name}, but {', '.join(map(str, row)) or 'nothing'}")
    return rows


def read(path: Path) -> Rows:
    """The rows of a file, by the suffix of its name."""
    if path.suffix == ".parquet":
        return list(pyarrow.parquet.read_table(path).to_pylist())
    if path.suffix == ".csv":
        return list(pyarrow.csv.read_csv(path).to_pylist())
    with path.open(encoding="utf-8-sig") as lines:
        return [parse_line(line, number) for number, line in enumerate(lines, 1) if line.strip()]


def parse_line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from None


def schema_of(path: Path | None) -> tw.Schema:
    """The types that a JSON file declares."""
    if path is None:
        return tw.Schema()
    try:
        return tw.Schema(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # JSON that is none, and SchemaError
        raise Unusable(f"{path}: {error}") from None


def generate_rows(workload: str, subscriptions: int, events: int) -> tuple[Rows, Rows]:
    """Return subscriptions and events of a known workload."""
    work = WORKLOADS[workload]()
    texts = enumerate(take_subscriptions(work, subscriptions))
    return [{"id": number, "expression": text} for number, text in texts], take_events(work, events)


class Candidate:
    """An engine with the subscriptions, and what was measured of it."""

    def __init__(self, name: str, subscriptions: Rows, profile: tw.Profile, schema: tw.Schema) -> None:
        self.name = name
        given = [(row["id"], row["expression"]) for row in subscriptions]
        begin = time.perf_counter()
        self.index = tw.Index(name, schema, profile).add_many(given).rebuild()
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
        return float(sum(self.index.inspect.get_stats()["bytes"].values())) / max(1, len(self.index))

    @property
    def pending(self) -> int:
        """Subscriptions that are in no index, and are tested one by one."""
        return sum(
            part.subscriptions
            for part in self.index.inspect.describe_engine().parts
            if part.lookup.startswith("are pending")
        )


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


def compare_engines(
    names: Sequence[str], subscriptions: Rows, events: Rows, rounds: int, schema: tw.Schema
) -> list[Candidate]:
    """Time the engines in turn, so that a busy moment of the machine slows all of them."""
    profile = tw.Profile.from_events(events)
    candidates = [Candidate(name, subscriptions, profile, schema) for name in names]
    expected = candidates[0].answers(events)
    for one in candidates[1:]:
        assert one.answers(events) == expected, f"{one.name} finds something else than {candidates[0].name}"
    print(f"{sum(map(len, expected)) / len(events):,.1f} subscriptions match an event, and all engines find the same")
    for _ in range(rounds):
        for one in candidates:
            one.measure(events)
    return candidates


def make_table(candidates: Sequence[Candidate]) -> Table:
    """Return a table with a row for each engine, the fastest first."""
    table = Table("engine", "ms per event", "noise", "in a batch", "build s", "bytes each", "candidates", "beside it")
    for one in sorted(candidates, key=lambda one: statistics.median(one.single)):
        plan = one.index.inspect.describe_engine()
        table.add_row(
            one.name,
            f"{statistics.median(one.single) * 1e3:.3f}",
            f"{noise(one.single):.0%}",
            f"{statistics.median(one.batch) * 1e3:.3f}",
            f"{one.build:.1f}",
            f"{one.bytes_each:,.0f}",
            "" if plan.observed_candidates is None else f"{plan.observed_candidates:,.0f}",
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


def notes(candidates: Sequence[Candidate]) -> list[str]:
    """What the times do not tell: values that match nothing, and a loop that was measured in place of an index."""
    found = []
    if wrong := candidates[0].index.inspect.get_stats()["mismatches"]:
        found.append(f"{', '.join(wrong)}: values of a wrong type, which match nothing; is a type missing in --schema?")
    for one in candidates:
        if pending := one.pending:
            found.append(
                f"{one.name} keeps {pending:,} of {len(one.index):,} subscriptions pending, also after rebuild(), and "
                "tests them one by one: few need no index; measure with as many as you will have"
            )
    return found


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="a file of subscriptions and one of events")
    parser.add_argument("--schema", type=Path, help='a JSON file of types: {"at": "timestamp"}')
    parser.add_argument(
        "--engines", default=USUAL, help=f"names from `tellwhen engines`, with options; default: {USUAL}"
    )
    parser.add_argument("--workload", default="targeting", choices=sorted(WORKLOADS), help="default: targeting")
    parser.add_argument("--subscriptions", type=positive, default=2_000, help="how many are made up")
    parser.add_argument("--events", type=positive, default=200, help="how many, at most")
    parser.add_argument("--rounds", type=positive, default=7, help="how often everything is measured")
    given = parser.parse_args(arguments)
    if len(given.files) not in (0, 2):
        parser.error("give a file of subscriptions and a file of events, or none")
    return given


def run(given: argparse.Namespace) -> None:
    schema = schema_of(given.schema)
    if given.files:
        subscriptions, events = rows_of(given.files[0], ("id", "expression")), rows_of(given.files[1])
        events = events[: given.events]
    else:
        subscriptions, events = generate_rows(given.workload, given.subscriptions, given.events)
    print(f"{len(subscriptions):,} subscriptions, for example: {subscriptions[0]['expression']!s:.80}")
    print(f"{len(events):,} events, for example: {events[0]!s:.80}")
    print("the first use of an engine compiles it, up to a minute, and building is slow then: run this twice")
    candidates = compare_engines(given.engines.split(","), subscriptions, events, given.rounds, schema)
    Console(width=110).print(make_table(candidates))
    print(verdict(candidates))
    for note in notes(candidates):
        print(note)
    print(candidates[0].index.inspect.describe_engine())


def main(arguments: Sequence[str] | None = None) -> None:
    given = parse_arguments(arguments)
    once = ToldOnce()
    logging.getLogger("tellwhen").addFilter(once)
    try:
        run(given)
    except (Unusable, tw.TellwhenError) as error:
        sys.exit(str(error))  # to the standard error, with exit code 1
    finally:
        logging.getLogger("tellwhen").removeFilter(once)


if __name__ == "__main__":
    main()
