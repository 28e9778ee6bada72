"""Does what a user runs first run?"""

import runpy
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tellwhen import demo
from tellwhen.cli import app

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda file: file.stem)
def test_examples(file, capsys):
    runpy.run_path(str(file), run_name="__main__")
    out = capsys.readouterr().out
    assert "one event: ['mall-42']" in out
    assert "{'event': 0, 'subscription': 'mall-42'}" in out
    assert "loaded: ['ops-7']" in out


def test_demo(monkeypatch):
    monkeypatch.setattr(demo, "SUBSCRIPTIONS", 400)
    monkeypatch.setattr(demo, "EVENTS", 200)
    console = Console(record=True, width=110, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    demo.run(console)
    shown = console.export_text()
    assert "matches ['mall-42']" in shown
    assert "agrees on 5 events" in shown
    rows = [line.split("│") for line in shown.splitlines() if line.startswith("│")]
    found = {row[1].strip(): row[3].strip() for row in rows}
    assert set(found) == {"auto", "counting", "scan"}
    assert len(set(found.values())) == 1
    assert int(found["scan"].replace(",", "")) > 0


def test_engines_are_listed():
    result = CliRunner().invoke(app, ["engines"])
    assert result.exit_code == 0
    assert "counting" in result.stdout
