"""Does what a user runs first run?"""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app
from tellwhen.demo import example

ROOT = Path(__file__).parent.parent.parent


def test_quickstart():
    done = subprocess.run([sys.executable, ROOT / "examples" / "quickstart.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for line in ("one event: ['mall-42']", "{'event_id': 0, 'subscription_id': 'mall-42'}", "loaded: ['ops-7']"):
        assert line in done.stdout


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param(
            "ads",
            ["4.00  Ad 601 of advertiser 23", "have spent their budgets", "segments HAS ANY ('cars')"],
            marks=pytest.mark.slow,
        ),
        (
            "alerts",
            ["refused: lod > 0.9: lod is not declared; did you mean load?", "503 rules", "did you mean hostname?"],
        ),
        ("searches", ["listing 101 interests ann, eva", "'count': [1, 1, 1, 2, 1]", "no single value of price"]),
    ],
)
def test_examples(name, lines):
    done = subprocess.run([sys.executable, ROOT / "examples" / f"{name}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for line in lines:
        assert line in done.stdout, done.stdout


QUICK_JAVA = os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A Java that starts quickly, and does not optimize what runs once."""


def test_the_example_of_the_demo():
    console = Console(width=110, record=True, file=io.StringIO())
    example.show(console)
    assert "matches ['mall-42']" in console.export_text()


@pytest.mark.slow
@pytest.mark.spark
def test_demo(tmp_path):
    """In a process of its own: it ends by stopping Spark."""
    code = (
        "from pathlib import Path; from rich.console import Console; from tellwhen.demo import example, pipeline;"
        "console = Console(width=110); example.show(console);"
        f"pipeline.show(console, Path({str(tmp_path / 'out')!r}), 3000, 200)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=400, env=QUICK_JAVA)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "matches ['mall-42']" in done.stdout
    assert "agrees on 20 books" in done.stdout
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    found = {row[1].strip(): row[2].strip().replace(",", "") for row in rows}
    assert int(found["subscriptions"]) + int(found["rows in quarantine"]) == 3000
    assert int(found["rows in quarantine"]) > 5
    assert int(found["matches"]) > 1000
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 5
    assert "http://" not in page
    assert "https://" not in page


def test_the_demo_says_at_once_what_to_install(monkeypatch):
    monkeypatch.setattr("tellwhen.demo.find_spec", lambda name: None if name in ("altair", "pyspark") else name)
    started = []
    monkeypatch.setattr("tellwhen.demo.example.show", started.append)
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "the demo needs altair, pyspark: `pip install 'tellwhen[demo]'`" in result.output
    assert started == []


def test_without_a_java_the_demo_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("tellwhen.spark.sessions.bundled_java", lambda: None)
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "Spark needs Java" in result.output


def test_version():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tellwhen {tw.__version__}\n"


def test_engines_are_listed():
    result = CliRunner().invoke(app, ["engines"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.split("│")] for line in result.stdout.splitlines() if line.startswith("│")]
    takes = {row[1]: row[3] for row in rows}
    assert takes["counting"] == "a normal form"
    assert takes["auto"] == takes["scan"] == "any expression"
