"""Are shards balanced, even if many subscriptions have the same predicate?"""

import pytest

from spark_support import collect_ids, make_events, make_subscriptions
from tellwhen import spark as tws
from tellwhen.spark.placement import distribute_to_new_shards

pytestmark = pytest.mark.spark


def test_balance():
    sizes = [int(1000 / (i + 1)) + 1 for i in range(300)]
    placed = distribute_to_new_shards(sizes, 8)
    loads = [0.0] * 8
    for size, shares in zip(sizes, placed, strict=True):
        assert abs(sum(shares.values()) - 1) < 1e-9
        for shard, share in shares.items():
            loads[shard] += size * share
    assert max(loads) / (sum(loads) / 8) < 1.1
    assert distribute_to_new_shards([], 3) == []
    assert distribute_to_new_shards([0, 1], 1) == [{0: 1.0}, {0: 1.0}]


def test_heavy_cells_are_split(spark, tmp_path):
    rows = [(f"s{i}", f"x = {i % 10}") for i in range(400)] + [("p", "y = 1"), ("q", "x = 1 OR y = 2")]
    version = tws.build(make_subscriptions(spark, rows).repartition(3), tmp_path / "i", shards=4)
    assert version.balance < 1.1
    for plan in ("local", "routed"):
        found = collect_ids(
            tws.match(make_events(spark, {"x": "3"}, {"y": "2"}, {"z": "1"}), tmp_path / "i", plan=plan)
        )
        assert found == sorted([f"s{i}" for i in range(3, 400, 10)] + ["q"])
