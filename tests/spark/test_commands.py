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
