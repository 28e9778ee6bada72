"""`python -m bench.foundation`: what the documents quote of the foundation, with targets, noise and rivals."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.foundation", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes of the documents, less for a look")
    scale = parser.parse_args().scale
    console = Console(width=120)
    console.print(_front(scale))
    for title, attributes, present, share, count in [
        ("100k sparse, 1 % match", 400, 15, 0.01, 100_000),
        ("1M sparse, 1 % match", 400, 15, 0.01, 1_000_000),
        ("1M sparse, 0.1 % match", 400, 15, 0.001, 1_000_000),
        ("1M dense, 1 % match", 20, 20, 0.01, 1_000_000),
    ]:
        work = workload.make(max(1000, int(count * scale)), 64, attributes, present, share)
        console.print(_engines(title, work))


def _front(scale: float) -> Table:
    """Everything before an engine: reading, encoding, adding, and the cost of one call."""
    table = Table("what", "measured", "noise", "target", title="Around the engines")
    work = workload.make(int(100_000 * scale), 100_000, 400, 15, 0.01)
    texts = work.made.texts(work.work.names)

    def row(what: str, target: str, per_second: Callable[[], Any], count: int, repeat: int = 9) -> None:
        measured = interleaved({what: per_second}, repeat)[what]
        table.add_row(what, f"{count / measured.median:,.0f} / s", f"{measured.noise:.0%}", target)

    row("parse " + SHORT, "25,000 / s", lambda: [tw.parse(SHORT) for _ in range(2000)], 2000)
    row("add_many from text, 7 predicates each", "10,000 / s",
        lambda: tw.Index().add_many(enumerate(texts)), len(texts), 3)  # fmt: skip

    index = tw.Index().add_many(enumerate(texts[:2000]))
    attributes = index._shard.store.attributes
    rng = np.random.default_rng(1)
    wide = pa.table({f"a{k}": rng.integers(0, CARDINALITY, 100_000) for k in range(15)})
    rows, columns = np.nonzero(work.events >= 0)
    offsets = np.searchsorted(rows, np.arange(len(work.events) + 1)).astype(np.int32)
    names, values = pa.array([f"a{c}" for c in columns]), pa.array(work.events[rows, columns]).cast(pa.string())
    mapped = pa.table({"attributes": pa.MapArray.from_arrays(pa.array(offsets), names, values)})
    for what, target, events in (
        ("encode events of 15 attributes: wide ints", "300,000 / s", wide),
        ("encode events of 15 attributes: map of strings", "100,000 / s", mapped),
    ):

        def encode(events: pa.Table = events) -> None:
            for k in range(0, len(events), 16_384):
                encode_table(part := events.slice(k, 16_384), len(part), attributes, index.schema)

        row(what, target, encode, len(events))

    small = tw.Index().add_many(enumerate(texts[:100]))
    event = {f"a{c}": int(v) for c, v in enumerate(work.events[0]) if v >= 0}
    short = {name: event[name] for name in list(event)[:5]}
    for what, given in (("15 attributes", event), ("5 attributes", short)):
        measured = interleaved({"match": partial(_repeated, small.match, given)})["match"]
        microseconds = measured.median * 1000
        table.add_row(
            f"match of a dict of {what}, 100 subscriptions", f"{microseconds:.1f} us", f"{measured.noise:.0%}", "25 us"
        )
    return table


def _repeated(match: Callable[[Any], Any], event: Any) -> None:
    for _ in range(1000):
        match(event)


def _engines(title: str, work: Plain) -> Table:
    """The engines against the two loops, on the same events, one after the other."""
    count, (start, attribute, *_) = work.size, work.made
    store, slots = stored(work.work, count)
    shared = sum(array.nbytes for array in store.arrays().values())

    sample = 16 if count > 200_000 else 64
    events = _encoded(work.events[:sample])
    out, counts = np.empty(count, dtype=np.int32), np.zeros(count, dtype=np.uint8)
    need = np.diff(start).astype(np.uint8)
    offset, members = reference.expand_values(start, attribute, work.mask, work.work.dimensions, CARDINALITY)

    def plain_scan() -> int:
        return sum(reference.plain_scan(start, attribute, work.mask, e, out) for e in work.events[:sample])

    def plain_counting() -> int:
        return sum(
            reference.plain_counting(offset, members, need, e, CARDINALITY, counts, out) for e in work.events[:sample]
        )

    rivals: dict[str, Callable[[], Any]] = {"scan": plain_scan, "counting": plain_counting}
    built: dict[str, Measured] = {}
    runs: dict[str, Callable[[], Any]] = {}
    sizes: dict[str, str] = {}
    for name in ENGINES:

        def make(name: str = name) -> Any:
            engine = create(name, store)
            engine.insert(slots)
            return engine

        built[name] = interleaved({name: make}, 3)[name]
        engine = make()
        reader = engine.reader()
        assert len(reader.match(events).slot) == plain_scan() == plain_counting()
        runs[f"plain {name}"] = rivals[name]
        runs[name] = partial(reader.match, events)
        sizes[name] = f"{(engine.stats()['bytes'] + shared) / count:.0f}"
    measured = interleaved(runs)

    table = Table("engine", "ms / event", "noise", "of its rival", "target", "build s", "bytes each",
                  title=f"{title}: {plain_scan() / sample:,.0f} matches per event of {count:,}")  # fmt: skip
    for name in ENGINES:
        rival, own = measured[f"plain {name}"], measured[name]
        table.add_row(f"plain {name}", f"{rival.median / sample * 1000:.3f}", f"{rival.noise:.0%}", "", "", "", "")
        table.add_row(
            name,
            f"{own.median / sample * 1000:.3f}",
            f"{own.noise:.0%}",
            f"{own.median / rival.median:.2f}x",
            "1.5x",
            f"{built[name].median:.2f}",
            sizes[name] + (" (target 250)" if name == "counting" else ""),
        )
    return table


def _encoded(table: np.ndarray) -> Events:
    event, domain = np.nonzero(table >= 0)
    points = 2 * table[event, domain].astype(np.int64)
    start = np.searchsorted(event, np.arange(len(table) + 1))
    return Events(start, domain.astype(np.int32), points, points, np.ones(len(table), dtype=np.uint8))


if __name__ == "__main__":
    main()
