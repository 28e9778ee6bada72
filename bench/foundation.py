"""`python -m bench.foundation`: how fast are parsing, encoding, single calls, and the two simplest engines?

The figures that the documents quote, with targets, noise and rivals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench import reference, workload
from bench.loading import stored
from bench.measure import Measured, interleaved
from bench.workload import CARDINALITY, Plain
from tellwhen.encode.tables import encode_table
from tellwhen.engines import create
from tellwhen.kernels.arrays import Events

SHORT = "source = 'mobile' AND (type = 'error' OR level = 'critical')"
ENGINES = ("scan", "counting")
"""The engines with a hand-written rival."""

CALLS = 1_000
"""Calls of `match` in one timing."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.foundation", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes in the documents, less for a try")
    scale = parser.parse_args().scale
    console = Console(width=120)
    console.print(front_table(scale))
    for title, attributes, present, share, count in [
        ("100k sparse, 1 % match", 400, 15, 0.01, 100_000),
        ("1M sparse, 1 % match", 400, 15, 0.01, 1_000_000),
        ("1M sparse, 0.1 % match", 400, 15, 0.001, 1_000_000),
        ("1M dense, 1 % match", 20, 20, 0.01, 1_000_000),
    ]:
        work = workload.make(max(1000, int(count * scale)), 64, attributes, present, share)
        console.print(engine_table(title, work))


# around the engines


def front_table(scale: float) -> Table:
    """Everything before an engine: parsing, adding, encoding, and the cost of one call."""
    table = Table("what", "measured", "noise", "target", title="Around the engines")
    work = workload.make(int(100_000 * scale), 100_000, 400, 15, 0.01)
    texts = work.made.format_texts(work.work.names)

    def rate(what: str, target: str, run: Callable[[], Any], count: int, repeat: int = 9) -> None:
        measured = interleaved({what: run}, repeat)[what]
        table.add_row(what, f"{count / measured.median:,.0f} / s", f"{measured.noise:.0%}", target)

    rate("parse " + SHORT, "25,000 / s", lambda: [tw.parse(SHORT) for _ in range(2000)], 2000)
    rate(
        "add_many from text, 7 predicates each",
        "10,000 / s",
        lambda: tw.Index().add_many(enumerate(texts)),
        len(texts),
        3,
    )
    index = tw.Index().add_many(enumerate(texts[:2000]))
    for what, target, events in (
        ("encode events of 15 attributes: wide ints", "300,000 / s", _wide(100_000)),
        ("encode events of 15 attributes: map of strings", "100,000 / s", _maps(work)),
    ):
        rate(what, target, partial(_encode, index, events), len(events))
    small = tw.Index().add_many(enumerate(texts[:100]))
    event = {f"a{c}": int(v) for c, v in enumerate(work.events[0]) if v >= 0}
    short = {name: event[name] for name in list(event)[:5]}
    for what, given in (("15 attributes", event), ("5 attributes", short)):
        measured = interleaved({"match": partial(_repeated, small.match, given)})["match"]
        title = f"match of a dict of {what}, 100 subscriptions"
        table.add_row(title, f"{measured.median / CALLS * 1e6:.1f} us", f"{measured.noise:.0%}", "25 us")
    return table


def _wide(count: int) -> pa.Table:
    """Events as a column of integers per attribute."""
    rng = np.random.default_rng(1)
    return pa.table({f"a{k}": rng.integers(0, CARDINALITY, count) for k in range(15)})


def _maps(work: Plain) -> pa.Table:
    """Events as a map of strings each."""
    rows, columns = np.nonzero(work.events >= 0)
    offsets = np.searchsorted(rows, np.arange(len(work.events) + 1)).astype(np.int32)
    names, values = pa.array([f"a{c}" for c in columns]), pa.array(work.events[rows, columns]).cast(pa.string())
    return pa.table({"attributes": pa.MapArray.from_arrays(pa.array(offsets), names, values)})


def _encode(index: tw.Index, events: pa.Table) -> None:
    attributes = index._shard.store.attributes
    for k in range(0, len(events), 16_384):
        encode_table(part := events.slice(k, 16_384), len(part), attributes, index.schema)


def _repeated(match: Callable[[Any], Any], event: Any) -> None:
    for _ in range(CALLS):
        match(event)


# engines against hand-written loops


class Loops(NamedTuple):
    """The two hand-written loops on the same events; each returns the number of matches."""

    scan: Callable[[], int]
    counting: Callable[[], int]


def engine_table(title: str, work: Plain) -> Table:
    """The engines and the loops on the same events, timed in turn."""
    count = work.size
    store, slots = stored(work.work, count)
    shared = sum(array.nbytes for array in store.arrays().values())
    sample = work.events[: 16 if count > 200_000 else 64]
    events = _encoded(sample)
    loops = _loops(work, sample)
    built: dict[str, Measured] = {}
    runs: dict[str, Callable[[], Any]] = {}
    sizes: dict[str, float] = {}
    for name in ENGINES:

        def make(name: str = name) -> Any:
            engine = create(name, store)
            engine.insert(slots)
            return engine

        built[name] = interleaved({name: make}, 3)[name]
        engine = make()
        reader = engine.reader()
        assert len(reader.match(events).slot) == loops.scan() == loops.counting()
        runs[f"plain {name}"] = getattr(loops, name)
        runs[name] = partial(reader.match, events)
        sizes[name] = (engine.stats()["bytes"] + shared) / count
    measured = interleaved(runs)
    matches = loops.scan() / len(sample)
    table = Table("engine", "ms / event", "noise", "of its rival", "target", "build s", "bytes each",
                  title=f"{title}: {matches:,.0f} matches per event of {count:,}")  # fmt: skip
    for name in ENGINES:
        rival, own = measured[f"plain {name}"], measured[name]
        times = [(f"{one.median / len(sample) * 1000:.3f}", f"{one.noise:.0%}") for one in (rival, own)]
        size = f"{sizes[name]:.0f}" + (" (target 250)" if name == "counting" else "")
        table.add_row(f"plain {name}", *times[0])
        table.add_row(name, *times[1], f"{own.median / rival.median:.2f}x", "1.5x", f"{built[name].median:.2f}", size)
    return table


def _loops(work: Plain, events: np.ndarray) -> Loops:
    start, attribute, *_ = work.made
    out, counts = np.empty(work.size, dtype=np.int32), np.zeros(work.size, dtype=np.uint8)
    need = np.diff(start).astype(np.uint8)
    offset, members = reference.expand_values(start, attribute, work.mask, work.work.dimensions, CARDINALITY)

    def scan() -> int:
        return sum(reference.plain_scan(start, attribute, work.mask, event, out) for event in events)

    def counting() -> int:
        return sum(reference.plain_counting(offset, members, need, event, CARDINALITY, counts, out) for event in events)

    return Loops(scan, counting)


def _encoded(table: np.ndarray) -> Events:
    event, domain = np.nonzero(table >= 0)
    points = 2 * table[event, domain].astype(np.int64)
    start = np.searchsorted(event, np.arange(len(table) + 1))
    return Events(start, domain.astype(np.int32), points, points, np.ones(len(table), dtype=np.uint8))


if __name__ == "__main__":
    main()
