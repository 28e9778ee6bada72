"""Do the examples on Spark run, and say what they should? The others are in `tests/unit/test_scripts.py`."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

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
