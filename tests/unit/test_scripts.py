"""Do the examples run, from any folder, and say what they should? Those on Spark are in `tests/spark`."""

import json
import random
import runpy
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app

pytestmark = pytest.mark.late

EXAMPLES = Path(__file__).parents[2] / "examples"

SAID = {
    "ads.py": ("456 of 5000 ads may be shown", "have spent their budgets", "why not ad-0?"),
    "alerts.py": (
        "error: lod > 0.9: lod is not declared; did you mean load?",
        "it is true of 608 of the last 1000 measurements",
        "403 rules, 3000 measurements",
        "no event has host; did you mean hostname?",
        "loaded 403 rules",
    ),
    "engines.py": ("all engines find the same", "ms per event"),
    "percolator": ("29 of 33 queries are converted", "500 documents, 29 queries: no answers are different"),
    "quickstart.py": ("one event: ['mall-42']", "loaded: ['ops-7']"),
    "searches.py": (
        "listing 101 interests ann: ann-1, ann-2",
        "listing 105 nearly interests ann-1: 75%, but rooms is 2",
        "ann-2 should hear of it",
    ),
}

QUICK = {"engines.py": ["--subscriptions", "300", "--events", "20", "--rounds", "2"]}
"""Arguments of those that would take longer than a test should."""


def test_every_script_is_run():
    on_spark = {path.name for path in EXAMPLES.glob("*.py") if "tellwhen import spark" in path.read_text()}
    scripts = {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py" or (path / "__main__.py").exists()}
    assert scripts - on_spark == set(SAID)
    tested = (Path(__file__).parents[1] / "spark" / "test_examples.py").read_text()
    assert all(f'"{name}"' in tested for name in on_spark)


@pytest.mark.parametrize("name", [pytest.param("ads.py", marks=pytest.mark.slow), *(SAID.keys() - {"ads.py"})])
def test_an_example(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *QUICK.get(name, [])])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for line in SAID[name]:
        assert line in printed


def test_engines_on_files(monkeypatch, capsys, tmp_path):
    rules = [{"id": n, "expression": f"a = {n} AND b > {n % 7}"} for n in range(50)]
    events = [{"a": n, "b": 3} for n in range(10)]
    for name, rows in (("rules", rules), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main = runpy.run_path(str(EXAMPLES / "engines.py"))["main"]
    main([str(tmp_path / "rules.jsonl"), str(tmp_path / "events.jsonl"), "--engines", "scan,auto", "--rounds", "1"])
    assert "0.6 subscriptions match an event" in capsys.readouterr().out


# The converter of percolator queries


@pytest.fixture(scope="module")
def percolator():
    """The names of the script."""
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / "percolator")))


def leaf(rng):
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


