"""`python -m bench.default`: how fast is the default engine, on all kinds of expressions, beside all its rivals?

Every table has its rivals in the same run, timed in turn, one event at a time as `Index.match` gets them. A rival that
finds another number of matches stops the run.
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
from bench.engines import chosen
from bench.loading import encoded, stored
from bench.machine import resident
from bench.measure import Measured, interleaved
from bench.peers.compare import Limits
from bench.peers.registry import PEERS
from bench.peers.run import Name, measured
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

EVENTS, BATCH = 100, 1_000
"""Events that are matched one at a time, and in one batch by one thread."""
RIVALS = "scan,counting,psthash,betree,opindex"


class Case(NamedTuple):
    """A workload, and the milliseconds that an event should take."""

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

VARIED = [
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
    parser.add_argument("--engines", default=RIVALS, help=f"rivals, with commas; default: {RIVALS}")
    parser.add_argument("--tables", default="cases,varied,around,change,memory,growth,peers", help="default: all")
    parser.add_argument("--plot", type=Path, default=Path("growth.svg"), help="where the plot of the growth goes")
    options = parser.parse_args()
    try:
        rivals = chosen(options.engines)
    except ValueError as error:
        parser.error(str(error))
    console = Console(width=160)
    tables: dict[str, Callable[[], Any]] = {
        "cases": lambda: matching_table("Expressions of all kinds", CASES, rivals, options.scale),
        "varied": lambda: matching_table("One thing varied at a time", VARIED, rivals, options.scale),
        "around": around_table,
        "change": lambda: change_table(options.scale),
        "memory": lambda: memory_table(options.scale),
        "growth": lambda: growth_table(options.scale, options.plot),
        "peers": lambda: peers_table(options.scale, console),
    }
    for name in options.tables.split(","):
        console.print(tables[name]())


# matching


def matching_table(title: str, cases: list[Case], rivals: list[str], scale: float) -> Table:
    """Milliseconds per event, of the default engine and its rivals; their noise is at most that of the last column."""
    shown = ["auto", *rivals]
    columns = "", "matches", "goal", "auto", "in batches", *rivals, "counting loop", "noise", "build s", "bytes each"
    table = Table(*columns, title=f"{title}: milliseconds per event")
    for case in cases:
        count = max(1_000, round(case.subscriptions * scale))
        store, slots = stored(case.work, count)
        events = encoded(case.work, EVENTS, store)
        readers, seconds, size = _built(store, slots, shown)
        loop = _loop(case.work, count)
        times, matches = _timed(readers, events, loop)
        many = encoded(case.work, BATCH, store)
        batch = interleaved({"": partial(readers["auto"].match, many)}, 5)[""]
        table.add_row(
            f"{count:,} {case.title}",
            f"{matches / EVENTS:,.0f}",
            "" if case.goal is None else f"{case.goal:g}",
            f"{times['auto'].median / EVENTS * 1e3:.3f}",
            f"{batch.median / BATCH * 1e3:.3f}",
            *(f"{times[name].median / EVENTS * 1e3:.3f}" if name in times else "over budget" for name in rivals),
            f"{times['loop'].median / EVENTS * 1e3:.3f}" if "loop" in times else "cannot say it",
            f"{max(one.noise for one in (batch, *times.values())):.0%}",
            f"{seconds:.1f}",
            f"{size / count:.0f}",
        )
    return table


def _loop(work: Workload, count: int) -> Callable[[], int] | None:
    """The 20 lines that a good programmer would write for conjunctions on small integers; None for all else."""
    if not isinstance(work, BEGen) or work.cardinality != CARDINALITY:
        return None
    plain = workload.make(count, EVENTS, work.dimensions, work.event_size, work.match)
    start, attribute = plain.made.start, plain.made.attribute
    offset, members = reference.expand_values(start, attribute, plain.mask, work.dimensions, CARDINALITY)
    need, counts, out = np.diff(start), np.zeros(count, np.int64), np.empty(count, np.int32)

    def run() -> int:
        given = (offset, members, need)
        return sum(reference.plain_counting(*given, event, CARDINALITY, counts, out) for event in plain.events)

    return run


def _built(store: Store, slots: I32, names: list[str]) -> tuple[dict[str, Any], float, float]:
    """The readers of those engines that take all subscriptions; the seconds and bytes of the first."""
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
        if len(slots) < INDEX_AT_ONCE:  # else it is built already
            engine.rebuild()
        engine.run_upkeep()
        if name == names[0]:
            seconds, size = time.perf_counter() - begin, engine.stats()["bytes"]
        readers[name] = engine.reader()
    return readers, seconds, size


def _timed(readers: dict[str, Any], events: Events, loop: Callable[[], int] | None) -> tuple[dict[str, Measured], int]:
    """All of them in turn; raises if one finds another number of matches."""
    apart = list(split_events(events))
    found = {name: len(reader.match(events).slot) for name, reader in readers.items()}
    if loop is not None:
        found["loop"] = loop()
    if len(set(found.values())) > 1:
        raise AssertionError(f"they find different numbers of matches: {found}")
    runs: dict[str, Callable[[], object]] = {
        name: partial(_each, reader.match, apart) for name, reader in readers.items()
    }
    if loop is not None:
        runs["loop"] = loop
    return interleaved(runs, 5), next(iter(found.values()))


def _each(match: Callable[[Any], object], events: list[Any]) -> None:
    for event in events:
        match(event)


# around the kernel


def around_table() -> Table:
    """What `Index.match` takes besides its kernel."""
    table = Table("what", "measured", "noise", "goal", title="Around the kernel")
    index = tw.Index().add_many(enumerate(take_subscriptions(BEGen(), 20_000)))
    ads = tw.Index().add_many(enumerate(take_subscriptions(Targeting(), 20_000)))
    whole = {f"a{k}": k for k in range(15)}
    lists = take_events(Targeting(), 1)[0]
    for what, of, event, goal in (
        ("encode a dict of 15 integers", index, whole, 6),
        (f"encode a dict of {_entries(lists)} entries with lists", ads, lists, 15),
    ):
        own = interleaved({"": partial(_encode_often, of, event)})[""]
        table.add_row(what, f"{own.median / 1000 * 1e6:.1f} us", f"{own.noise:.0%}", f"{goal} us")
    every = tw.Index().add_many((k, "x = 1") for k in range(20_000))
    named = tw.Index().add_many((f"subscription {k}", "x = 1") for k in range(20_000))
    for what, of in (("integer", every), ("string", named)):
        state, slots = of._contents.state, np.arange(20_000, dtype=np.int32)
        own = interleaved({"": partial(state.ids.to_list, slots, state.id_type)})[""]
        table.add_row(f"an id that is a{'n' if what[0] == 'i' else ''} {what}", f"{own.median / 20_000 * 1e9:.0f} ns",
                      f"{own.noise:.0%}", "25 ns")  # fmt: skip
    return table


def _entries(event: dict[str, Any]) -> int:
    return sum(len(value) if isinstance(value, list) else 1 for value in event.values())


def _encode_often(index: tw.Index, event: dict[str, Any]) -> None:
    attributes = index._contents.state.attributes
    for _ in range(1000):
        encoder = EventEncoder(attributes, Schema())
        encoder.add(event)
        encoder.finish()


# change


def change_table(scale: float) -> Table:
    """One by one, on an index that stands."""
    count, more = round(200_000 * scale), round(20_000 * scale)
    table = Table("", "adds / s", "goal", "longest", "goal", "removes / s", "longest", title=f"One by one on {count:,}")
    for title, work in (("conjunctions", BEGen()), ("ad rules", Targeting())):
        texts = take_subscriptions(work, count + more)
        index = tw.Index().add_many(enumerate(texts[:count]))
        added = [_once(partial(index.add, k, texts[k])) for k in range(count, count + more)]
        removed = [_once(partial(index.remove, k)) for k in range(more)]
        table.add_row(
            title, f"{more / sum(added):,.0f}", "15,000", f"{max(added) * 1e3:.1f} ms", "20 ms",
            f"{more / sum(removed):,.0f}", f"{max(removed) * 1e3:.1f} ms",
        )  # fmt: skip
    return table


def _once(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


# memory


def memory_table(scale: float) -> Table:
    """Resident bytes of an index that was filled from text, in a new process."""
    table = Table("", "texts", "resident bytes each", "goal", title="Memory")
    for title, name, count, goal in (
        ("1,000,000 conjunctions", "BEGen", 1_000_000, 200), ("100,000 ad rules", "Targeting", 100_000, 600),
    ):  # fmt: skip
        for texts in (True, False):
            code = f"from bench.default import resident_each; resident_each({name!r}, {round(count * scale)}, {texts})"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            table.add_row(title, "compressed" if texts else "none", done.stdout.strip(), f"{goal}")
    return table


def resident_each(name: str, count: int, texts: bool) -> None:
    """Print how much more memory this process takes for a subscription."""
    work: Workload = {"BEGen": BEGen, "Targeting": Targeting}[name]()
    tw.Index().add_many(enumerate(take_subscriptions(work, 11_000))).match({})  # kernels
    gc.collect()
    before = resident()
    index = tw.Index(texts=texts)
    blocks = range(-(-count // BLOCK))
    texts_of = (text for block in blocks for text in work.generate_subscriptions(block))  # never all of them at once
    index.add_many(enumerate(islice(texts_of, count)))
    index.rebuild()
    gc.collect()
    print(f"{(resident() - before) / len(index):.0f}")


# growth


def growth_table(scale: float, plot: Path) -> Table:
    """1,000 matches per event, whatever the size."""
    names = ["auto", "psthash", "betree"]
    table = Table("subscriptions", *names, title="Growth, 1,000 matches per event: milliseconds per event")
    rows = []
    for count in (10_000, 100_000, 1_000_000, 10_000_000):
        count = round(count * scale)
        work = BEGen(match=min(0.1, 1_000 / count))
        store, slots = stored(work, count)
        events = encoded(work, EVENTS, store)
        readers, _, _ = _built(store, slots, names if count <= 1_000_000 else names[:2])
        times, _ = _timed(readers, events, None)
        each = {name: own.median / EVENTS * 1e3 for name, own in times.items()}
        rows += [{"subscriptions": count, "ms per event": value, "engine": name} for name, value in each.items()]
        table.add_row(f"{count:,}", *(f"{each[name]:.3f}" if name in each else "" for name in names))
        del store, slots, events, readers
        gc.collect()
    drawn = svg(lines(rows, "subscriptions", "ms per event", "engine", log_x=True, log_y=True))
    # On its own, not inside a page that gives it colours.
    plot.write_text(drawn.replace("<g ", '<rect width="100%" height="100%" fill="white"/><g ', 1))
    return table


# other people's engines


def peers_table(scale: float, console: Console) -> Table:
    """Those that can say it, on conjunctions and on trees; small, since some of them take seconds for an event."""
    table = Table(
        "engine", title="Other people's engines: microseconds per event, from their own form of an event to ids"
    )
    found: dict[str, list[str]] = {}
    for name in (Name.begen, Name.trees):
        count = max(1_000, round(10_000 * scale))
        table.add_column(f"{count:,} {name}")
        for row in measured(name, PEERS, count, 25, Limits(), console):
            is_ok = row["status"] == "ok"
            shown = f"{row['micros']:,.1f} +- {row['noise']:.0%}" if is_ok else f"{row['status']}: {row['note']}"
            found.setdefault(row["engine"], []).append(escape(shown))
    for engine, cells in found.items():
        table.add_row(engine, *cells)
    return table


if __name__ == "__main__":
    main()
