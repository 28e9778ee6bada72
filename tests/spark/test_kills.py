"""Does a kill, of a build or of an executor, leave what was there, or give the complete result?"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from support import expire_leases
from tellwhen import spark as tws

pytestmark = pytest.mark.spark

BUILD = """
import sys
from tellwhen import spark as tws
spark = tws.start_session("build", master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
path = sys.argv[1]
for generation in range(100):
    subs = spark.range(20000).selectExpr("id", f"concat('x = ', id % 100, ' AND g = {generation}') as expression")
    print("building", flush=True)
    tws.build(subs, path, shards=3, keep=1)
"""


def collect_matches(spark, path):
    event = spark.createDataFrame(
        [(g, {"x": "7", "g": str(g)}) for g in range(100)], "event_id int, attributes map<string, string>"
    )
    return tws.match(event, path).groupBy("event_id").count().collect()


@pytest.mark.slow
def test_a_killed_build_leaves_the_previous_version(spark, tmp_path):
    rng = random.Random()
    (tmp_path / "build.py").write_text(BUILD)
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "build.py"), str(tmp_path / "i")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        for _ in range(2):
            assert process.stdout.readline() == b"building\n"
        time.sleep(rng.random() * 4)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (row,) = collect_matches(spark, tmp_path / "i")
        assert row["count"] == 200
        assert tws.list_versions(tmp_path / "i")[-1].subscriptions == 20_000
    # What the dead left behind goes away with the next commit; and, once nobody uses them, all older versions.
    expire_leases(tmp_path / "i")
    tws.build(spark.createDataFrame([(1, "x = 7")], "id int, expression string"), tmp_path / "i", keep=0)
    kinds = sorted(p.name.split("-")[0] for p in (tmp_path / "i").iterdir())
    assert kinds == ["current.json", "dictionary", "leases", "lock", "routing", "shard", "versions"]


@pytest.mark.parametrize(
    "step",
    [
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("make_dictionary", "place_blocks")),
        "run_tasks",
        "commit",
        "list_shards",
    ],
)
def test_a_build_that_stops_anywhere(spark, tmp_path, monkeypatch, step):
    path = tmp_path / "i"
    subs = spark.createDataFrame([("a", "x = 7")], "id string, expression string")
    tws.build(subs, path)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"tellwhen.spark.builds.{step}", stop)
    with pytest.raises(KeyboardInterrupt):
        tws.build(subs, path)
    assert [version.version for version in tws.list_versions(path)] == [1]
    assert not list(path.glob("staging-*"))
    event = spark.createDataFrame([(0, {"x": "7"})], "event_id int, attributes map<string, string>")
    assert tws.match(event, path).count() == 1


CLUSTER = """
import os, signal, subprocess, sys, threading, time
from tellwhen import spark as tws
path = sys.argv[1]
spark = tws.start_session("cluster", master="local-cluster[2,1,1024]", config={
    "spark.sql.shuffle.partitions": "4", "spark.executor.memory": "1g", "spark.ui.enabled": "false"})
subs = spark.range(20000).selectExpr("id", "concat('x = ', id % 100) as expression")
tws.build(subs, path, shards=4)
events = spark.range(0, 40000, 1, 24).selectExpr("id as event_id", "map('x', cast(id % 200 as string)) as attributes")
def kill():
    time.sleep(4)
    pattern = "CoarseGrainedExecutorBackend.*--executor-id 0"
    found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True)
    pids = [int(pid) for pid in found.stdout.split() if int(pid) != os.getpid()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    print("killed", len(pids), flush=True)
from pyspark.sql import functions as F
slow = events.mapInArrow(lambda batches: (__import__("time").sleep(0.5) or batch for batch in batches), events.schema)
for plan in ("local", "routed"):
    if plan == "local":
        threading.Thread(target=kill).start()
    found = tws.match(slow, path, plan=plan)
    rows = found.agg(F.count("*"), F.countDistinct("event_id", "subscription_id")).collect()[0]
    print(plan, rows[0], rows[1], flush=True)
spark.stop()
"""


@pytest.mark.slow  # a minute and a half: a cluster of processes has to start
def test_a_killed_executor_costs_nothing_but_time(tmp_path):
    (tmp_path / "cluster.py").write_text(CLUSTER)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "cluster.py"), str(tmp_path / "i")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout.splitlines()
    assert "killed 1" in said
    assert "local 4000000 4000000" in said
    assert "routed 4000000 4000000" in said
