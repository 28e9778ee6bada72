"""Do converted queries match the same documents, and do others get a reason?"""

import random

import pytest

import tellwhen as tw

pytestmark = pytest.mark.late


def make_leaf(rng):
    day = rng.choice(["2026-01-10", "2026-01-15", "2026-01-15T12:30", "2026-01-20T18:00:00Z", "2026", "2026-01"])
    low, high = rng.choice(["gt", "gte"]), rng.choice(["lt", "lte"])
    addresses = ["9.0.0.0", "10.0.0.9", "10.0.0.10", "::1", "10.0.1.0", "2001:db8::1"]
    windows = {"range": {"floors.windows.count": {low: rng.randint(0, 2)}}}
    return rng.choice([
        {"term": {"city": rng.choice(["Rome", "Oslo", ""])}},
        {"term": {"rooms": rng.choice([2, 2.5, "3", "3.0", "3.7"])}},
        {"term": {"visits": rng.choice(["9007199254740993", 9007199254740992])}},
        {"terms": {"tags": rng.sample(["lift", "balcony", "cellar"], rng.randint(1, 3))}},
        {"terms": {"ip": rng.sample(["10.0.0.0/24", "10.0.0.9", "::/64", "2001:db8::1", "::ffff:0:0/96"], 2)}},
        {"range": {"rooms": {low: rng.randint(1, 3), high: 3}}},
        {"range": {"price": {rng.choice([low, high]): rng.choice([900, 1000])}}},
        {"range": {"price": {low: rng.choice([400, 900]), high: rng.choice([1000, 1500, "2000"])}}},
        {"range": {"views": {low: rng.choice(["9007199254740992", "9007199254740992.5", 5, None]), high: None}}},
        {"range": {"price": {"from": rng.choice([900, None]), "to": rng.choice([1500, None]), "boost": 1.0,
                             "include_lower": rng.random() < 0.5, "include_upper": rng.random() < 0.5}}},
        {"range": {"ip": {low: rng.choice(addresses)}}},
        {"range": {"ip": {low: rng.choice(addresses), high: rng.choice(addresses)}}},
        {"range": {"added": {low: day, high: "2026-01-20"}}},
        {"range": {"added": {rng.choice([low, high]): rng.choice([day, 1768500000000, "1768500000000"])}}},
        {"term": {"added": rng.choice(["2026-01-15", "2026", 2026, 1768500000000])}},
        {"exists": {"field": rng.choice(["pets", "city", "title", "seller.name", "seller", "photos", "floors.level"])}},
        {"prefix": {rng.choice(["title", "title.keyword"]): rng.choice(["Big", "gar"])}},
        {"wildcard": {"seller.name": "a*n?"}},
        {"regexp": {"seller.name": "[ab].*|eva"}},
        {"match": {"title": {"query": "big garden", "operator": rng.choice(["and", "or"])}}},
        {"match": {"title": rng.choice(["!!", "o'neil's", "neil", 2024])}},
        {"match": {"rooms": rng.choice([2.5, "2"])}},
        {"match_phrase": {"title": rng.choice(["big flat", "!!", 2024])}},
        {"multi_match": {"query": "big flat", "fields": ["title", "city^2"],
                         "type": rng.choice(["phrase", "best_fields"])}},
        {"term": {"photos.kind": "plan"}},
        {"nested": {"path": "photos", "query": {"bool": {"must_not": {"range": {"photos.width": {"gte": 800}}}}}}},
        {"nested": {"path": "photos", "query": {"bool": {"must": [{"term": {"photos.kind": "plan"}},
                                                                  {"exists": {"field": "photos.width"}}]}}}},
        {"nested": {"path": "photos", "query": {"bool": {"must_not": {"term": {"city": "Rome"}}}}}},
        {"nested": {"path": "floors.windows", "query": rng.choice([windows, {"bool": {"must_not": windows}}])}},
        {"nested": {"path": "floors", "query": {"bool": {
            "must": [{"term": {"floors.level": 1}}, {"nested": {"path": "floors.windows", "query": windows}}]}}}},
        {"geo_bounding_box": {"place": {"top_left": {"lat": 43, "lon": rng.choice([11, 170])},
                                        "bottom_right": rng.choice([[13, 41], "-20,13"])}}},
        {"constant_score": {"filter": {"term": {"city": "Rome"}}}},
        {"boosting": {"positive": {"term": {"pets": True}}, "negative": {"match_all": {}}, "negative_boost": 0.5}},
        {"function_score": {"query": {"exists": {"field": "place"}}, "functions": [{"weight": 2}]}},
        {"dis_max": {"queries": [{"term": {"pets": False}}, {"term": {"city": "Lima"}}], "tie_breaker": 0.1}},
        {"ids": {"values": [str(rng.randint(0, 40)) for _ in range(10)]}},
        {"match_all": {}},
    ])  # fmt: skip


