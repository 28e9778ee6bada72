"""Do the examples run, and say what they should?"""

import subprocess
import sys

import pytest

from support import ROOT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("quickstart", ["one event: ['mall-42']", "loaded: ['ops-7']"]),
        pytest.param(
            "pipeline",
            [
                "in quarantine: [('carl', 'expected a constant, found the end of the text')]",
                "matches: [(1, 'anna'), (2, 'ben')]",
                "after the update: [(2, 'ben'), (2, 'dora')]",
            ],
            marks=pytest.mark.spark,
        ),
    ],
)
def test_examples(name, said):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for line in said:
        assert line in done.stdout.splitlines()
