"""Do the commands do the same on Spark?"""

import csv
import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app
from tellwhen.warehouse.commits import rollback
from tellwhen.warehouse.leases import pin_version

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_build_and_match(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = [
        {"id": "a", "expression": "price < 20 AND o.city = 'Rome'"},
        {"id": "bad", "expression": "price <", "score": 2},
    ]
    events = [{"key": f"e{n}", "price": n, "o": {"city": "Rome" if n % 2 else "Oslo"}} for n in range(40)]
    for name, rows in (("rules", rules), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments):
        done = CliRunner().invoke(app, [*arguments, "--spark", "local[2]"])
        assert done.exit_code == 0, (done.output, done.exception)
        return done

    told = run("build", "rules.jsonl", "-o", "index", "--quarantine", "faulty.jsonl", "--observe", "events.jsonl")
    assert "1 subscription in index" in told.stderr
    faulty = json.loads((tmp_path / "faulty.jsonl").read_text())
    assert (faulty["position"], faulty["score"]) == (7, 2)
    wanted = sorted(event["key"] for event in events if tw.parse(rules[0]["expression"]).evaluate(event))
    found = run("match", "index", "events.jsonl", "--event-id", "key").stdout
    assert sorted(json.loads(line)["event_id"] for line in found.splitlines()) == wanted
    run("match", "index", "events.jsonl", "--event-id", "key", "-o", "matches.parquet")
    assert sorted(pq.read_table(tmp_path / "matches.parquet")["event_id"].to_pylist()) == wanted
    assert len(run("match", "index", "events.jsonl").stdout.splitlines()) == len(wanted)


@pytest.mark.usefixtures("spark")
def test_validate_and_top_k(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = [{"id": n, "expression": f"price < {n * 10}", "score": n} for n in range(5)]
    events = [{"key": f"e{n}", "price": n} for n in range(40)]
    for name, rows in (("rules", rules), ("events", events), ("odd", [{"id": "b", "expression": "price >"}])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(app, ["validate", "rules.jsonl", "--spark", "local[2]"])
    assert (done.exit_code, done.stdout) == (0, "5 subscriptions: 0 errors, 0 warnings, 0 hints\n")
    done = CliRunner().invoke(app, ["validate", "odd.jsonl", "--json", "--spark", "local[2]"])
    assert (done.exit_code, json.loads(done.stdout)["position"]) == (1, 7)
    tw.Index().save("saved")
    done = CliRunner().invoke(app, ["match", "saved", "events.jsonl", "--spark", "local[2]"])
    assert "was saved by one process: build it on Spark" in done.stderr.replace("\n", " ")
    built = ["build", "rules.jsonl", "-o", "index", "--quarantine", "faulty.jsonl", "--spark", "local[2]"]
    assert CliRunner().invoke(app, built).exit_code == 0
    command = ["top-k", "index", "events.jsonl", "-k", "2", "--event-id", "key"]
    here, there = (CliRunner().invoke(app, [*command, *more]) for more in ([], ["--spark", "local[2]"]))
    assert here.exit_code == there.exit_code == 0, there.exception
    assert sorted(here.stdout.splitlines()) == sorted(there.stdout.splitlines())
    assert len(here.stdout.splitlines()) == 70


MESSY = [
    {"t": 1, "amount": 2000, "tags": ["vpn"], "merchant": {"name": "ACME"}},
    {"t": 2, "amount": "n/a", "merchant": "ACME", "Amount": 7},
    {"t": 3, "amount": 3000.5, "city": 'say "hi"'},
    {"t": 4, "amount": None, "tags": []},
]


@pytest.mark.usefixtures("spark")
def test_messy_files_match_as_they_do_without_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = [
        ("big", "amount > 1000"), ("vpn", "tags HAS ANY ('vpn')"), ("acme", "merchant.name = 'ACME'"),
        ("text", "merchant = 'ACME'"), ("hi", "city = 'say \"hi\"'"), ("none", "amount IS NULL"),
        ("two", '"two words" = 1'),
        ("lines", "amount > 1000\nAND t < 3"),
    ]  # fmt: skip
    with open("rules.csv", "w", newline="") as file:
        csv.writer(file).writerows([("id", "expression"), *rules])
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, MESSY)) + "\n\n")
    cells = [("t", "amount", "tags", "city", "two words"), (1, 2000, "vpn", "", 1), (2, "n/a", "", 'say "hi"', "")]
    with open("events.csv", "w", newline="") as file:
        csv.writer(file).writerows(cells)

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == code, (done.output, done.exception)
        return done

    run("build", "rules.csv", "-o", "here")
    run("build", "rules.csv", "-o", "there", "--quarantine", "faulty.jsonl", "--spark", "local[2]")
    assert dict(tw.Index.load("there").iter_texts()) == dict(rules) == dict(tw.Index.load("here").iter_texts())
    for name in ("events.jsonl", "events.csv"):
        here = run("match", "here", name, "--event-id", "t").stdout.splitlines()
        there = run("match", "there", name, "--event-id", "t", "--spark", "local[2]")
        assert sorted(there.stdout.splitlines()) == sorted(here)
        assert f"{len(here)} rows" in there.stderr
        assert len(here) > 3
    assert "of a wrong type" in there.stderr
    for arguments, message in (
        (["match", "there", "nothing.jsonl"], "nothing.jsonl: No such file"),
        (["match", "there", "events.csv", "--event-id", "no"], "there is no column 'no'"),
        (["match", "there", "events.jsonl", "--event-id", "no"], "no event has an attribute 'no'"),
        (["match", "there", "events.jsonl", "-o", "rules.csv"], "rules.csv exists"),
        (["validate", "nothing.csv"], "nothing.csv: No such file"),
    ):
        assert message in run(*arguments, "--spark", "local[2]", code=1).stderr.replace("\n", " ")


