"""Do the examples on Spark run, and say what they should?"""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_pipeline(spark, monkeypatch, capsys):
    """In the session of all tests, which it must not stop."""
    stopped = []
    monkeypatch.setattr(type(spark), "stop", lambda session: stopped.append(session))
    runpy.run_path(str(EXAMPLES / "pipeline.py"))
    assert stopped == [spark]
    printed = capsys.readouterr().out
    for line in (
        "in quarantine: [('carl', 'expected a constant or an attribute, found the end of the text')]",
        "matches: [(1, 'anna'), (2, 'ben')]",
        "after the update: [(2, 'ben'), (2, 'dora')]",
    ):
        assert line in printed
