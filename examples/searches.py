"""Saved searches: whom does a new listing interest? From files, in batches. `python examples/searches.py`"""

import tempfile
from pathlib import Path

import pyarrow as pa

import tellwhen as tw

SEARCHES = {
    "ann": "rooms >= 3 AND price / sqm < 20 AND lower(city) = 'rome'",
    "bob": "price < 900 AND features HAS ALL ('balcony', 'lift')",
    "eva": "title ILIKE '%garden%' AND NOT pets = FALSE",
    "kim": "photos[kind = 'plan' AND width >= 800] OR city IN ('Oslo', 'Bergen')",
    "leo": "available BETWEEN DATE '2026-06-01' AND DATE '2026-08-31'",
}

LISTINGS = [
    {"id": 101, "city": "Rome", "rooms": 3, "price": 1500, "sqm": 90, "title": "Flat with a Garden", "pets": True},
    {"id": 102, "city": "Oslo", "rooms": 1, "price": 850, "sqm": 30, "features": ["lift", "balcony", "cellar"]},
    {"id": 103, "city": "Lima", "rooms": 2, "price": 700, "sqm": 55, "photos": [{"kind": "plan", "width": 1024}]},
    {"id": 104, "city": "Pune", "rooms": 4, "price": 600, "sqm": 99, "available": "2026-07-15"},
]


def main() -> None:
    report = tw.validate({**SEARCHES, "odd": "price < 500 AND price > 900"})
    print(report)
    index = tw.Index(schema={"available": "date"}).add_many(SEARCHES)
    for listing in LISTINGS:
        print(f"listing {listing['id']} interests {', '.join(map(str, index.match(listing))) or 'nobody'}")
    print(index.explain("ann", LISTINGS[2]))

    with tempfile.TemporaryDirectory() as folder:
        index.to_parquet(Path(folder) / "searches.parquet")
        again = tw.Index.from_parquet(Path(folder) / "searches.parquet", schema=index.schema)
    columns = [{name: one.get(name) for name in ("id", "city", "price", "sqm", "rooms")} for one in LISTINGS]
    print(again.match_many(pa.Table.from_pylist(columns), event_id="id").to_pydict())
    print(again.count_many(LISTINGS, by="subscription").to_pydict())


if __name__ == "__main__":
    main()
