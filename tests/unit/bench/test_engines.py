"""Is every engine of the package measured?"""

import pytest
from bench.engines import ENTRIES, list_overview_engines, parse_engine_names

import tellwhen as tw

pytestmark = pytest.mark.late


def test_every_engine_has_a_bench_entry():
    """One line in bench/engines.py. auto is a choice among the others."""
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert {info.name for info in tw.list_engines()} - {"auto"} <= set(names)
    assert {"scan", "counting"} <= set(list_overview_engines())
    assert parse_engine_names("scan, counting,") == ["scan", "counting"]
    with pytest.raises(ValueError, match="there is no engine fast; there are .*auto"):
        parse_engine_names("scan,fast")
