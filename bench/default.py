"""`python -m bench.default`: the default engine and its rivals on all kinds of expressions.

The rivals in a table are timed in turn in the same run, on one event at a time, as `Index.match` gets them. The run
stops if a rival finds another number of matches.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import tellwhen as tw
from bench import reference, workload
from bench.engines import parse_engine_names
from bench.loading import encode_events, store_subscriptions
from bench.machine import read_resident_bytes
from bench.peers.commands import WorkloadName, measure_peers
from bench.peers.measurement import Limits
from bench.peers.registry import PEERS
from bench.timing import Measurement, time_interleaved, time_run
from bench.workload import CARDINALITY
from tellwhen.compile.store import Store
from tellwhen.containers.batches import split_events
from tellwhen.encode.events import EventEncoder
from tellwhen.engines import create
from tellwhen.engines.base import INDEX_AT_ONCE
from tellwhen.kernels.arrays import I32, Events
from tellwhen.language.schema import Schema
from tellwhen.report.charts import lines, svg
from tellwhen.workloads import ABEGen, BEGen, Groups, Targeting, Varied, Workload
from tellwhen.workloads.base import BLOCK, take_events, take_subscriptions

EVENTS = 100
"""Events that are matched one at a time."""

BATCH_EVENTS = 1_000
"""Events that are matched in one batch by one thread."""

DEFAULT_RIVALS = "scan,counting,psthash,betree,opindex"


class Case(NamedTuple):
    """A workload, and the milliseconds that an event may take."""

    title: str
    work: Workload
    subscriptions: int
    goal: float | None = None


CASES = [
    Case("ad rules", Targeting(), 100_000, 0.15),
    Case("trees of 16 leaves, 15 of 400 attributes", Groups(), 100_000, 0.08),
    Case("trees of 16 leaves, 20 of 20 attributes", Groups(dimensions=20, event_size=20, bases=60), 100_000, 0.25),
    Case("trees that share parts (ABE-Gen)", ABEGen(total=100_000), 100_000),
    Case("conjunctions, 1 %", BEGen(), 1_000_000, 0.05),
    Case("conjunctions, 0.1 %", BEGen(match=0.001), 1_000_000, 0.03),
    Case("conjunctions, 30 of 100 attributes", BEGen(dimensions=100, event_size=30), 1_000_000, 0.15),
    Case("conjunctions, 20 of 20 attributes", BEGen(dimensions=20, event_size=20), 1_000_000, 0.15),
]

VARIATIONS = [
    Case("as it is: 1,000 integers", Varied(), 100_000),
    Case("another seed", Varied(seed=7), 100_000),
    Case("20 different values", Varied(cardinality=20), 100_000),
    Case("1,000,000 different values", Varied(cardinality=1_000_000), 100_000),
    Case("floats", Varied(family="float", cardinality=100_000), 100_000),
    Case("strings", Varied(family="string", cardinality=10_000), 100_000),
    Case("skewed values", Varied(skew=1.0), 100_000),
    Case("1 attribute per event", Varied(event_size=1, size=1), 100_000),
    Case("60 attributes per event", Varied(event_size=60, size=6), 100_000),
    Case("lists of 1", Varied(members=1), 100_000),
    Case("lists of 500", Varied(members=500, cardinality=20_000), 10_000),
    Case("lists of 5,000", Varied(members=5_000, cardinality=100_000), 1_000),
    Case("ranges only", BEGen(dimensions=8, event_size=8, size=2, equality=0, cardinality=1000), 100_000),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.default", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the sizes in the documents, less for a try")
    parser.add_argument("--engines", default=DEFAULT_RIVALS, help=f"rivals, with commas; default: {DEFAULT_RIVALS}")
    parser.add_argument("--tables", default="cases,varied,around,change,memory,growth,peers", help="default: all")
    parser.add_argument("--plot", type=Path, default=Path("growth.svg"), help="where the plot of the growth goes")
    options = parser.parse_args()
    try:
        rivals = parse_engine_names(options.engines)
    except ValueError as error:
        parser.error(str(error))
    console = Console(width=160)
    tables: dict[str, Callable[[], Any]] = {
        "cases": lambda: make_matching_table("Expressions of all kinds", CASES, rivals, options.scale),
        "varied": lambda: make_matching_table("One thing varied at a time", VARIATIONS, rivals, options.scale),
        "around": make_overhead_table,
        "change": lambda: make_change_table(options.scale),
        "memory": lambda: make_memory_table(options.scale),
        "growth": lambda: make_growth_table(options.scale, options.plot),
        "peers": lambda: make_peers_table(options.scale, console),
    }
    for name in options.tables.split(","):
        console.print(tables[name]())


# matching


def make_matching_table(title: str, cases: list[Case], rivals: list[str], scale: float) -> Table:
    """Measure the milliseconds per event of the default engine and its rivals.

    The column "noise" has the largest noise in its row.
    """
    names = ["auto", *rivals]
    columns = "", "matches", "goal", "auto", "in batches", *rivals, "counting loop", "noise", "build s", "bytes each"
    table = Table(*columns, title=f"{title}: milliseconds per event")
    for case in cases:
        count = max(1_000, round(case.subscriptions * scale))
        store, slots = store_subscriptions(case.work, count)
        events = encode_events(case.work, EVENTS, store)
        readers, seconds, size = _build_readers(store, slots, names)
        loop = _make_loop(case.work, count)
        times, matches = _time_readers(readers, events, loop)
        batch_events = encode_events(case.work, BATCH_EVENTS, store)
        batch = time_interleaved({"": partial(readers["auto"].match, batch_events)}, 5)[""]
        table.add_row(
            f"{count:,} {case.title}",
            f"{matches / EVENTS:,.0f}",
            "" if case.goal is None else f"{case.goal:g}",
            f"{times['auto'].median / EVENTS * 1e3:.3f}",
            f"{batch.median / BATCH_EVENTS * 1e3:.3f}",
            *(f"{times[name].median / EVENTS * 1e3:.3f}" if name in times else "over budget" for name in rivals),
            f"{times['loop'].median / EVENTS * 1e3:.3f}" if "loop" in times else "cannot say it",
            f"{max(timing.noise for timing in (batch, *times.values())):.0%}",
            f"{seconds:.1f}",
            f"{size / count:.0f}",
        )
    return table


def _make_loop(work: Workload, count: int) -> Callable[[], int] | None:
    """Return a loop as one would write it by hand for conjunctions on small integers; None for other workloads."""
    if not isinstance(work, BEGen) or work.cardinality != CARDINALITY:
        return None
    plain = workload.make(count, EVENTS, work.dimensions, work.event_size, work.match)
    start, attribute = plain.conjunctions.start, plain.conjunctions.attribute
    offset, members = reference.expand_values(start, attribute, plain.mask, work.dimensions, CARDINALITY)
    need, counts, out = np.diff(start), np.zeros(count, np.int64), np.empty(count, np.int32)

    def run() -> int:
        lists = (offset, members, need)
        return sum(reference.count_satisfied(*lists, event, CARDINALITY, counts, out) for event in plain.events)

    return run


def _build_readers(store: Store, slots: I32, names: list[str]) -> tuple[dict[str, Any], float, float]:
    """Build the engines that can index all subscriptions.

    Returns their readers, and the seconds and bytes of the first engine.
    """
    readers: dict[str, Any] = {}
    seconds = size = 0.0
    for name in names:
        if not create(name, store).can_index(slots).all():
            continue
        create(name, store).insert(slots[:500])  # compiles the kernels, if they are not in the cache
        gc.collect()
        begin = time.perf_counter()
        engine = create(name, store)
        engine.insert(slots)
        if len(slots) < INDEX_AT_ONCE:  # otherwise `insert` has built the index
            engine.rebuild()
        engine.run_upkeep()
        if name == names[0]:
            seconds, size = time.perf_counter() - begin, engine.stats()["bytes"]
        readers[name] = engine.reader()
    return readers, seconds, size


def _time_readers(
    readers: dict[str, Any], events: Events, loop: Callable[[], int] | None
) -> tuple[dict[str, Measurement], int]:
    """Time all readers and the loop in turn; raise AssertionError if the numbers of matches differ."""
    single_events = list(split_events(events))
    matches = {name: len(reader.match(events).slot) for name, reader in readers.items()}
    if loop is not None:
        matches["loop"] = loop()
    if len(set(matches.values())) > 1:
        raise AssertionError(f"the engines find different numbers of matches: {matches}")
    runs: dict[str, Callable[[], object]] = {
        name: partial(_match_each, reader.match, single_events) for name, reader in readers.items()
    }
    if loop is not None:
        runs["loop"] = loop
    return time_interleaved(runs, 5), next(iter(matches.values()))


def _match_each(match: Callable[[Any], object], events: list[Any]) -> None:
    for event in events:
        match(event)


# around the kernel


def make_overhead_table() -> Table:
    """Measure what `Index.match` does besides calling its kernel."""
    table = Table("what", "measured", "noise", "goal", title="Around the kernel")
    index = tw.Index().add_many(enumerate(take_subscriptions(BEGen(), 20_000)))
    ads = tw.Index().add_many(enumerate(take_subscriptions(Targeting(), 20_000)))
    integers = {f"a{k}": k for k in range(15)}
    lists = take_events(Targeting(), 1)[0]
    for what, target, event, goal in (
        ("encode a dict of 15 integers", index, integers, 6),
        (f"encode a dict of {_count_entries(lists)} entries with lists", ads, lists, 15),
    ):
        timing = time_interleaved({"": partial(_encode_often, target, event)})[""]
        table.add_row(what, f"{timing.median / 1000 * 1e6:.1f} us", f"{timing.noise:.0%}", f"{goal} us")
    integer_ids = tw.Index().add_many((k, "x = 1") for k in range(20_000))
    string_ids = tw.Index().add_many((f"subscription {k}", "x = 1") for k in range(20_000))
    for what, ids_index in (("an integer", integer_ids), ("a string", string_ids)):
        state, slots = ids_index._contents.state, np.arange(20_000, dtype=np.int32)
        timing = time_interleaved({"": partial(state.ids.to_list, slots, state.id_type)})[""]
        nanoseconds = timing.median / 20_000 * 1e9
        table.add_row(f"an id that is {what}", f"{nanoseconds:.0f} ns", f"{timing.noise:.0%}", "25 ns")
    return table


def _count_entries(event: dict[str, Any]) -> int:
    return sum(len(value) if isinstance(value, list) else 1 for value in event.values())


def _encode_often(index: tw.Index, event: dict[str, Any]) -> None:
    attributes = index._contents.state.attributes
    for _ in range(1000):
        encoder = EventEncoder(attributes, Schema())
        encoder.add(event)
        encoder.finish()


# change


def make_change_table(scale: float) -> Table:
    """Add and remove subscriptions one by one, and measure the rate and the longest change."""
    count, changes = round(200_000 * scale), round(20_000 * scale)
    table = Table("", "adds / s", "goal", "longest", "goal", "removes / s", "longest", title=f"One by one on {count:,}")
    for title, work in (("conjunctions", BEGen()), ("ad rules", Targeting())):
        texts = take_subscriptions(work, count + changes)
        index = tw.Index().add_many(enumerate(texts[:count]))
        add_times = [time_run(partial(index.add, k, texts[k])) for k in range(count, count + changes)]
        remove_times = [time_run(partial(index.remove, k)) for k in range(changes)]
        table.add_row(
            title, f"{changes / sum(add_times):,.0f}", "15,000", f"{max(add_times) * 1e3:.1f} ms", "20 ms",
            f"{changes / sum(remove_times):,.0f}", f"{max(remove_times) * 1e3:.1f} ms",
        )  # fmt: skip
    return table


# memory


def make_memory_table(scale: float) -> Table:
    """Measure the resident bytes of an index of subscriptions that were added as text, each in a new process."""
    table = Table("", "texts", "resident bytes each", "goal", title="Memory")
    for title, name, count, goal in (
        ("1,000,000 conjunctions", "BEGen", 1_000_000, 200), ("100,000 ad rules", "Targeting", 100_000, 600),
    ):  # fmt: skip
        for texts in (True, False):
            code = f"from bench.default import resident_each; resident_each({name!r}, {round(count * scale)}, {texts})"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            table.add_row(title, "compressed" if texts else "none", done.stdout.strip(), f"{goal}")
    return table


def print_bytes_per_subscription(name: str, count: int, texts: bool) -> None:
    """Print by how many bytes per subscription an index increases the memory of this process."""
    work: Workload = {"BEGen": BEGen, "Targeting": Targeting}[name]()
    tw.Index().add_many(enumerate(take_subscriptions(work, 11_000))).match({})  # loads the kernels
    gc.collect()
    before = read_resident_bytes()
    index = tw.Index(texts=texts)
    blocks = range(-(-count // BLOCK))
    # A generator, so that memory never holds all texts.
    expressions = (text for block in blocks for text in work.generate_subscriptions(block))
    index.add_many(enumerate(islice(expressions, count)))
    index.rebuild()
    gc.collect()
    print(f"{(read_resident_bytes() - before) / len(index):.0f}")


# growth


def make_growth_table(scale: float, plot: Path) -> Table:
    """Measure the time per event for more and more subscriptions, of which an event always matches 1,000."""
    names = ["auto", "psthash", "betree"]
    table = Table("subscriptions", *names, title="Growth, 1,000 matches per event: milliseconds per event")
    rows = []
    for count in (10_000, 100_000, 1_000_000, 10_000_000):
        count = round(count * scale)
        work = BEGen(match=min(0.1, 1_000 / count))
        store, slots = store_subscriptions(work, count)
        events = encode_events(work, EVENTS, store)
        readers, _, _ = _build_readers(store, slots, names if count <= 1_000_000 else names[:2])
        times, _ = _time_readers(readers, events, None)
        milliseconds = {name: timing.median / EVENTS * 1e3 for name, timing in times.items()}
        rows += [
            {"subscriptions": count, "ms per event": value, "engine": name} for name, value in milliseconds.items()
        ]
        table.add_row(f"{count:,}", *(f"{milliseconds[name]:.3f}" if name in milliseconds else "" for name in names))
        del store, slots, events, readers
        gc.collect()
    plot_text = svg(lines(rows, "subscriptions", "ms per event", "engine", log_x=True, log_y=True))
    # The file is shown outside of a page, so it needs a background of its own.
    plot.write_text(plot_text.replace("<g ", '<rect width="100%" height="100%" fill="white"/><g ', 1))
    return table


# other people's engines


def make_peers_table(scale: float, console: Console) -> Table:
    """Measure the engines that can express the workloads, on few subscriptions: some take seconds for an event."""
    table = Table(
        "engine", title="Other people's engines: microseconds per event, from their own form of an event to ids"
    )
    cells_by_engine: dict[str, list[str]] = {}
    for name in (WorkloadName.begen, WorkloadName.trees):
        count = max(1_000, round(10_000 * scale))
        table.add_column(f"{count:,} {name}")
        for row in measure_peers(name, PEERS, count, 25, Limits(), console):
            is_ok = row["status"] == "ok"
            cell = f"{row['micros']:,.1f} +- {row['noise']:.0%}" if is_ok else f"{row['status']}: {row['note']}"
            cells_by_engine.setdefault(row["engine"], []).append(escape(cell))
    for engine, cells in cells_by_engine.items():
        table.add_row(engine, *cells)
    return table


if __name__ == "__main__":
    main()
