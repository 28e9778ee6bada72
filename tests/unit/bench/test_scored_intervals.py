"""Are structures of scored intervals measured and checked?"""

import pytest
from bench.registry import EXPERIMENTS
from bench.runner import run

from bench_support import QUICK_SETTINGS

pytestmark = pytest.mark.late


@pytest.mark.slow
def test_structures_of_scored_intervals_are_measured(tmp_path):
    found = run(
        EXPERIMENTS["ranked-table2"], tmp_path, QUICK_SETTINGS, print, ["sopt-r-tree", "scored-segment-tree", "scan"]
    )
    good, other, wrong = found.rows
    assert (good["status"], other["status"], wrong["status"]) == ("ok", "ok", "failed")
    assert 0 < good["match"] < 1000
    assert good["relative"] == 1
    assert good["beyond"] < good["index"] < other["index"] == other["beyond"]
    found = run(EXPERIMENTS["ranked-fig9"], tmp_path, QUICK_SETTINGS, print, ["ir-tree"])
    assert [row["x"] for row in found.rows] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert all(row["status"] == "ok" and row["matches"] == 20 < row["candidates"] for row in found.rows)
