"""What `tellwhen demo` shows: the example of the README, then twenty thousand subscriptions of a bookshop."""

from __future__ import annotations

import datetime as dt
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import tellwhen as tw

NAMES = ("auto", "counting", "scan")
SUBSCRIPTIONS = 20_000
EVENTS = 5_000
CHECKED = 5

GENRES = ["classics", "crime", "poetry", "science", "travel", "history", "comics", "cooking"]
ERAS = [f"{decade}s" for decade in range(1900, 2030, 10)]
FORMATS = ["hardcover", "paperback", "audio", "ebook"]
WORDS = [
    "the", "long", "night", "of", "rivers", "letters", "garden", "map", "winter", "sea", "island", "house", "stars",
    "road", "glass", "bread",
]  # fmt: skip
COLOURS = {"true": "green", "false": "red", "undefined": "yellow"}


def subscription(rng: random.Random) -> str:
    """What a reader might wait for."""
    low = rng.randint(1, 60)
    parts = [
        f"genre = '{rng.choice(GENRES)}'",
        f"era IN ({', '.join(repr(era) for era in rng.sample(ERAS, rng.randint(1, 4)))})",
        f"price BETWEEN {low} AND {low + rng.randint(1, 25)}",
        f"ranking < {rng.randint(2, 50)}",
        f"format <> '{rng.choice(FORMATS)}'",
        f"title CONTAINS '{rng.choice(WORDS)}'",
        f"title STARTS WITH '{rng.choice(WORDS)[:2]}'",
        "signed",
        f"(stock > {rng.randint(1, 20)} OR preorder)",
        f"published >= DATE '20{rng.randint(10, 26)}-0{rng.randint(1, 9)}-15'",
    ]
    return " AND ".join(rng.sample(parts, rng.randint(2, 5)))


def event(rng: random.Random) -> dict[str, Any]:
    """A book that arrives in the shop; some facts may be missing."""
    book = {
        "genre": rng.choice(GENRES),
        "era": rng.choice(ERAS),
        "price": rng.choice([rng.randint(1, 80), round(rng.uniform(1, 80), 2)]),
        "ranking": int(rng.paretovariate(0.5)),
        "format": rng.choice(FORMATS),
        "title": " ".join(rng.sample(WORDS, rng.randint(2, 4))),
        "signed": rng.random() < 0.1,
        "stock": rng.randint(0, 30),
        "published": dt.date(rng.randint(1990, 2026), rng.randint(1, 12), rng.randint(1, 28)),
    }
    return {name: value for name, value in book.items() if rng.random() < 0.95}


def run(console: Console) -> None:
    """All of it."""
    with console.status("Compiling the kernels; the first time takes a minute ..."):
        rng = random.Random(1)
        for name in NAMES:
            tw.Index(name).add_many((i, subscription(rng)) for i in range(300)).match_many([event(rng)])
    _example(console)
    console.print(f"\n[bold]{SUBSCRIPTIONS:,} readers and {EVENTS:,} books[/bold]")
    _workload(console)


def _example(console: Console) -> None:
    index = tw.Index()
    index.add(
        "mall-42",
        "genre = 'classics' AND era IN ('1920s','1940s') AND price BETWEEN 20 AND 40 "
        "AND ranking < 5 AND format NOT IN ('paperback')",
    )
    index.add("ops-7", (tw.col("source") == "mobile") & ((tw.col("type") == "error") | (tw.col("level") == "critical")))
    console.print("[bold]Two subscriptions[/bold]")
    for id_ in index:
        console.print(Text(f"  {id_}: {index[id_]}"))
    book = {"genre": "classics", "era": "1920s", "price": 26, "ranking": 2, "format": "hardcover"}
    for given in (book, {**book, "price": 45, "format": None}):
        console.print(f"\n[bold]An event[/bold] {given}")
        console.print(f"  matches {index.match(given)}")
        for line in str(index.explain("mall-42", given)).splitlines():
            console.print(Text("  " + line, style=COLOURS[line.split(maxsplit=1)[0]]))


def _workload(console: Console) -> None:
    rng = random.Random(2026)
    subscriptions = [(f"reader-{i}", subscription(rng)) for i in range(SUBSCRIPTIONS)]
    events = [event(rng) for _ in range(EVENTS)]
    table = Table("engine", "added / s", "matches", "events / s", "bytes each")
    for column in table.columns[1:]:
        column.justify = "right"
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    index = tw.Index()
    with Progress(*columns, console=console) as progress:
        for name in NAMES:
            index = tw.Index(name)
            adding = progress.add_task(f"{name}: add", total=SUBSCRIPTIONS)
            start = time.perf_counter()
            for block in range(0, SUBSCRIPTIONS, 1000):
                index.add_many(subscriptions[block : block + 1000])
                progress.advance(adding, 1000)
            added = time.perf_counter() - start
            index.rebuild()
            matching = progress.add_task(f"{name}: match", total=EVENTS)
            start = time.perf_counter()
            found = 0
            for block in range(0, EVENTS, 500):
                found += index.match_many(events[block : block + 500]).num_rows
                progress.advance(matching, 500)
            matched = time.perf_counter() - start
            size = index.stats()["bytes"]
            table.add_row(
                name,
                f"{SUBSCRIPTIONS / added:,.0f}",
                f"{found:,}",
                f"{EVENTS / matched:,.0f}",
                f"{(size['engine'] + size['store']) / SUBSCRIPTIONS:.0f}",
            )
        checking = progress.add_task("ask the oracle", total=CHECKED)
        parsed = {id_: tw.parse(text) for id_, text in subscriptions}
        for given in events[:CHECKED]:
            truth = {id_ for id_, expression in parsed.items() if expression.evaluate(given) is True}
            if set(index.match(given)) != truth:
                raise AssertionError(f"the index and the oracle disagree on {given}")
            progress.advance(checking)
    console.print(table)
    console.print(f"The oracle, which evaluates every expression in plain Python, agrees on {CHECKED} events.")
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "idx")
        start = time.perf_counter()
        loaded = tw.Index.load(Path(folder) / "idx")
        console.print(f"Saved, and opened again in {1000 * (time.perf_counter() - start):.0f} ms: {loaded}")
