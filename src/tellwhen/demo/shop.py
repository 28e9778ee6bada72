"""What data does the demo use? Readers' subscriptions and a bookshop's new books, generated from their numbers."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

GENRES = ["classics", "crime", "poetry", "science", "travel", "history", "comics", "cooking"]
ERAS = [f"{decade}s" for decade in range(1900, 2030, 10)]
FORMATS = ["hardcover", "paperback", "audio", "ebook"]
WORDS = [
    "the", "long", "night", "of", "rivers", "letters", "garden", "map", "winter", "sea", "island", "house", "stars",
    "road", "glass", "bread",
]  # fmt: skip

BROKEN = ["genre = 'crime", "price BETWEEN 5", "format IN ()", "title MATCHES '('", "era == '1990s'", "(stock > 3"]
"""Expressions with the mistakes that people make. `ingest` puts them in quarantine."""


def subscription(rng: random.Random) -> str:
    """A reader's expression."""
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
    return " AND ".join(rng.sample(parts, rng.randint(3, 6)))


def event(rng: random.Random) -> dict[str, Any]:
    """A new book; each attribute is missing from one book in twenty."""
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


def text(value: Any) -> str:
    """A value as the text that a map of strings contains."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Readers:
    """For mapInArrow: numbers in, subscriptions out. Some expressions are faulty, some ids occur twice."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids, expressions = [], []
            for number in batch.column(0).to_pylist():
                rng = random.Random(number)
                ids.append(f"reader-{number - 1 if number % 700 == 699 else number}")
                expressions.append(rng.choice(BROKEN) if number % 400 == 17 else subscription(rng))
            yield pa.RecordBatch.from_pydict({"id": ids, "expression": expressions})


class Books:
    """For mapInArrow: numbers in, events out as maps of strings. Some prices are no numbers."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0)
            maps = [[(name, text(value)) for name, value in book(number).items()] for number in numbers.to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [numbers, pa.array(maps, pa.map_(pa.string(), pa.string()))], ["event_id", "attributes"]
            )


def book(number: int) -> dict[str, Any]:
    """The book with this number."""
    rng = random.Random(-1 - number)
    made = event(rng)
    return made | {"price": "ask us"} if number % 300 == 5 else made