def make_query(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return make_leaf(rng)
    body = {}
    for clause in ("must", "filter", "should", "must_not"):
        if count := rng.choice([0, 0, 1, 2, 3]):
            body[clause] = [make_query(rng, depth - 1) for _ in range(count)]
    if "should" in body and rng.random() < 0.5:
        body["minimum_should_match"] = rng.randint(1, len(body["should"]))
    return {"bool": body}


def test_random_queries_give_the_same_answers(percolator, fields):
    rng = random.Random(5)
    queries = {f"q{n}": make_query(rng, rng.choice([0, 0, 1, 1, 2, 3])) for n in range(200)}
    documents = list(percolator.listings(50, rng))
    for document in documents:
        photos = document.get("photos", [])
        for photo in photos if isinstance(photos, list) else [photos]:
            if rng.random() < 0.3:
                del photo[rng.choice(list(photo))]
    hits = [{"_id": name, "_source": {"query": one}} for name, one in queries.items()]
    converted = percolator.convert(fields, hits)
    assert not converted.quarantined
    index = tw.Index(schema=fields.schema())
    index.add_many({row["id"]: row["expression"] for row in converted.subscriptions})
    assert percolator.differences(index, fields, queries, documents) == []


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ({"term": {"city": {"value": "ROME", "case_insensitive": True}}}, "lower(city) = 'rome'"),
        ({"wildcard": {"city": {"value": r"a\*_?"}}}, "city LIKE 'a*!__' ESCAPE '!'"),
        ({"regexp": {"city": r'a\.b"c+"^'}}, r"city MATCHES '(?s)^(?:a\.bc\+\^)$'"),
        ({"multi_match": {"query": "big", "fields": ["title^3", "city"]}}, "title_words = 'big' OR city = 'big'"),
        ({"constant_score": {"filter": {"term": {"rooms": "3"}}, "boost": 2}}, "rooms = 3"),
        ({"dis_max": {"queries": [{"term": {"pets": "true"}}, {"match_none": {}}]}}, "pets = TRUE OR FALSE"),
        ({"match": {"title": {"query": "a b c", "minimum_should_match": "70%"}}},
         "title_words HAS ALL ('a', 'b') OR title_words HAS ALL ('a', 'c') OR title_words HAS ALL ('b', 'c')"),
        ({"match": {"title": {"query": "a b", "operator": "AND", "lenient": False, "prefix_length": 0, "boost": 1.0,
                              "zero_terms_query": "NONE", "auto_generate_synonyms_phrase_query": True}}},
         "title_words HAS ALL ('a', 'b')"),
        ({"match": {"title": {"query": "a", "minimum_should_match": 2}}}, "title_words = 'a'"),
        ({"match": {"title": {"query": "!", "zero_terms_query": "all"}}}, "TRUE"),
        ({"match_phrase_prefix": {"title": "big fl"}}, "title_phrase CONTAINS ' big fl'"),
        ({"multi_match": {"query": "big", "fields": ["title", "rooms"], "lenient": True}},
         "title_words = 'big' OR FALSE"),
        ({"wildcard": {"city": {"wildcard": "R*", "boost": 1.0}}}, "city LIKE 'R%' ESCAPE '!'"),
        ({"regexp": {"city": {"value": "a~b", "flags": "NONE"}}}, r"city MATCHES '(?s)^(?:a\~b)$'"),
        ({"bool": {"must": {"term": {"rooms": 1}}, "adjust_pure_negative": True, "boost": 1.0}}, "rooms = 1"),
        ({"range": {"rooms": {"from": 1, "to": 4, "include_lower": False, "include_upper": True, "boost": 1.0}}},
         "rooms BETWEEN 2 AND 4"),
        ({"range": {"views": {"gte": 5, "lte": 2**63 - 1}}}, "views >= 5"),
        ({"range": {"added": {"gte": "9999-12-31"}}}, "added >= TIMESTAMP '9999-12-31 00:00:00'"),
        ({"bool": {"must_not": {"ids": {"values": [7]}}}}, "NOT _id HAS ANY ('7')"),
        ({"bool": {"should": {"term": {"rooms": 1}}, "minimum_should_match": 2}}, "FALSE"),
        ({"bool": {}}, "TRUE"),
    ],
)  # fmt: skip
def test_a_query_as_an_expression(percolator, fields, query, expression):
    ((row,), _, _) = percolator.convert(fields, [{"_id": "x", "_source": {"query": query}}])
    assert row["expression"] == str(tw.parse(expression))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"fuzzy": {"city": "Rom"}}, "there is no expression for fuzzy"),
        ({"term": {"nowhere": 1}}, "nowhere is not a field of the mapping"),
        ({"term": {"photos.kind": "plan"}, "boost": 1}, "one member was expected, not term, boost"),
        ({"range": {"added": {"gte": "now-1d"}}}, "there is no now"),
        ({"range": {"added": {"gte": "2026-01-01||/M"}}}, "which is computed"),
        ({"range": {"added": {"gte": "01.02.2026"}}}, "not in ISO form"),
        ({"range": {"added": {"gte": "01.02.2026", "format": "dd.MM.yyyy"}}}, "range with format"),
        ({"range": {"ip": {"gte": "10.0.0.0/8"}}}, "does not appear to be an IPv4 or IPv6 address"),
        ({"range": {"ip": {"gte": 5}}}, "does not appear to be an IPv4 or IPv6 address"),
        ({"range": {"rooms": 5}}, "range of 5, which should be an object"),
        ({"range": {"price": {"gt": 1, "gte": 2}}}, "range with gt, gte"),
        ({"range": {"place": {"gte": 1}}}, "place is of type geo_point"),
        ({"term": {"span": 3}}, "span is of type integer_range, which is not converted"),
        ({"prefix": {"rooms": "1"}}, "rooms is of type integer"),
        ({"regexp": {"city": "a~b"}}, "~ in a regular expression"),
        ({"regexp": {"city": "(?i)rome"}}, "(? in a regular expression"),
        ({"regexp": {"city": "(Ro)+?"}}, "+? in a regular expression"),
        ({"regexp": {"city": "[[:alpha:]]"}}, "a class of a regular expression"),
        ({"regexp": {"city": {"value": "a@", "flags": "INTERVAL"}}}, "@ in a regular expression"),
        ({"bool": {"should": [{"term": {"rooms": n}} for n in range(20)], "minimum_should_match": 10}}, "combinations"),
        ({"bool": {"must_not": {"match_all": {}}, "adjust_pure_negative": False}}, "bool with adjust_pure_negative"),
        ({"match": {"title": {"query": "a b", "analyzer": "english"}}}, "match with analyzer 'english'"),
        ({"match_phrase": {"title": {"query": "a b", "slop": 2}}}, "match_phrase with slop 2"),
        ({"multi_match": {"query": "big"}}, "multi_match without fields"),
        ({"multi_match": {"query": "big", "fields": ["title"], "type": "cross_fields"}}, "of type cross_fields"),
        ({"function_score": {"query": {"match_all": {}}, "min_score": 2}}, "min_score"),
        ({"geo_bounding_box": {"place": {"top_left": "u0", "bottom_right": "u1"}}}, "no latitude and longitude"),
        ({"prefix": {"city": {"other": 1}}}, "prefix with other 1"),
        ({"match": {"title": {"operator": "and"}}}, "match on title without query"),
        ({"nested": {"path": "photos"}}, "nested without query"),
        ({"nested": {"path": "seller", "query": {"match_all": {}}}}, "seller is not nested in the mapping"),
        ({"term": {"city": {"value": "É", "case_insensitive": True}}}, "for ASCII only"),
        ({"bool": "a"}, "bool of 'a', which should be an object"),
        (["no query"], "an object was expected"),
        (None, "there is no query in query"),
    ],
)
def test_what_has_no_expression_is_told(percolator, fields, query, reason):
    (_, (bad,), _) = percolator.convert(fields, [{"_id": "x", "_source": {"query": query}}])
    assert reason in bad["reason"]


