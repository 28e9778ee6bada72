"""Is every engine of the package measured?"""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.engines import ENTRIES, list_overview_engines, parse_engine_names

import tellwhen as tw

pytestmark = pytest.mark.late

ROOT = Path(__file__).parents[3]


def test_every_engine_has_a_bench_entry():
    """One line in bench/engines.py. auto is a choice among the others."""
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert {info.name for info in tw.list_engines()} - {"auto"} <= set(names)
    assert {"scan", "counting"} <= set(list_overview_engines())
    assert parse_engine_names("scan, counting,") == ["scan", "counting"]
    with pytest.raises(ValueError, match="there is no engine fast; there are .*auto"):
        parse_engine_names("scan,fast")


def test_engines_of_the_papers_are_known_in_a_fresh_process():
    code = "from bench.engines import parse_engine_names; print(parse_engine_names('psthash,betree:max_cap=5,auto'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("['psthash', 'betree:max_cap=5', 'auto']\n", "")
