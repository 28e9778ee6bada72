"""Do the examples run, from any folder, and print what they should? Those on Spark are in `tests/spark`."""

import json
import runpy
import sys

import pytest

from support import ROOT

pytestmark = pytest.mark.late

EXAMPLES = ROOT / "examples"

EXPECTED_LINES = {
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

QUICK_ARGUMENTS = {"engines.py": ["--subscriptions", "300", "--events", "20", "--rounds", "2"]}
"""Arguments of those that would take longer than a test should."""


def test_every_script_is_run():
    on_spark = {path.name for path in EXAMPLES.glob("*.py") if "tellwhen import spark" in path.read_text()}
    scripts = {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py" or (path / "__main__.py").exists()}
    assert scripts - on_spark == set(EXPECTED_LINES)
    tested = (ROOT / "tests" / "spark" / "test_examples.py").read_text()
    assert all(f'"{name}"' in tested for name in on_spark)


@pytest.mark.parametrize(
    "name", [pytest.param("ads.py", marks=pytest.mark.slow), *(EXPECTED_LINES.keys() - {"ads.py"})]
)
def test_an_example(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *QUICK_ARGUMENTS.get(name, [])])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for line in EXPECTED_LINES[name]:
        assert line in printed


def test_engines_on_files(monkeypatch, capsys, tmp_path):
    rules = [{"id": n, "expression": f"a = {n} AND b > {n % 7}"} for n in range(50)]
    events = [{"a": n, "b": 3} for n in range(10)]
    for name, rows in (("rules", rules), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main = runpy.run_path(str(EXAMPLES / "engines.py"))["main"]
    main([str(tmp_path / "rules.jsonl"), str(tmp_path / "events.jsonl"), "--engines", "scan,auto", "--rounds", "1"])
    assert "0.6 subscriptions match an event" in capsys.readouterr().out