def make_floors(*counts):
    return {"floors": [{"level": 1, "windows": [{"side": "south", "count": count} for count in counts]}]}


@pytest.mark.parametrize(
    ("query", "yes", "no"),
    [
        # nested in nested
        ({"nested": {"path": "floors.windows", "query": {"range": {"floors.windows.count": {"gte": 2}}}}},
         [make_floors(2), make_floors(1, 3)], [make_floors(1), make_floors(), {}]),
        # a nested object is a document of its own
        ({"term": {"photos.kind": "plan"}}, [], [{"photos": [{"kind": "plan"}]}]),
        ({"exists": {"field": "photos"}}, [], [{"photos": [{"kind": "plan"}]}]),
        ({"bool": {"must_not": {"exists": {"field": "photos"}}}}, [{"photos": [{"kind": "plan"}]}, {}], []),
        # types that are others by another name
        ({"match": {"notes": "Big"}}, [{"notes": "a BIG one"}], [{"notes": "small"}]),
        ({"range": {"counter": {"gt": "9007199254740993"}}}, [{"counter": 9007199254740994}],
         [{"counter": 9007199254740993}]),
        ({"term": {"seen": "2026-03"}}, [{"seen": "2026-03-31T23:59:59.123456789Z"}], [{"seen": "2026-04-01"}]),
        ({"term": {"visits": 3}}, [{"views": 3}], [{"views": 4}, {"visits": 3}]),
        # addresses are not text
        ({"range": {"ip": {"gte": "10.0.0.9", "lte": "10.0.0.100"}}}, [{"ip": "10.0.0.10"}, {"ip": "::ffff:10.0.0.50"}],
         [{"ip": "10.0.0.101"}, {"ip": "9.0.0.1"}, {"ip": ["9.0.0.1", "11.0.0.1"]}, {"ip": "::1"}, {}]),
        ({"range": {"ip": {"lt": "10.0.0.0"}}}, [{"ip": "9.9.9.9"}, {"ip": "::1"}],
         [{"ip": "10.0.0.0"}, {"ip": "2001:db8::1"}]),
        ({"bool": {"must_not": {"range": {"ip": {"gt": "10.0.0.0"}}}}}, [{"ip": "10.0.0.0"}, {"ip": "::1"}, {}],
         [{"ip": "10.0.0.1"}, {"ip": "2001:db8::1"}]),
        # text without words is there
        ({"exists": {"field": "title"}}, [{"title": ""}, {"title": "-"}, {"title": ["", "a"]}], [{"title": []}, {}]),
        # no bounds
        ({"range": {"price": {"gte": None, "lte": None}}}, [{"price": 1}], [{}, {"price": None}]),
        ({"range": {"rooms": {}}}, [{"rooms": 1}], [{}]),
        ({"bool": {"must_not": {"range": {"price": {"gte": None}}}}}, [{}], [{"price": 1}]),
        # integers
        ({"term": {"rooms": 2.5}}, [], [{"rooms": 2}, {"rooms": 3}]),
        ({"terms": {"rooms": [2.5, "3"]}}, [{"rooms": 3}], [{"rooms": 2}]),
        ({"range": {"views": {"lte": "9007199254740993"}}}, [{"views": 9007199254740993}],
         [{"views": 9007199254740994}]),
        # one and the same of several values
        ({"range": {"price": {"gt": 1, "lt": 4}}}, [{"price": [0, 1.0000000000000002]}, {"price": 3.9}],
         [{"price": [1, 4]}, {"price": [0, 9]}]),
        ({"geo_bounding_box": {"place": {"top": 2, "left": 0, "bottom": 0, "right": 2}}}, [{"place": [[9, 9], [1, 1]]}],
         [{"place": [[1, 9], [9, 1]]}, {}]),
        ({"geo_bounding_box": {"place": {"wkt": "BBOX (170, -170, 10, -10)"}}},
         [{"place": "0,175"}, {"place": "POINT (-175 0)"}], [{"place": {"lat": 0, "lon": 0}}]),
        # no words, words with signs, and numbers
        ({"match_phrase": {"title": "!!"}}, [], [{"title": "-"}, {"title": ""}, {"title": "a"}]),
        ({"match_phrase": {"title": 2024}}, [{"title": "of 2024"}, {"title": 2024}], [{"title": "20245"}]),
        ({"match": {"title": "neil 5"}}, [{"title": "Neil"}], [{"title": "O'Neil's 3.5 1,005"}]),
        ({"regexp": {"city": r"[\b\]]+"}}, [{"city": "b]b"}], [{"city": "\b"}]),
    ],
)  # fmt: skip
def test_what_was_matched_wrongly(percolator, query, yes, no):
    properties = percolator.PROPERTIES | {
        "notes": {"type": "match_only_text"},
        "counter": {"type": "unsigned_long"},
        "seen": {"type": "date_nanos"},
    }
    fields = percolator.Fields.from_properties(properties)
    ((row,), _, remarks) = percolator.convert(fields, [{"_id": "x", "_source": {"query": query}}])
    index = tw.Index(schema=fields.schema()).add("x", row["expression"])
    assert not remarks
    for document in yes:
        assert index.match(percolator.as_event(document, fields)) == ["x"], document
    for document in no:
        assert index.match(percolator.as_event(document, fields)) == [], document


def test_bounds_of_strings_are_named(percolator, fields):
    query = {"bool": {"must_not": {"range": {"city": {"gt": "a", "lt": "c"}}}}}
    found = percolator.convert(fields, [{"_id": "x", "_source": {"query": query}}])
    assert [row["id"] for row in found.subscriptions] == [row["id"] for row in found.remarks] == ["x"]
