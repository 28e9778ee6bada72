"""Does the number of tasks follow the cores and the settings?"""

import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.spark.blocks import compile_blocks
from tellwhen.spark.tasks import count_cores, count_partitions
from tellwhen.warehouse.commits import open_staging

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("configured", "expected"), [pytest.param("200", None, marks=pytest.mark.slow), ("5", 5)])
def test_the_number_of_partitions_is_ours(spark, tmp_path, configured, expected):
    """A session with default settings does not make 200 of everything."""
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", configured)
    try:
        expected = expected or 2 * count_cores(spark)
        assert count_partitions(spark) == expected
        raw = spark.range(0, 300, 1, 50).selectExpr("id", "concat('x = ', id) AS expression")
        subs, _ = tws.ingest(raw)
        assert subs.rdd.getNumPartitions() == expected
        subs.unpersist()
        with open_staging(tmp_path / "i") as staged:
            assert len(compile_blocks(raw, staged, tw.Schema())) == expected
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", usual)