@pytest.mark.usefixtures("spark")
def test_messy_subscriptions_are_built_as_they_are_without_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = [
        {"id": 1, "expression": "x = 'a' AND y > 1", "weights": {"x": 2.5}, "payload": {"n": 1, "list": [1, "a"]}},
        {"id": 2, "expression": "y > 1", "score": 3, "payload": {"n": "one", "deep": {"a": None}}},
        {"id": 3, "expression": {"operator": "=", "attribute": "x", "value": 'ä\n"b"'}, "weights": None},
        {"id": 4, "expression": "y = 7", "score": 1e300, "payload": {}},
        {"id": 5, "expression": "y >", "score": 2, "weights": {"y": 1}, "payload": {"n": 2}, "note": "mine"},
        {"id": 6, "expression": "y > 1", "weights": [1]},
        {"id": 7},
    ]
    lines = [*map(json.dumps, rules), "", '{"id": 8, "expression": "y > 1"', "[9]"]
    (tmp_path / "rules.jsonl").write_text("\n".join(lines))
    told = [
        CliRunner().invoke(app, ["build", "rules.jsonl", "-o", name, "--quarantine", f"{name}.jsonl", *more])
        for name, more in (("here", []), ("there", ["--spark", "local[2]"]))
    ]
    assert [one.exit_code for one in told] == [0, 0], [one.output for one in told]
    assert all("column note is not read" in one.stderr for one in told)
    here, there = tw.Index.load("here"), tw.Index.load("there")
    assert sorted(here) == sorted(there) == [1, 2, 3, 4]
    for id_ in here:
        assert there.get_subscription(id_) == here.get_subscription(id_)
    faulty = [[json.loads(line) for line in (tmp_path / f"{name}.jsonl").open()] for name in ("here", "there")]
    assert len(faulty[0]) == len(faulty[1]) == 5
    kept = {row["id"]: row for row in faulty[1]}[5]
    assert (kept["expression"], kept["position"], kept["score"]) == ("y >", 3, 2)
    assert json.loads(kept["payload"]) == {"n": 2}
    assert {row["expression"] for row in faulty[1]} >= {'{"id": 8, "expression": "y > 1"', "[9]"}


def test_a_folder_that_is_no_index_stays_as_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(tw.FormatError, match="there is no index"):
        rollback(tmp_path / "mine", 1)
    with pytest.raises(tw.FormatError, match="there is no index"):
        pin_version(tmp_path / "mine", "query-1", 0)
    assert list((tmp_path / "mine").iterdir()) == []
    with pytest.raises(tw.FormatError, match="there is no index"):
        rollback(tmp_path / "nothing", 1)
