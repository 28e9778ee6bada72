"""Version and list of engines on the command line."""

from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app


def test_version():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tellwhen {tw.__version__}\n"


def test_engines_are_listed():
    result = CliRunner().invoke(app, ["engines"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.split("│")] for line in result.stdout.splitlines() if line.startswith("│")]
    takes = {row[1]: row[3] for row in rows}
    assert takes["counting"] == "a normal form"
    assert takes["auto"] == takes["scan"] == "any expression"
