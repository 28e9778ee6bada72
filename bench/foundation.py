"""`python -m bench.foundation`: the times of parsing, encoding, single calls, and the two simplest engines.

The documents quote these times. Each has a target, its noise, and a rival where there is one.
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
from bench.loading import store_subscriptions
from bench.timing import Measurement, time_interleaved
from bench.workload import CARDINALITY, PlainWorkload
from tellwhen.encode.tables import encode_table
from tellwhen.engines import create
from tellwhen.kernels.arrays import Events

SHORT_EXPRESSION = "source = 'mobile' AND (type = 'error' OR level = 'critical')"
ENGINES = ("scan", "counting")
"""Engines with a hand-written rival."""

CALLS_PER_TIMING = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.foundation", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes in the documents, less for a try")
    scale = parser.parse_args().scale
    console = Console(width=120)
    console.print(make_overhead_table(scale))
    for title, attributes, present, share, count in [
        ("100k sparse, 1 % match", 400, 15, 0.01, 100_000),
        ("1M sparse, 1 % match", 400, 15, 0.01, 1_000_000),
        ("1M sparse, 0.1 % match", 400, 15, 0.001, 1_000_000),
        ("1M dense, 1 % match", 20, 20, 0.01, 1_000_000),
    ]:
        work = workload.make(max(1000, int(count * scale)), 64, attributes, present, share)
        console.print(make_engine_table(title, work))


# around the engines


def make_overhead_table(scale: float) -> Table:
    """Measure what happens before an engine: parsing, adding, encoding, and the cost of one call."""
    table = Table("what", "measured", "noise", "target", title="Around the engines")
    work = workload.make(int(100_000 * scale), 100_000, 400, 15, 0.01)
    texts = work.conjunctions.format_texts(work.work.names)

    def add_rate(what: str, target: str, run: Callable[[], Any], count: int, repeat: int = 9) -> None:
        timing = time_interleaved({what: run}, repeat)[what]
        table.add_row(what, f"{count / timing.median:,.0f} / s", f"{timing.noise:.0%}", target)

    add_rate("parse " + SHORT_EXPRESSION, "25,000 / s", lambda: [tw.parse(SHORT_EXPRESSION) for _ in range(2000)], 2000)
    add_rate(
        "add_many from text, 7 predicates each",
        "10,000 / s",
        lambda: tw.Index().add_many(enumerate(texts)),
        len(texts),
        3,
    )
    index = tw.Index().add_many(enumerate(texts[:2000]))
    for what, target, events in (
        ("encode events of 15 attributes: wide ints", "300,000 / s", _make_wide_table(100_000)),
        ("encode events of 15 attributes: map of strings", "100,000 / s", _make_map_table(work)),
    ):
        add_rate(what, target, partial(_encode, index, events), len(events))
    small = tw.Index().add_many(enumerate(texts[:100]))
    event = {f"a{c}": int(v) for c, v in enumerate(work.events[0]) if v >= 0}
    short_event = {name: event[name] for name in list(event)[:5]}
    for what, fields in (("15 attributes", event), ("5 attributes", short_event)):
        timing = time_interleaved({"match": partial(_match_repeatedly, small.match, fields)})["match"]
        title = f"match of a dict of {what}, 100 subscriptions"
        table.add_row(title, f"{timing.median / CALLS_PER_TIMING * 1e6:.1f} us", f"{timing.noise:.0%}", "25 us")
    return table


def _make_wide_table(count: int) -> pa.Table:
    """Return events as a table with a column of integers for each attribute."""
    rng = np.random.default_rng(1)
    return pa.table({f"a{k}": rng.integers(0, CARDINALITY, count) for k in range(15)})


def _make_map_table(work: PlainWorkload) -> pa.Table:
    """Return events as a column of maps of strings."""
    rows, columns = np.nonzero(work.events >= 0)
    offsets = np.searchsorted(rows, np.arange(len(work.events) + 1)).astype(np.int32)
    names, values = pa.array([f"a{c}" for c in columns]), pa.array(work.events[rows, columns]).cast(pa.string())
    return pa.table({"attributes": pa.MapArray.from_arrays(pa.array(offsets), names, values)})


def _encode(index: tw.Index, events: pa.Table) -> None:
    attributes = index._shard.store.attributes
    for k in range(0, len(events), 16_384):
        encode_table(part := events.slice(k, 16_384), len(part), attributes, index.schema)


def _match_repeatedly(match: Callable[[Any], Any], event: Any) -> None:
    for _ in range(CALLS_PER_TIMING):
        match(event)


# engines against hand-written loops


class Loops(NamedTuple):
    """The two hand-written loops on the same events; each returns the number of matches."""

    scan: Callable[[], int]
    counting: Callable[[], int]


def make_engine_table(title: str, work: PlainWorkload) -> Table:
    """Time the engines and the loops in turn on the same events."""
    count = work.size
    store, slots = store_subscriptions(work.work, count)
    shared = sum(array.nbytes for array in store.arrays().values())
    sample = work.events[: 16 if count > 200_000 else 64]
    events = _encode_rows(sample)
    loops = _make_loops(work, sample)
    build_times: dict[str, Measurement] = {}
    runs: dict[str, Callable[[], Any]] = {}
    sizes: dict[str, float] = {}
    for name in ENGINES:

        def build(name: str = name) -> Any:
            engine = create(name, store)
            engine.insert(slots)
            return engine

        build_times[name] = time_interleaved({name: build}, 3)[name]
        engine = build()
        reader = engine.reader()
        assert len(reader.match(events).slot) == loops.scan() == loops.counting()
        runs[f"plain {name}"] = getattr(loops, name)
        runs[name] = partial(reader.match, events)
        sizes[name] = (engine.stats()["bytes"] + shared) / count
    times = time_interleaved(runs)
    matches = loops.scan() / len(sample)
    table = Table("engine", "ms / event", "noise", "of its rival", "target", "build s", "bytes each",
                  title=f"{title}: {matches:,.0f} matches per event of {count:,}")  # fmt: skip
    for name in ENGINES:
        rival, own = times[f"plain {name}"], times[name]
        cells = [(f"{timing.median / len(sample) * 1000:.3f}", f"{timing.noise:.0%}") for timing in (rival, own)]
        size = f"{sizes[name]:.0f}" + (" (target 250)" if name == "counting" else "")
        table.add_row(f"plain {name}", *cells[0])
        table.add_row(
            name, *cells[1], f"{own.median / rival.median:.2f}x", "1.5x", f"{build_times[name].median:.2f}", size
        )
    return table


def _make_loops(work: PlainWorkload, events: np.ndarray) -> Loops:
    start, attribute, *_ = work.conjunctions
    out, counts = np.empty(work.size, dtype=np.int32), np.zeros(work.size, dtype=np.uint8)
    need = np.diff(start).astype(np.uint8)
    offset, members = reference.expand_values(start, attribute, work.mask, work.work.dimensions, CARDINALITY)

    def scan() -> int:
        return sum(reference.scan_masks(start, attribute, work.mask, event, out) for event in events)

    def counting() -> int:
        return sum(
            reference.count_satisfied(offset, members, need, event, CARDINALITY, counts, out) for event in events
        )

    return Loops(scan, counting)


def _encode_rows(table: np.ndarray) -> Events:
    event, domain = np.nonzero(table >= 0)
    points = 2 * table[event, domain].astype(np.int64)
    start = np.searchsorted(event, np.arange(len(table) + 1))
    return Events(start, domain.astype(np.int32), points, points, np.ones(len(table), dtype=np.uint8))


if __name__ == "__main__":
    main()
