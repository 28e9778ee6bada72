"""Is Table 3 of the PS-Tree paper measured with all structures, on many values and on few?"""

import pytest
from bench.registry import EXPERIMENTS

pytestmark = pytest.mark.late

STRUCTURES = ["ps-tree", "sorted-spaces", "segment-tree", "interval-tree", "scan"]


def test_all_structures_are_counted_and_listed():
    rows = EXPERIMENTS["pstree-table3"].rows(scale=0.0)
    variants = {row["variant"] for row in rows}
    assert variants == {"counted", "listed", "counted, 1,000 values", "listed, 1,000 values"}
    for variant in variants:
        found = {row["engine"]: row for row in rows if row["variant"] == variant}
        assert sorted(found) == sorted(STRUCTURES)
        assert all(row["status"] == "ok" and row["match"] > 0 for row in found.values())
        assert found["scan"]["index"] == 16  # bytes: two ends
        assert found["ps-tree"]["index"] > found["sorted-spaces"]["index"] > found["segment-tree"]["index"]
