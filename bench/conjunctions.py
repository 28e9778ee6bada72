"""`python -m bench.conjunctions`: the engines of the papers against a tight scan, one after the other in one run."""

from __future__ import annotations

import argparse
import gc
import time
from functools import partial
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.loading import encoded, stored
from bench.measure import interleaved
from tellwhen.containers.batches import first
from tellwhen.engines import create
from tellwhen.engines.base import Reader
from tellwhen.workloads import BEGen

OLDER = ("scan", "counting", "propagation", "kindex", "gryphon")
ENGINES = (*OLDER, "betree", "betree-batch", "opindex", "pstbloom", "psthash")
BUILD = {"betree": 15, "opindex": 5, "pstbloom": 5, "psthash": 15}
"""Seconds that building a million may take."""

BYTES = 400
"""That a subscription may need, the store included. kindex and psthash replicate: that is their papers' structure."""

EVENTS, CHECKED = 32, 4


class Case(NamedTuple):
    """A workload, and of what share of the scan's time the engines with a target should be."""

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.conjunctions", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes of the documents, less for a look")
    parser.add_argument("--engines", default=",".join(ENGINES), help="with commas")
    parser.add_argument("--cases", default="", help="numbers from 1, with commas; all by default")
    told = parser.parse_args()
    console = Console(width=140)
    chosen = [int(number) - 1 for number in told.cases.split(",") if number] or range(len(CASES))
    for number in chosen:
        console.print(_measured(CASES[number], told.scale, told.engines.split(",")))


def _measured(case: Case, scale: float, engines: list[str]) -> Table:
    count = max(1000, round(case.subscriptions * scale))
    store, slots = stored(case.work, count)
    events = encoded(case.work, EVENTS, store)
    shared = sum(array.nbytes for array in store.arrays().values())
    readers: dict[str, Reader] = {}
    facts: dict[str, tuple[float, float]] = {}
    for name in engines:
        create(name, store).insert(slots[:100])  # compiles, if it must
        gc.collect()
        begin = time.perf_counter()
        engine = create(name, store)
        engine.insert(slots)
        facts[name] = time.perf_counter() - begin, (engine.stats()["bytes"] + shared) / count
        readers[name] = engine.reader()
    found = {name: len(reader.match(events).slot) for name, reader in readers.items()}
    assert len(set(found.values())) == 1, f"engines differ: {found}"
    measured = interleaved({name: partial(reader.match, events) for name, reader in readers.items()})

    table = Table(
        "engine", "ms / event", "noise", "of scan", "target", "candidates", "build s", "target", "bytes each", "target",
        title=f"{case.title}: {found[engines[0]] / EVENTS:,.0f} matches per event of {count:,}",
    )  # fmt: skip
    for name, own in measured.items():
        seconds, size = facts[name]
        aimed = name in BUILD and count >= 1_000_000
        table.add_row(
            name,
            f"{own.median / EVENTS * 1000:.3f}",
            f"{own.noise:.0%}",
            f"{own.median / measured['scan'].median:.2f}x" if "scan" in measured else "",
            f"{case.target}x" if case.target and aimed else "",
            f"{readers[name].candidates(first(events, CHECKED)) / CHECKED:,.0f}",
            f"{seconds:.2f}",
            f"{BUILD[name]}" if aimed else "",
            f"{size:.0f}",
            f"{BYTES}",
        )
    return table


if __name__ == "__main__":
    main()
