"""Are structures of scored intervals measured and checked?"""

import pytest
from bench.registry import EXPERIMENTS
from bench.runner import run

from bench_support import QUICK_SETTINGS

pytestmark = pytest.mark.late


@pytest.mark.slow
def test_structures_of_scored_intervals_are_measured(tmp_path):
    figures = [EXPERIMENTS["ranked-table2"]]
    [found] = run(figures, tmp_path, QUICK_SETTINGS, print, ["sopt-r-tree", "scored-segment-tree", "scan"])
    good, other, wrong = found.rows[:3]
    assert (good["status"], other["status"], wrong["status"]) == ("ok", "ok", "failed")
    assert 0 < good["match"] < 1000
    assert good["relative"] == 1
    assert good["beyond"] < good["index"] < other["index"] == other["beyond"]
    [found] = run([EXPERIMENTS["ranked-fig9"]], tmp_path, QUICK_SETTINGS, print, ["ir-tree"])
    assert [row["x"] for row in found.rows] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert all(row["status"] == "ok" and row["matches"] == 20 < row["candidates"] for row in found.rows)
    # A cursor is called for each stabbed interval at most, and once more at its end.
    assert all(row["candidates"] <= row["stabbed"] + 4 for row in found.rows)
    assert found.rows[0]["stabbed"] > 2 * found.rows[-1]["stabbed"]


def test_points_with_fewer_intervals_than_in_the_paper_are_not_comparable():
    for name in ("ranked-fig6", "ranked-fig7", "ranked-fig8", "ranked-fig9"):
        assert all(point.comparable and point.count == 1_000_000 for point in EXPERIMENTS[name].points(1.0))
        assert not any(point.comparable for point in EXPERIMENTS[name].points(0.1))
    table = EXPERIMENTS["ranked-table2"]
    assert {key[1] for key in table.paper_values} == {point.x for point in table.points(1.0)}
    assert table.paper_values["", 1_000_000, "ir-tree"] == 16.5
