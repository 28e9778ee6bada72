"""Story, data and requirements of the demo."""

import io

from rich.console import Console
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app
from tellwhen.demo import market, story


def test_the_story_of_the_demo(tmp_path):
    console = Console(width=110, record=True, file=io.StringIO())
    market.write_files(tmp_path, 2_000, 300)
    result = story.show_story(story.build_index(tmp_path), console)
    text = console.export_text()
    assert "It satisfies" in text
    assert "price is 640" in text
    assert [result.match_explanations[0].value, result.mismatch_explanation.value] == [True, False]
    assert result.best_ads[0] == ("ad/bike-insurance", 3.15)
    assert {kind: len(ids) > 0 for kind, ids in result.ids_by_kind.items()} == {
        "search": True,
        "ad": True,
        "fraud": True,
    }


def test_the_data_of_the_demo_is_realistic():
    """A few dozen matches, by listings of every kind; the same on every machine."""
    index = tw.Index(schema=market.SCHEMA)
    rows = [(row["id"], row["expression"]) for row in market.generate_subscriptions(5_000)]
    faulty = index.add_valid(rows)
    assert len(faulty) == len([n for n in range(5_000 - len(market.SUBSCRIPTIONS)) if n % market.BROKEN_INTERVAL == 17])
    counts = [index.count(market.draw_listing(number)) for number in range(300)]
    assert 1 < sum(counts) / len(counts) < 10  # of a tenth of the subscriptions
    assert market.draw_listing(7)["title"] == "Alto piano, light"


def test_the_demo_says_at_once_what_to_install(monkeypatch):
    monkeypatch.setattr("tellwhen.demo.find_spec", lambda name: None if name in ("altair", "pyspark") else name)
    started = []
    monkeypatch.setattr("tellwhen.demo.market.write_files", lambda *given: started.append(given))
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "the demo needs altair, pyspark: `pip install 'tellwhen[demo]'`" in result.output
    assert started == []


def test_without_a_java_the_demo_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("tellwhen.spark.sessions.find_bundled_java", lambda: None)
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "Spark needs Java" in result.output
