"""Do the examples run, from any folder, and say what they should? Those on Spark are in `tests/spark`."""

import json
import random
import runpy
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app

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
    "percolator": ("22 of 25 queries are converted", "500 documents, 22 queries: no answers are different"),
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


@pytest.mark.parametrize("name", SAID)
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
    day = rng.choice(["2026-01-10", "2026-01-15", "2026-01-15T12:30", "2026-01-20T18:00:00Z"])
    return rng.choice([
        {"term": {"city": rng.choice(["Rome", "Oslo"])}},
        {"terms": {"tags": rng.sample(["lift", "balcony", "cellar"], rng.randint(1, 3))}},
        {"range": {"rooms": {rng.choice(["gt", "gte"]): rng.randint(1, 3), rng.choice(["lt", "lte"]): 3}}},
        {"range": {"price": {rng.choice(["gt", "gte", "lt", "lte"]): rng.choice([900, 1000])}}},
        {"range": {"added": {rng.choice(["gt", "gte"]): day, rng.choice(["lt", "lte"]): "2026-01-20"}}},
        {"term": {"added": "2026-01-15"}},
        {"exists": {"field": rng.choice(["pets", "city", "title", "seller.name"])}},
        {"prefix": {rng.choice(["title", "title.keyword"]): rng.choice(["Big", "gar"])}},
        {"wildcard": {"seller.name": "a*n?"}},
        {"regexp": {"seller.name": "[ab].*|eva"}},
        {"match": {"title": {"query": "big garden", "operator": rng.choice(["and", "or"])}}},
        {"match_phrase": {"title": "big flat"}},
        {"nested": {"path": "photos", "query": {"bool": {"must_not": {"range": {"photos.width": {"gte": 800}}}}}}},
        {"nested": {"path": "photos", "query": {"bool": {"must": [{"term": {"photos.kind": "plan"}},
                                                                  {"exists": {"field": "photos.width"}}]}}}},
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
    queries = {f"q{n}": query(rng, rng.randint(0, 3)) for n in range(100)}
    documents = list(percolator.listings(60, rng))
    for document in documents:
        photos = document.get("photos", [])
        for photo in photos if isinstance(photos, list) else [photos]:
            if rng.random() < 0.3:
                del photo[rng.choice(list(photo))]
    hits = [{"_id": name, "_source": {"query": one}} for name, one in queries.items()]
    subscriptions, quarantined = percolator.convert(fields, hits)
    assert not quarantined
    index = tw.Index(schema=fields.schema())
    index.add_many({row["id"]: row["expression"] for row in subscriptions})
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
         "title_words = 'a' AND title_words = 'b' OR title_words = 'a' AND title_words = 'c' "
         "OR title_words = 'b' AND title_words = 'c'"),
        ({"bool": {}}, "TRUE"),
    ],
)  # fmt: skip
def test_a_query_as_an_expression(percolator, fields, given, expression):
    ((row,), _) = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    assert row["expression"] == str(tw.parse(expression))


@pytest.mark.parametrize(
    "given",
    [
        {"fuzzy": {"city": "Rom"}},
        {"term": {"nowhere": 1}},
        {"term": {"photos.kind": "plan"}, "boost": 1},
        {"range": {"added": {"gte": "now-1d"}}},
        {"range": {"added": {"gte": "01.02.2026", "format": "dd.MM.yyyy"}}},
        {"regexp": {"city": "a~b"}},
        {"bool": {"should": [{"term": {"rooms": n}} for n in range(20)], "minimum_should_match": 10}},
        {"match_phrase": {"title": {"query": "a b", "slop": 2}}},
        {"prefix": {"city": {"other": 1}}},
        ["no query"],
    ],
)
def test_what_has_no_expression_is_told(percolator, fields, given):
    (_, (bad,)) = percolator.convert(fields, [{"_id": "x", "_source": {"query": given}}])
    assert bad["reason"]


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


def test_an_export_is_converted_and_built(percolator, tmp_path, capsys):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elasticsearch)
    server.properties = percolator.PROPERTIES
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        percolator.main(["export", f"http://127.0.0.1:{server.server_port}", "alerts", str(tmp_path)])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    percolator.main(["convert", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 converted, 1 in quarantine" in printed
    command = next(line for line in printed.splitlines() if "tellwhen build" in line).split()[1:]
    assert CliRunner().invoke(app, command).exit_code == 0
    index = tw.Index.load(tmp_path / "index")
    assert index.match({"city": "Rome"}, payload=True) == [("a", {"owner": "ann"})]
