"""Saved searches: whom does a new listing interest, and whom nearly? `python examples/searches.py`

The guide to it is docs/howto/searches.md.
"""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

import tellwhen as tw

SCHEMA = {"available": "date", "price": "float", "sqm": "float", "rooms": "int"}

SEARCHES: list[tuple[str, str, str, dict[str, float]]] = [
    (
        "ann-1", "ann", "rooms >= 3 AND price / sqm < 20 AND lower(city) = 'rome'",
        {"rooms": 0.25, "price / sqm": 0.5, "lower(city)": 0.25},
    ),
    ("ann-2", "ann", "city = 'Rome' AND price < 1600", {"city": 0.5, "price": 0.5}),
    ("bob-1", "bob", "price < 900 AND features HAS ALL ('balcony', 'lift')", {"price": 0.6, "features": 0.4}),
    (
        "eva-1", "eva", r"title MATCHES '(?i)\bgarden\b' AND (pets IS NULL OR pets)",
        {"title": 0.5, "pets": 0.5},
    ),
    (
        "kim-1", "kim", "photos[kind = 'plan' AND width >= 800] AND city IN ('Oslo', 'Lima')",
        {"photos[kind = 'plan' AND width >= 800]": 0.5, "city": 0.5},
    ),
    (
        "leo-1", "leo", "available BETWEEN DATE '2026-06-01' AND DATE '2026-08-31' AND price < 1000",
        {"available": 0.7, "price": 0.3},
    ),
]  # fmt: skip
"""Id, person, what is looked for, and how much each condition counts."""

NEAR = 0.7
"""A search is told of, although it does not match, if so much of it is true."""

LISTINGS: list[dict[str, Any]] = [
    {"id": 101, "city": "Rome", "rooms": 3, "price": 1500, "sqm": 90, "title": "Flat with a Garden", "pets": True},
    {"id": 102, "city": "Oslo", "rooms": 1, "price": 850, "sqm": 30, "features": ["lift", "balcony", "cellar"]},
    {"id": 103, "city": "Lima", "rooms": 2, "price": 700, "sqm": 55, "photos": [{"kind": "plan", "width": 1024}]},
    {"id": 104, "city": "Pune", "rooms": 4, "price": 600, "sqm": 99, "available": "2026-07-15"},
    {"id": 105, "city": "Rome", "rooms": 2, "price": 1800, "sqm": 99, "title": "A gardener's room"},
]


def check() -> None:
    """What a form should say of searches that are wrong, or odd."""
    typed = {
        "never": "price < 500 AND price > 900",
        "quotes": 'city = "Rome"',
        "case": "lower(city) = 'Rome'",
        "text": "available > '2026-06-01'",
    }
    print("what people typed:", tw.validate(typed, schema=SCHEMA), sep="\n")


def notify(index: tw.Index) -> None:
    """One message for a person and a listing, however many searches fit."""
    found = index.match_many(LISTINGS, event_id="id", payload=["person"])
    told = found.group_by(["person", "event_id"], use_threads=False).aggregate([("subscription_id", "list")])
    for row in told.sort_by([("event_id", "ascending"), ("person", "ascending")]).to_pylist():
        print(f"listing {row['event_id']} interests {row['person']}: {', '.join(sorted(row['subscription_id_list']))}")


def nearly(index: tw.Index, listing: dict[str, Any]) -> None:
    """Searches of which most is true, and what is not."""
    exact = set(index.match(listing))
    for search, score in index.top_k(listing, k=5, relaxed=True):
        if search not in exact and score >= NEAR:
            missing = [part.note for part in index.explain(search, listing).parts if part.value is not True]
            print(f"listing {listing['id']} nearly interests {search}: {score:.0%}, but {', '.join(missing)}")


def main() -> None:
    check()
    index = tw.Index(schema=SCHEMA)
    index.add_many([(id_, text, 0.0, weights, {"person": person}) for id_, person, text, weights in SEARCHES])
    notify(index)
    for listing in LISTINGS:
        nearly(index, listing)

    print("the price of listing 105 falls to 1500:")
    before, after = LISTINGS[4], LISTINGS[4] | {"price": 1500}
    print(f"  {', '.join(map(str, sorted(set(index.match(after)) - set(index.match(before)))))} should hear of it")
    print("why not ann-1?", index.explain("ann-1", after), sep="\n")

    with tempfile.TemporaryDirectory() as folder:
        index.to_parquet(Path(folder) / "searches.parquet")
        again = tw.Index.from_parquet(Path(folder) / "searches.parquet", schema=index.schema)
    table = pa.Table.from_pylist([{name: one.get(name) for name in ("id", "city", "price", "sqm")} for one in LISTINGS])
    counts = again.count_by_subscription(table).to_pydict()
    print("from a file, and of a table of four columns:", dict(zip(*counts.values(), strict=True)))


if __name__ == "__main__":
    main()
