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
}

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
    "near": {"geo_distance": {"distance": "5km", "place": {"lat": 41.9, "lon": 12.5}}},
    "fuzzy": {"match": {"title": {"query": "gardn", "fuzziness": "AUTO"}}},
    "new": {"range": {"added": {"gte": "now-1d/d"}}},
}


def hits() -> list[dict[str, Any]]:
    """The lines of an export."""
    return [
        {"_id": name, "_source": {"owner": f"user {at}", "query": query}}
        for at, (name, query) in enumerate(QUERIES.items())
    ]


def listings(count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Documents with one value, several, or none in every field."""
    pools: dict[str, list[Any]] = {
        "title": ["Big flat with garden", "A garden", "Small FLAT, no lift", "big flat"],
        "city": ["Rome", "Oslo", "Lima"],
        "tags": ["lift", "balcony", "cellar"],
        "price": [400, 900, 999.5, 1000, 1500, 2000],
        "rooms": [1, 2, 3, 4],
        "pets": [True, False],
        "added": ["2026-01-09T23:59:59Z", "2026-01-10", "2026-01-15T12:30:00Z", "2026-01-20T18:00:00Z", "2026-01-21"],
    }
    sellers, kinds = ["anna", "arno", "bob", "eva"], ["plan", "kitchen"]
    for number in range(count):
        document: dict[str, Any] = {"_id": str(number)}
        for name, pool in pools.items():
            some = rng.sample(pool, rng.choice([0, 1, 1, 1, 2]))
            if some or rng.random() < 0.5:
                document[name] = some[0] if len(some) == 1 else some or None
        if rng.random() < 0.7:
            document["seller"] = {"name": rng.choice(sellers), "rating": rng.random() * 5}
        if rng.random() < 0.7:
            photos = [{"kind": rng.choice(kinds), "width": rng.choice([640, 800])} for _ in range(rng.randint(0, 3))]
            document["photos"] = photos[0] if len(photos) == 1 else photos
        yield document
