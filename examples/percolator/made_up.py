"""What does a small export have? Its mapping, its queries, and documents to try them on."""

import random
from collections.abc import Iterator
from typing import Any

PROPERTIES: dict[str, Any] = {
    "query": {"type": "percolator"},
    "owner": {"type": "keyword"},
    "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
    "city": {"type": "keyword"},
    "tags": {"type": "keyword"},
    "price": {"type": "double"},
    "rooms": {"type": "integer"},
    "pets": {"type": "boolean"},
    "added": {"type": "date"},
    "seller": {"properties": {"name": {"type": "keyword"}, "rating": {"type": "float"}}},
    "photos": {"type": "nested", "properties": {"kind": {"type": "keyword"}, "width": {"type": "integer"}}},
    "place": {"type": "geo_point"},
    "ip": {"type": "ip"},
    "views": {"type": "long"},
    "visits": {"type": "alias", "path": "views"},
    "span": {"type": "integer_range"},
    "floors": {
        "type": "nested",
        "properties": {
            "level": {"type": "integer"},
            "windows": {"type": "nested", "properties": {"side": {"type": "keyword"}, "count": {"type": "integer"}}},
        },
    },
}

WINDOWS = {"floors.windows.count": {"gte": 2}}
QUERIES: dict[str, dict[str, Any]] = {
    "term": {"term": {"city": "Rome"}},
    "terms": {"terms": {"tags": ["lift", "balcony"], "boost": 2}},
    "range": {"range": {"rooms": {"gt": 1, "lt": 4}}},
    "price": {"range": {"price": {"gte": 500, "lte": 1500}}},
    "dates": {"range": {"added": {"gte": "2026-01-10", "lte": "2026-01-20"}}},
    "after": {"range": {"added": {"gt": "2026-01-15"}}},
    "day": {"term": {"added": "2026-01-15"}},
    "exists": {"exists": {"field": "pets"}},
    "prefix": {"prefix": {"title.keyword": "Big"}},
    "wildcard": {"wildcard": {"seller.name": "a*n?"}},
    "regexp": {"regexp": {"seller.name": "[ab].*|eva"}},
    "any word": {"match": {"title": "garden flat"}},
    "all words": {"match": {"title": {"query": "Flat garden", "operator": "and"}}},
    "phrase": {"match_phrase": {"title": "big flat"}},
    "nested": {
        "nested": {
            "path": "photos",
            "query": {"bool": {"must": [{"term": {"photos.kind": "plan"}}, {"range": {"photos.width": {"gte": 800}}}]}},
        }
    },
    "ids": {"ids": {"values": ["3", "5"]}},
    "not city": {"bool": {"must_not": {"term": {"city": "Rome"}}}},
    "not cheap": {"bool": {"must_not": [{"range": {"price": {"lt": 900}}}, {"terms": {"tags": ["cellar"]}}]}},
    "no plan": {"bool": {"must_not": {"nested": {"path": "photos", "query": {"term": {"photos.kind": "plan"}}}}}},
    "optional": {"bool": {"filter": {"term": {"pets": True}}, "should": [{"term": {"city": "Oslo"}}]}},
    "two of three": {
        "bool": {
            "should": [{"term": {"tags": "lift"}}, {"term": {"city": "Oslo"}}, {"range": {"price": {"lt": 1000}}}],
            "minimum_should_match": 2,
        }
    },
    "deep": {
        "bool": {
            "must": {"match": {"title": "garden"}},
            "must_not": {"bool": {"should": [{"exists": {"field": "pets"}}, {"prefix": {"seller.name": "b"}}]}},
        }
    },
    "windows": {
        "nested": {
            "path": "floors.windows",
            "query": {"bool": {"must": [{"term": {"floors.windows.side": "south"}}, {"range": WINDOWS}]}},
        }
    },
    "addresses": {"range": {"ip": {"gte": "10.0.0.9", "lt": "10.0.1.0"}}},
    "network": {"terms": {"ip": ["10.0.0.0/8", "2001:db8::/32"]}},
    "box": {
        "geo_bounding_box": {"place": {"top_left": {"lat": 43, "lon": 11}, "bottom_right": {"lat": 41, "lon": 13}}}
    },
    "prices": {"range": {"price": {"gt": 900, "lt": 1500}}},
    "many views": {"range": {"visits": {"from": "9007199254740993", "to": None, "include_lower": True}}},
    "in two fields": {"multi_match": {"query": "Big garden", "fields": ["title^2", "city"], "type": "phrase"}},
    "near": {"geo_distance": {"distance": "5km", "place": {"lat": 41.9, "lon": 12.5}}},
    "fuzzy": {"match": {"title": {"query": "gardn", "fuzziness": "AUTO"}}},
    "spans": {"term": {"span": 4}},
    "new": {"range": {"added": {"gte": "now-1d/d"}}},
}


def hits() -> list[dict[str, Any]]:
    """The lines of an export."""
    return [
        {"_id": name, "_source": {"owner": f"user {at}", "query": query}}
        for at, (name, query) in enumerate(QUERIES.items())
    ]


POOLS: dict[str, list[Any]] = {
    "title": ["Big flat with garden", "A garden", "Small FLAT, no lift", "big flat", "-", "", 2024, "O'Neil's flat"],
    "city": ["Rome", "Oslo", "Lima", ""],
    "tags": ["lift", "balcony", "cellar"],
    "price": [400, 900, 999.5, 1000, "1500", 2000],
    "rooms": [1, 2, "3", 4, "3.7"],
    "pets": [True, False, "true"],
    "added": ["2026-01-09T23:59:59Z", "2026-01-10", "2026-01-15T12:30:00Z", "2026-01-20T18:00:00Z", "2026-01-21",
              "2026", 1768500000000, "2026-01"],
    "ip": ["10.0.0.9", "10.0.0.10", "10.0.1.0", "9.255.255.255", "::1", "::ffff:10.0.0.200", "2001:DB8::1"],
    "views": [9007199254740992, 9007199254740993, "9007199254740994", 5],
}  # fmt: skip
PLACES: list[Any] = [{"lat": 41.9, "lon": 12.5}, [12.5, 41.9], "59.9,10.7", [[-77.0, -12.0], [12.5, 41.9]], [179.5, 42]]


def listings(count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Documents with one value, several, or none in every field."""
    for number in range(count):
        document: dict[str, Any] = {"_id": str(number)}
        for name, pool in POOLS.items():
            some = rng.sample(pool, rng.choice([0, 1, 1, 1, 2]))
            if some or rng.random() < 0.5:
                document[name] = some[0] if len(some) == 1 else rng.choice([some, [some]]) if some else None
        if rng.random() < 0.7:
            document["seller"] = {"name": rng.choice(["anna", "arno", "bob", "eva"]), "rating": rng.random() * 5}
        for name, make in (("photos", photo), ("floors", floor)):
            if rng.random() < 0.7:
                some = [make(rng) for _ in range(rng.randint(0, 3))]
                document[name] = some[0] if len(some) == 1 else some
        if rng.random() < 0.7:
            document["place"] = rng.choice(PLACES)
        yield document


def photo(rng: random.Random) -> dict[str, Any]:
    return {"kind": rng.choice(["plan", "kitchen"]), "width": rng.choice([640, 800])}


def floor(rng: random.Random) -> dict[str, Any]:
    sides = rng.sample(["north", "south"], rng.randint(0, 2))
    return {"level": rng.randint(0, 2), "windows": [{"side": side, "count": rng.randint(1, 3)} for side in sides]}
