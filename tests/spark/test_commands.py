"""Do the commands do the same on Spark?"""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_build_and_match(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = [{"id": "a", "expression": "price < 20 AND o.city = 'Rome'"}, {"id": "bad", "expression": "price <"}]
    events = [{"key": f"e{n}", "price": n, "o": {"city": "Rome" if n % 2 else "Oslo"}} for n in range(40)]
    for name, rows in (("rules", rules), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments):
        done = CliRunner().invoke(app, [*arguments, "--spark", "local[2]"])
        assert done.exit_code == 0, (done.output, done.exception)
        return done

    told = run("build", "rules.jsonl", "-o", "index", "--quarantine", "faulty.jsonl", "--observe", "events.jsonl")
    assert "1 subscription in index" in told.stderr
    assert json.loads((tmp_path / "faulty.jsonl").read_text())["position"] == 7
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
