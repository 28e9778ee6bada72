"""Data of the demo: saved searches, ads with bids, fraud rules, and new listings of a marketplace.

Each is drawn with its number as the seed, so the data are the same on every machine.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tellwhen.language.schema import Schema


class Item(NamedTuple):
    """Article that is sold second-hand."""

    category: str
    name: str
    price: int
    """Typical price."""


ITEMS = [
    Item(category, name, price)
    for category, prices in {
        "bicycles": {"gravel bike": 1400, "road bike": 1600, "city bike": 400, "e-bike": 2100, "cargo bike": 3000},
        "music": {"guitar": 450, "violin": 900, "drum kit": 700, "piano": 1800, "synthesizer": 800},
        "photo": {"camera": 650, "lens": 380, "tripod": 90, "drone": 500, "film scanner": 240},
        "furniture": {"sofa": 520, "desk": 190, "bookcase": 120, "armchair": 210, "dining table": 340},
        "garden": {"lawn mower": 260, "greenhouse": 480, "barbecue": 150, "hammock": 45, "chainsaw": 210},
        "computers": {"laptop": 800, "monitor": 220, "keyboard": 90, "printer": 110, "graphics card": 420},
        "sports": {"kayak": 620, "skis": 260, "tent": 180, "treadmill": 540, "surfboard": 330},
        "kids": {"pram": 280, "cot": 130, "car seat": 110, "train set": 70, "climbing frame": 190},
        "kitchen": {"coffee machine": 350, "stand mixer": 240, "oven": 390, "knife set": 85, "fridge": 430},
        "collecting": {"watch": 950, "vinyl record": 25, "stamp album": 60, "oil painting": 700, "old map": 140},
    }.items()
    for name, price in prices.items()
]
BRANDS = ["Alto", "Birk", "Corvo", "Dune", "Elmo", "Fjell", "Gaia", "Halden", "Ikar", "Juno"]
CITIES = {
    "Paris": "FR", "Lyon": "FR", "Lille": "FR", "Nice": "FR", "Brussels": "BE", "Ghent": "BE", "Berlin": "DE",
    "Cologne": "DE", "Leipzig": "DE", "Munich": "DE", "Madrid": "ES", "Seville": "ES", "Milan": "IT", "Turin": "IT",
    "Vienna": "AT", "Graz": "AT", "Utrecht": "NL", "Delft": "NL", "Porto": "PT", "Lisbon": "PT",
}  # fmt: skip
CONDITIONS = ["new", "like new", "used", "for parts"]
WORDS = ["light", "vintage", "rare", "compact", "restored", "professional", "oak", "black", "blue", "boxed", "signed"]
NAMES = [
    "anna", "ben", "carla", "david", "elena", "felix", "greta", "hugo", "ines", "jonas", "kim", "lea", "marco", "nora",
    "oscar", "paula", "quinn", "rosa", "simon", "tara", "uwe", "vera", "willem", "yara", "zoe",
]  # fmt: skip

SCHEMA = Schema({"price": "float", "typical_price": "float", "photos": "int", "shipping": "bool", "listed": "date",
                 "seller.age_days": "int", "seller.rating": "float"})  # fmt: skip

BROKEN = [
    "item = 'guitar", "price BETWEEN 5", "brand IN (Alto, )", "title MATCHES '('", "city == 'Paris'", "(photos > 3",
    "price < 'cheap'", "listed > DATE '2026-02-30'",
]  # fmt: skip
"""Expressions with typical mistakes, for the quarantine."""

LISTING: dict[str, Any] = {
    "category": "bicycles", "item": "gravel bike", "brand": "Corvo", "title": "Corvo gravel bike, light, size 56",
    "price": 640, "typical_price": 1400, "condition": "used", "city": "Lyon", "shipping": True, "photos": 4,
    "tags": ["carbon", "disc brakes"], "payment": ["cash", "bank transfer"], "listed": "2026-11-14",
    "seller": {"age_days": 3, "rating": 4.1, "country": "FR"},
}  # fmt: skip
"""Listing of the story."""

SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"id": "search/anna", "expression": "item = 'gravel bike' AND price <= 700 AND (city = 'Lyon' OR shipping) "
     "AND condition <> 'for parts'", "payload": {"kind": "search"}},
    {"id": "search/ben", "expression": "item IN ('gravel bike', 'road bike') AND brand IN ('Corvo', 'Dune') "
     "AND price < 600 AND photos >= 2", "payload": {"kind": "search"}},
    {"id": "ad/bike-insurance", "expression": "category = 'bicycles' AND price > 500 "
     "AND seller.country IN ('FR', 'BE') AND tags HAS NONE ('stolen')", "score": 3.15, "payload": {"kind": "ad"}},
    {"id": "fraud/new-seller-half-price", "expression": "price / typical_price < 0.5 AND seller.age_days < 7 "
     "AND payment HAS ANY ('bank transfer', 'gift card')", "payload": {"kind": "fraud"}},
]  # fmt: skip
"""Subscriptions of the story; the others are drawn."""

AD_SHARE, FRAUD_SHARE = 0.3, 0.004
BROKEN_INTERVAL = 400
"""One subscription in 400 is broken."""


def draw_subscription(number: int) -> dict[str, Any]:
    """Draw a saved search, an ad with its bid, or a fraud rule; a few are broken."""
    rng = random.Random(number)
    kind = rng.random()
    if number % BROKEN_INTERVAL == 17:
        return _make_row("search", f"{rng.choice(NAMES)}-{number}", rng.choice(BROKEN))
    if kind < FRAUD_SHARE:
        return _make_row("fraud", f"rule-{number}", _draw_fraud_rule(rng))
    if kind < AD_SHARE:
        return _make_row("ad", f"campaign-{number}", _draw_ad(rng), round(min(3.0, math.exp(rng.gauss(-1.5, 0.9))), 2))
    return _make_row("search", f"{rng.choice(NAMES)}-{number}", _draw_search(rng))


def _make_row(kind: str, name: str, expression: str, score: float | None = None) -> dict[str, Any]:
    row = {"id": f"{kind}/{name}", "expression": expression, "payload": {"kind": kind}}
    return row if score is None else {**row, "score": score}


def _choose_popular(rng: random.Random, values: list[Any]) -> Any:
    """Draw one of the values, the first ones more often."""
    return values[int(len(values) * rng.random() ** 1.2)]


def _quote_list(values: list[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


def _draw_search(rng: random.Random) -> str:
    """Draw an item with a highest price, nearby or of some brands."""
    item = _choose_popular(rng, ITEMS)
    parts = [f"item = '{item.name}'", f"price <= {max(5, int(item.price * rng.uniform(0.2, 0.9)) // 5 * 5)}"]
    cities = rng.sample(list(CITIES), rng.randint(1, 3))
    choice = rng.random()
    if choice < 0.55:
        parts.append(f"city IN ({_quote_list(cities)})")
    elif choice < 0.7:
        parts.append(f"(city = '{cities[0]}' OR (shipping AND seller.rating >= {rng.choice([4.5, 4.8])}))")
    if choice > 0.5:
        parts.append(f"brand IN ({_quote_list(rng.sample(BRANDS, rng.randint(1, 2)))})")
    if rng.random() < 0.3:
        parts.append(f"condition IN ({_quote_list(CONDITIONS[: rng.randint(1, 2)])})")
    if rng.random() < 0.15:
        parts.append(f"title ILIKE '%{rng.choice(WORDS)}%'")
    if rng.random() < 0.2:
        parts.append(f"photos >= {rng.randint(2, 6)}")
    return " AND ".join(parts)


def _draw_ad(rng: random.Random) -> str:
    """Draw the listings beside which an ad is shown."""
    item = _choose_popular(rng, ITEMS)
    parts = [
        f"category = '{item.category}'" if rng.random() < 0.1 else f"item = '{item.name}'",
        f"seller.country IN ({_quote_list(rng.sample(sorted(set(CITIES.values())), rng.randint(1, 2)))})",
        f"price BETWEEN {item.price // 4} AND {int(item.price * rng.uniform(0.5, 1.5))}",
    ]
    if rng.random() < 0.6:
        parts.append(f"brand IN ({_quote_list(rng.sample(BRANDS, 2))})")
    if rng.random() < 0.5:
        parts.append(f"condition NOT IN ('for parts', '{rng.choice(CONDITIONS[:3])}')")
    if rng.random() < 0.3:
        parts.append("tags HAS NONE ('damaged', 'stolen')")
    return " AND ".join(parts)


def _draw_fraud_rule(rng: random.Random) -> str:
    """Draw signs of fraud: a low price, a new seller, no photo, or a gift card."""
    item = rng.choice(ITEMS)
    return rng.choice([
        f"item = '{item.name}' AND price / typical_price < {rng.uniform(0.1, 0.3):.2f} AND seller.age_days < 30",
        f"category = '{item.category}' AND photos = 0 AND price > {item.price} AND seller.rating < 3",
        f"payment HAS ANY ('gift card') AND seller.age_days < {rng.randint(2, 10)} AND item = '{item.name}'",
        f"NOT (seller.country IN ('FR', 'DE') OR shipping) AND item = '{item.name}' AND photos < 2",
    ])  # fmt: skip


def draw_listing(number: int) -> dict[str, Any]:
    """Draw a new listing; a few have a price that is no number."""
    rng = random.Random(-1 - number)
    item, city = _choose_popular(rng, ITEMS), _choose_popular(rng, list(CITIES))
    brand, word = _choose_popular(rng, BRANDS), rng.choice(WORDS)
    price = max(1, int(item.price * math.exp(rng.gauss(-0.5, 0.45))))
    listing = {
        "category": item.category,
        "item": item.name,
        "brand": brand,
        "title": f"{brand} {item.name}, {word}",
        "price": "make an offer" if rng.random() < 0.002 else price,
        "typical_price": item.price,
        "condition": rng.choice(CONDITIONS),
        "city": city,
        "shipping": rng.random() < 0.4,
        "photos": rng.randint(0, 8),
        "tags": rng.sample(["carbon", "damaged", "stolen", "gift", "set of two"], rng.randint(0, 1)),
        "payment": rng.sample(["cash", "card", "bank transfer", "gift card"], rng.randint(1, 2)),
        "listed": str(dt.date(2026, 11, 1) + dt.timedelta(rng.randint(0, 15))),
        "seller": {
            "age_days": int(rng.expovariate(1 / 300)),
            "rating": round(min(5, rng.gauss(4.3, 0.5)), 1),
            "country": CITIES[city],
        },
    }
    if rng.random() < 0.05:
        del listing["brand"]
    return listing


def generate_subscriptions(count: int) -> Iterator[dict[str, Any]]:
    """Yield the subscriptions of the story, then drawn ones."""
    yield from SUBSCRIPTIONS
    yield from (draw_subscription(number) for number in range(count - len(SUBSCRIPTIONS)))


def write_files(folder: Path, subscription_count: int, listing_count: int) -> None:
    """Write subscriptions and listings to two files of JSON lines."""
    with (folder / "subscriptions.jsonl").open("w") as file:
        for row in generate_subscriptions(subscription_count):
            payload = json.dumps(row["payload"])
            file.write(json.dumps({"score": 0.0, **row, "payload": payload}) + "\n")
    with (folder / "listings.jsonl").open("w") as file:
        for number in range(listing_count):
            file.write(json.dumps(draw_listing(number) if number else LISTING) + "\n")
