"""Do the demo and the examples on Spark run, and say what they should? The others: `tests/unit/examples`."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.late]

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

SAID = {
    "pipeline.py": (
        "in quarantine: [('carl', 'expected a constant or an attribute, found the end of the text')]",
        "matches: [(1, 'anna'), (2, 'ben')]",
        "after the update: [(2, 'ben'), (2, 'dora')]",
    ),
    "fraud.py": (
        "typo: amout > 1000: amout is not declared; did you mean amount?",
        "version 1: 2005 rules",
        "no event has attempts; did you mean n_attempts?",
        "5000 payments, 173 matches",
        "the first 1000 have 32 matches",
        "version 2: 1 change was not applied; 906 matches",
        "back to version 1: 173 matches",
        "2005 rules: [('blocked net', 9.0), ('night', 3.0)]",
    ),
}


SLOW = {"fraud.py"}
"""Its guide tells the same story, and is not slow."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SAID])
def test_an_example(name, spark, monkeypatch, capsys, tmp_path):
    """In the session of all tests, which it must not stop."""
    monkeypatch.chdir(tmp_path)
    stopped = []
    monkeypatch.setattr(type(spark), "stop", lambda session: stopped.append(session))
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert stopped == [spark]
    printed = capsys.readouterr().out
    for line in SAID[name]:
        assert line in printed


QUICK_JAVA = os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A Java that starts quickly, and does not optimize what runs once."""


@pytest.mark.slow
def test_demo(tmp_path):
    """In a process of its own: it ends by stopping Spark."""
    code = (
        "from pathlib import Path; from rich.console import Console; from tellwhen import demo;"
        f"demo.run(Console(width=110), Path({str(tmp_path / 'out')!r}), 3000, 500)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=400, env=QUICK_JAVA)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    for part in ("It satisfies", "price is 640", "rows are in quarantine", "times as fast", "Engines on"):
        assert part in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 6
    assert "http://" not in page
    assert "https://" not in page
