"""Does the pipeline run on Spark Connect, where there is no SparkContext?"""

import subprocess
import sys

import pytest

from tellwhen.spark.tasks import count_cores

pytestmark = pytest.mark.spark

CONNECT = """
import sys
from tellwhen import spark as tws
path = sys.argv[1]
spark = tws.start_session("connect", config={"spark.remote": "local[2]", "spark.sql.shuffle.partitions": "2"})
rows = [("a", "x = 1"), ("b", "y = 'foo'"), ("c", "x ="), ("d", "x >= 1 OR z")]
subs, bad = tws.ingest(spark.createDataFrame(rows, "id string, expression string"))
events = spark.createDataFrame([(1, {"x": "1"}), (2, {"y": "foo", "x": "bad"})],
                               "event_id int, attributes map<string, string>")
def show(name, frame):
    print(name, sorted(tuple(row) for row in frame.collect()), flush=True)
show("bad", bad.select("id"))
tws.build(subs, path, profile=tws.profile(subs, events), shards=2)
for plan in ("local", "routed"):
    show(plan, tws.match(events, path, plan=plan))
tws.update(spark.createDataFrame([("remove", "a", None)], "operation string, id string, expression string"), path)
show("updated", tws.match(events, path))
tws.register_functions(spark)
events.createOrReplaceTempView("events")
show("sql", spark.sql(f"SELECT * FROM tellwhen_match(TABLE(events), '{path}')"))
spark.stop()
"""


@pytest.mark.slow
def test_every_stage_on_spark_connect(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    (tmp_path / "connect.py").write_text(CONNECT)
    command = [sys.executable, str(tmp_path / "connect.py"), str(tmp_path / "i")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-9000:]
    both = [(1, "a"), (1, "d"), (2, "b")]
    assert done.stdout.splitlines() == [
        "bad [('c',)]", f"local {both}", f"routed {both}", f"updated {both[1:]}", "sql [('1', 'd'), ('2', 'b')]",
    ]  # fmt: skip


def test_cores_without_a_context(spark):
    """Spark Connect has none."""

    class WithoutContext:
        range = spark.range

    assert count_cores(WithoutContext()) == count_cores(spark) == 2
