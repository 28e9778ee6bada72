"""Do the commands of `python -m bench` work, and reject wrong arguments?"""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from bench.commands import app
from bench.registry import EXPERIMENTS
from typer.testing import CliRunner

from support import ROOT

pytestmark = pytest.mark.late


def test_the_command_line(tmp_path, monkeypatch):
    runner = CliRunner()
    listed = runner.invoke(app, ["list"], env={"COLUMNS": "200"})
    assert "ranked-table2" in listed.output
    assert "scored-segment-tree" in listed.output
    done = runner.invoke(app, ["run", "betree-fig13", "--scale", "0.001", "--repeat", "2",
                               "--folder", str(tmp_path), "--engines", "scan"])  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = json.loads((tmp_path / "betree-fig13.json").read_text())
    assert saved["points"][0]["engines"]
    assert "\n".join(json.dumps(point) for point in saved["points"][:1]) in (tmp_path / "betree-fig13.json").read_text()
    page = runner.invoke(app, ["report", "--folder", str(tmp_path), "--to", str(tmp_path / "p.html")])
    assert page.exit_code == 0, page.output
    assert "betree-fig13" in page.output
    none = str(tmp_path / "none")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "betree-fig5.json").write_text("[1]")
    for wrong in (
        ["run", "betree-fig5", "--scale", "0"],
        ["run", "betree-fig5", "--folder", str(tmp_path / "bad")],
        ["report", "--folder", str(tmp_path / "bad")],
        ["run", "betree-fig99"],
        ["run", "betree-fig5", "--engines", "fast"],
        ["report", "--folder", none],
        ["compare", str(tmp_path), none],
    ):
        assert runner.invoke(app, wrong).exit_code == 2
    monkeypatch.setitem(EXPERIMENTS, "ranked-fig7", replace(EXPERIMENTS["ranked-fig7"], engines=("not-yet",)))
    waiting = runner.invoke(app, ["run", "ranked-fig7", "--folder", str(tmp_path)])
    assert "ranked-fig7: waits for not-yet" in waiting.output.replace("\n", " ")


def test_the_module_runs_from_a_checkout():
    done = subprocess.run([sys.executable, "-m", "bench", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "python -m bench" in done.stdout) == (0, True), done.stderr