def query(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    body = {}
    for clause in ("must", "filter", "should", "must_not"):
        if count := rng.choice([0, 0, 1, 2, 3]):
            body[clause] = [query(rng, depth - 1) for _ in range(count)]
    if "should" in body and rng.random() < 0.5:
        body["minimum_should_match"] = rng.randint(1, len(body["should"]))
    return {"bool": body}


@pytest.fixture(scope="module")
def fields(percolator):
    return percolator.Fields.of(percolator.PROPERTIES)


def test_random_queries_give_the_same_answers(percolator, fields):
    rng = random.Random(5)
    queries = {f"q{n}": query(rng, rng.choice([0, 0, 1, 1, 2, 3])) for n in range(200)}
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
    ("given", "expression"),
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
def test_a_query_as_an_expression(percolator, fields, given, expression):
    ((row,), _, _) = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    assert row["expression"] == str(tw.parse(expression))


@pytest.mark.parametrize(
    ("given", "reason"),
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
def test_what_has_no_expression_is_told(percolator, fields, given, reason):
    (_, (bad,), _) = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    assert reason in bad["reason"]


def floors(*counts):
    return {"floors": [{"level": 1, "windows": [{"side": "south", "count": count} for count in counts]}]}


@pytest.mark.parametrize(
    ("given", "yes", "no"),
    [
        # nested in nested
        ({"nested": {"path": "floors.windows", "query": {"range": {"floors.windows.count": {"gte": 2}}}}},
         [floors(2), floors(1, 3)], [floors(1), floors(), {}]),
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
def test_what_was_matched_wrongly(percolator, given, yes, no):
    properties = percolator.PROPERTIES | {
        "notes": {"type": "match_only_text"},
        "counter": {"type": "unsigned_long"},
        "seen": {"type": "date_nanos"},
    }
    fields = percolator.Fields.of(properties)
    ((row,), _, remarks) = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    index = tw.Index(schema=fields.schema()).add("x", row["expression"])
    assert not remarks
    for document in yes:
        assert index.match(percolator.as_event(document, fields)) == ["x"], document
    for document in no:
        assert index.match(percolator.as_event(document, fields)) == [], document


def test_bounds_of_strings_are_named(percolator, fields):
    given = {"bool": {"must_not": {"range": {"city": {"gt": "a", "lt": "c"}}}}}
    found = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    assert [row["id"] for row in found.subscriptions] == [row["id"] for row in found.remarks] == ["x"]


@pytest.mark.parametrize(
    ("document", "event"),
    [
        ({"title": 2024}, {"title_words": ["2024"], "title_phrase": [" 2024 "], "title.keyword": "2024"}),
        ({"rooms": "3.7", "pets": "", "price": "", "tags": [["a", ["b"]], None]},
         {"rooms": 3, "pets": False, "price": [], "tags": ["a", "b"]}),
        ({"span": {"gte": 1}, "other": 1, "seller": 5}, {}),
        ({"seller": [{"name": "bob"}, {"name": "eva"}]}, {"seller.name": ["bob", "eva"]}),
    ],
)  # fmt: skip
def test_a_document_as_an_event(percolator, fields, document, event):
    assert percolator.as_event(document, fields) == event


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("2026-03", "2026-03-01"), ("2026", "2026-01-01"), ("1772323200000", "2026-03-01"),
        (1772323200000, "2026-03-01"),
        ("2026-03-01T01+02:00", "2026-02-28T23:00"), ("2026-03-01T01:30-0230", "2026-03-01T04:00"),
        ("2026-03-01T00:00:00.1239", "2026-03-01T00:00:00.123"),
    ],
)  # fmt: skip
def test_dates_of_documents(percolator, fields, text, first):
    expected = datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert percolator.as_event({"added": text}, fields) == {"added": expected}


def test_documents_that_are_no_events(percolator, fields):
    bad = [{"rooms": "many"}, {"city": {"a": 1}}, {"photos": 5}, {"place": "u0x"}, {"added": "soon"}, {"ip": "here"}]
    events, quarantined = percolator.as_events([*bad, {"city": "Rome"}], fields)
    assert events == [{"city": "Rome"}]
    assert [row["document"] for row in quarantined] == bad
    assert quarantined[0]["reason"] == "rooms: 'many' is not a number"


def exported(folder, properties, *lines, index="alerts"):
    """A folder as an export has it."""
    (folder / "mapping.json").write_text(json.dumps({index: {"mappings": {"properties": properties}}}))
    (folder / "queries.ndjson").write_text("".join(f"{line}\n" for line in lines))


ROME = {"_id": "a", "_source": {"query": {"term": {"city": "Rome"}}}}


def test_pages_and_blank_lines_are_read(percolator, tmp_path, capsys):
    page = json.dumps({"hits": {"hits": [ROME, ROME | {"_id": "b"}]}})
    exported(tmp_path, percolator.PROPERTIES, page, "", json.dumps(ROME | {"_id": "c"}))
    percolator.main(["convert", str(tmp_path)])
    assert "3 converted, 0 in quarantine" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "said"), [("{", "queries.ndjson, line 2: "), ('{"_id": "a"}', "should have _id and")])
def test_a_bad_line_is_told_by_its_number(percolator, tmp_path, line, said):
    exported(tmp_path, percolator.PROPERTIES, json.dumps(ROME), line)
    with pytest.raises(SystemExit, match=said):
        percolator.main(["convert", str(tmp_path)])


