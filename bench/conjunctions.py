"""`python -m bench.conjunctions`: the engines on conjunctions, timed in turn in one run.

With `--against CHECKOUT` the command compares this checkout with another one instead, on the same engines and
workloads. Each checkout runs in a process of its own, and both are timed alternately.
"""

from __future__ import annotations

import argparse
import gc
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.checkouts import Comparison
from bench.engines import find_build_target, list_overview_engines, make, parse_engine_names
from bench.loading import encode_events, store_subscriptions
from bench.timing import Measurement, time_interleaved
from tellwhen.containers.batches import take_first
from tellwhen.engines.base import Reader
from tellwhen.workloads import BEGen

BYTES_TARGET = 400
"""Bytes per subscription, the store included. kindex and psthash replicate subscriptions, as in their papers, and may
need more."""

EVENTS = 32
EVENTS_WITH_CANDIDATES = 4
"""Events for which candidates are counted. Counting is slow."""


class Case(NamedTuple):
    """A workload, and the largest share of the scan's time that an engine with a target may take."""

    title: str
    work: BEGen
    subscriptions: int
    target: float | None = None


SPARSE = partial(BEGen, dimensions=30_000, cardinality=100, size=5, event_size=30, equality=0.2)
CASES = [
    Case("400 dimensions, 1 % match", BEGen(), 100_000),
    Case("400 dimensions, 1 % match", BEGen(), 1_000_000, 0.5),
    Case("400 dimensions, 0.1 % match", BEGen(match=0.001), 1_000_000, 0.15),
    Case("30,000 dimensions, 0.1 % match (PS-Tree's sparse)", SPARSE(match=0.001), 1_000_000),
    Case("100 dimensions, 1 % match (PS-Tree's dense)", SPARSE(dimensions=100, match=0.01), 1_000_000),
]


class BuiltEngine(NamedTuple):
    """An engine with the subscriptions of a case, and the time and memory of its build."""

    reader: Reader
    seconds: float
    bytes_per_subscription: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.conjunctions", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes in the documents, less for a try")
    parser.add_argument(
        "--engines", default=",".join(list_overview_engines()), help="with commas; default: those of bench/engines.py"
    )
    parser.add_argument("--cases", default="", help="numbers from 1, with commas; default: all")
    parser.add_argument("--against", type=Path, help="another checkout, to be compared with this one")
    parser.add_argument("--python", help="its interpreter; default: that of its .venv, else this one")
    parser.add_argument(
        "--processes", type=int, default=3, help="with --against: pairs of processes, one after another"
    )
    parser.add_argument("--rounds", type=int, default=8, help="with --against: timings in each process")
    options = parser.parse_args()
    try:
        engines = parse_engine_names(options.engines)
        cases = [CASES[int(number) - 1] for number in options.cases.split(",") if number] or CASES
    except (ValueError, IndexError) as error:
        parser.error(f"{error}; cases are 1 to {len(CASES)}" if isinstance(error, IndexError) else str(error))
    console = Console(width=140)
    for case in cases:
        count = max(1_000, round(case.subscriptions * options.scale))
        if options.against is None:
            console.print(make_overview_table(case, count, engines))
        else:
            comparison = Comparison(options.against, options.python, options.processes, options.rounds)
            console.print(comparison.measure_table(case.title, case.work, count, EVENTS, engines))


def make_overview_table(case: Case, count: int, engines: list[str]) -> Table:
    """Build all engines on a case, check that they find the same number of matches, and time them in turn."""
    store, slots = store_subscriptions(case.work, count)
    events = encode_events(case.work, EVENTS, store)
    shared = sum(array.nbytes for array in store.arrays().values())
    built_engines: dict[str, BuiltEngine] = {}
    for name in engines:
        make(name, store).insert(slots[:100])  # compiles the kernels, if they are not in the cache
        gc.collect()
        begin = time.perf_counter()
        engine = make(name, store)
        engine.insert(slots)
        engine.run_upkeep()
        seconds = time.perf_counter() - begin
        built_engines[name] = BuiltEngine(engine.reader(), seconds, (engine.stats()["bytes"] + shared) / count)
    matches = {name: len(engine.reader.match(events).slot) for name, engine in built_engines.items()}
    if len(set(matches.values())) > 1:
        raise AssertionError(f"the engines find different numbers of matches: {matches}")
    times = time_interleaved({name: partial(engine.reader.match, events) for name, engine in built_engines.items()})
    table = Table(
        "engine", "ms / event", "noise", "of scan", "target", "candidates", "build s", "target", "bytes each", "target",
        title=f"{case.title}: {matches[engines[0]] / EVENTS:,.0f} matches per event of {count:,}",
    )  # fmt: skip
    first_events = take_first(events, EVENTS_WITH_CANDIDATES)
    for name, timing in times.items():
        candidates = built_engines[name].reader.count_candidates(first_events) / EVENTS_WITH_CANDIDATES
        table.add_row(
            *_format_cells(name, built_engines[name], timing, times.get("scan"), candidates, case.target, count)
        )
    return table


def _format_cells(
    name: str,
    built: BuiltEngine,
    timing: Measurement,
    scan: Measurement | None,
    candidates: float,
    target: float | None,
    count: int,
) -> list[str]:
    """Return a row of the table. Targets are shown for a million subscriptions, and for engines that have one."""
    seconds = find_build_target(name) if count >= 1_000_000 else None
    return [
        name,
        f"{timing.median / EVENTS * 1000:.3f}",
        f"{timing.noise:.0%}",
        f"{timing.median / scan.median:.2f}x" if scan else "",
        f"{target}x" if target and seconds else "",
        f"{candidates:,.0f}",
        f"{built.seconds:.2f}",
        f"{seconds:g}" if seconds else "",
        f"{built.bytes_per_subscription:.0f}",
        f"{BYTES_TARGET}",
    ]


if __name__ == "__main__":
    main()