def test_mappings_of_other_forms(percolator, tmp_path, capsys):
    query = {"type": "percolator"}
    properties = {
        "city": {"type": "keyword", "normalizer": "low"},
        "any": {"type": "object"},
        "day": {"type": "date", "format": "dd.MM.yyyy"},
        "search": {"properties": {"query": query, "note": {"type": "text"}}},
    }
    source = {"search": {"query": {"term": {"city": "Rome"}}, "note": "n"}, "owner": "ann"}
    dated = {"search": {"query": {"term": {"day": "01.02.2026"}}}}
    exported(tmp_path, properties, *(json.dumps({"_id": "a", "_source": one}) for one in (source, dated)))
    percolator.main(["convert", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 converted, 1 in quarantine" in printed
    assert "look at the field city, which has normalizer low" in printed
    row = json.loads((tmp_path / "subscriptions.jsonl").read_text())
    assert row["payload"] == {"search": {"note": "n"}, "owner": "ann"}

    exported(tmp_path, properties | {"query": query}, json.dumps(ROME))
    with pytest.raises(SystemExit, match=r"choose the percolator field by --field: search.query, query"):
        percolator.main(["convert", str(tmp_path)])
    percolator.main(["convert", str(tmp_path), "--field", "query"])
    assert "1 converted" in capsys.readouterr().out

    two = {name: {"mappings": {"properties": {"query": query, "city": {"type": kind}}}}
           for name, kind in (("one", "keyword"), ("two", "text"))}  # fmt: skip
    (tmp_path / "mapping.json").write_text(json.dumps(two))
    with pytest.raises(SystemExit, match="city of two is another field than in one"):
        percolator.main(["convert", str(tmp_path)])


PAGES = (
    [{"_id": "a", "_source": {"query": {"term": {"city": "Rome"}}, "owner": "ann"}}],
    [{"_id": "b", "_source": {"query": {"fuzzy": {"city": "Rom"}}}}],
    [],
)


class Elasticsearch(BaseHTTPRequestHandler):
    """A server that has two pages of queries, and then an empty one."""

    def do_GET(self):
        self._answer({"alerts": {"mappings": {"properties": self.server.properties}}})

    def do_POST(self):
        assert self.headers["Authorization"] == "ApiKey secret"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        page = int(asked.get("scroll_id", -1)) + 1
        assert self.path == ("/_search/scroll" if page else "/alerts/_search?scroll=5m")
        self._answer({"_scroll_id": str(page), "hits": {"hits": PAGES[page]}})

    def _answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def url(percolator, monkeypatch):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "secret")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elasticsearch)
    server.properties = percolator.PROPERTIES
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_export_is_converted_and_built(percolator, url, tmp_path, capsys):
    percolator.main(["export", url, "alerts", str(tmp_path)])
    percolator.main(["convert", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 converted, 1 in quarantine" in printed
    command = next(line for line in printed.splitlines() if "tellwhen build" in line).split()[1:]
    assert CliRunner().invoke(app, command).exit_code == 0
    index = tw.Index.load(tmp_path / "index")
    assert index.match_with_payloads({"city": "Rome"}) == [("a", {"owner": "ann"})]

    documents = [{"city": ["Rome"], "title": "flat"}, {"city": "Oslo"}, {"rooms": "many"}]
    (tmp_path / "documents.ndjson").write_text("".join(json.dumps(one) + "\n" for one in documents))
    percolator.main(["answers", url, "alerts", str(tmp_path), str(tmp_path / "documents.ndjson")])
    with pytest.raises(SystemExit):
        percolator.main(["compare", str(tmp_path), str(tmp_path / "answers.ndjson")])
    printed = capsys.readouterr().out
    assert 'a should match {"city": "Oslo"}' in printed
    assert "line 3: the document is no event: rooms: 'many' is not a number" in printed
    assert "2 documents, 1 queries: 1 answers are different" in printed
