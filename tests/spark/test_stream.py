"""Does a stream lose or repeat nothing, and see new versions without a restart?"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tellwhen as tw
from tellwhen import spark as tws

pytestmark = pytest.mark.spark

EVENT = "event_id long, attributes map<string, string>"
CHANGE = "operation string, id string, expression string, at int"


def drop_file(folder, name, rows):
    """A file that appears whole."""
    folder.mkdir(exist_ok=True)
    aside = folder.parent / f".{name}"
    aside.write_text("\n".join(json.dumps(row) for row in rows))
    aside.rename(folder / f"{name}.json")


def read_matches(spark, folder):
    rows = [
        tuple(row) for row in spark.read.schema("event_id long, subscription_id string").parquet(str(folder)).collect()
    ]
    assert len(rows) == len(set(rows))
    return set(rows)


def count_cached_frames(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def read_stream(spark, folder, schema=EVENT):
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def write_stream(frame, tmp_path, **trigger):
    return (
        frame.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(**trigger).start()
    )  # fmt: skip


@pytest.mark.parametrize("plan", [pytest.param("local", marks=pytest.mark.slow), "routed"])
def test_a_new_version_is_seen_without_a_restart(spark, tmp_path, plan):
    index = tmp_path / "index"
    tws.build(spark.createDataFrame([("a", "x = 1"), ("b", "y = 1")], "id string, expression string"), index, shards=2)
    drop_file(tmp_path / "in", "1", [{"event_id": 1, "attributes": {"x": "1"}}])
    matches = tws.match(read_stream(spark, tmp_path / "in"), index, plan=plan)
    query = write_stream(matches, tmp_path, processingTime="100 milliseconds")
    try:
        query.processAllAvailable()
        assert read_matches(spark, tmp_path / "out") == {(1, "a")}
        changes = [("remove", "a", None), ("add", "c", "x = 1 AND brand_new = 'yes'"), ("add", "d", "x >= 1")]
        tws.update(spark.createDataFrame(changes, "operation string, id string, expression string"), index)
        drop_file(tmp_path / "in", "2", [{"event_id": 2, "attributes": {"x": "1", "brand_new": "yes", "y": "bad"}}])
        query.processAllAvailable()
        assert read_matches(spark, tmp_path / "out") == {(1, "a"), (2, "c"), (2, "d")}
        assert query.lastProgress["observedMetrics"]["tellwhen"]["undefined"] == 1
    finally:
        query.stop()


def test_a_stream_of_changes(spark, tmp_path):
    index = tmp_path / "index"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), index)
    drop_file(tmp_path / "changes", "1", [
        {"operation": "add", "id": "b", "expression": "x = 'old'", "at": 1},
        {"operation": "add", "id": "b", "expression": "x >= 1", "at": 2},
        {"operation": "remove", "id": "a", "at": 1},
        {"operation": "add", "id": "broken", "expression": "x ==", "at": 1},
    ])  # fmt: skip
    stream = read_stream(spark, tmp_path / "changes", CHANGE)
    options = {"checkpoint": tmp_path / "follow", "prefer": "at", "trigger": {"availableNow": True}}
    before = count_cached_frames(spark)
    tws.follow(stream, index, **options).awaitTermination()
    assert count_cached_frames(spark) == before
    event = spark.createDataFrame([(1, {"x": "1"})], EVENT)
    assert {row.subscription_id for row in tws.match(event, index).collect()} == {"b"}
    (bad,) = [row for row in spark.read.parquet(str(index / "quarantine")).collect() if row.id == "broken"]
    assert (bad.position, bad.version) == (2, 2)
    last = tws.list_versions(index)[-1]
    assert (last.version, last.quarantined) == (2, 2)
    drop_file(tmp_path / "changes", "2", [{"operation": "add", "id": "c", "expression": "x IS NOT NULL", "at": 3}])
    tws.follow(stream, index, **options).awaitTermination()
    assert {row.subscription_id for row in tws.match(event, index).collect()} == {"b", "c"}
    last = tws.list_versions(index)[-1]
    assert last.version == 3
    assert last.applied == {str(tmp_path / "follow"): 1}
    # A batch that was applied before the crash, but not noted in the checkpoint, is not applied again.
    for done in (tmp_path / "follow" / "commits").glob("*1*"):
        done.unlink()
    tws.update(spark.createDataFrame([("remove", "c", None)], "operation string, id string, expression string"), index)
    tws.follow(stream, index, **options).awaitTermination()
    assert {row.subscription_id for row in tws.match(event, index).collect()} == {"b"}


def test_a_checkpoint_may_be_on_another_file_system(spark, tmp_path):
    index = tmp_path / "index"
    tws.build(spark.createDataFrame([("a", "x = 1")], "id string, expression string"), index)
    stream = read_stream(spark, tmp_path, CHANGE)
    # Spark itself says that it does not know the file system.
    with pytest.raises(Exception, match="(?s)nowhere") as caught:
        tws.follow(stream, index, checkpoint="nowhere://lake/follow", prefer="at")
    assert not isinstance(caught.value, tw.TellwhenError)
    with pytest.raises(tw.FormatError, match="file: URL without a host"):
        tws.follow(stream, index, checkpoint="file://host/follow", prefer="at")


STREAM = """
import sys
from tellwhen import spark as tws
folder = sys.argv[1]
spark = tws.start_session("stream", master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
events = spark.readStream.schema("event_id long, attributes map<string, string>").option("maxFilesPerTrigger", 1)
matches = tws.match(events.json(folder + "/in"), folder + "/index")
query = (matches.writeStream.format("parquet").option("path", folder + "/out")
         .option("checkpointLocation", folder + "/checkpoint").trigger(processingTime="0 seconds").start())
print("started", flush=True)
query.processAllAvailable()
print("done", flush=True)
query.stop()
spark.stop()
"""


@pytest.mark.slow
def test_a_killed_stream_loses_and_repeats_nothing(spark, tmp_path):
    rng = random.Random(2)
    subs = [(f"s{i}", f"x = {i % 7} AND y >= {i % 5}") for i in range(300)]
    tws.build(spark.createDataFrame(subs, "id string, expression string"), tmp_path / "index", shards=2)
    values = [{"x": str(rng.randint(0, 8)), "y": str(rng.randint(0, 6))} for _ in range(400)]
    rows = [{"event_id": i, "attributes": value} for i, value in enumerate(values)]
    for part in range(20):
        drop_file(tmp_path / "in", f"{part:02d}", rows[part * 20 : part * 20 + 20])
    events = spark.createDataFrame(list(enumerate(values)), EVENT)
    want = {tuple(row) for row in tws.match(events, tmp_path / "index").collect()}
    (tmp_path / "stream.py").write_text(STREAM)
    command = [sys.executable, str(tmp_path / "stream.py"), str(tmp_path)]
    killed = 0
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        assert process.stdout.readline() == b"started\n"
        commits = tmp_path / "checkpoint" / "commits"
        before = len(list(commits.glob("*"))) if commits.exists() else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if commits.exists() and len(list(commits.glob("[0-9]*"))) >= before + 3:
                break
            time.sleep(0.02)
        time.sleep(rng.random() * 0.3)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed += 1
    assert killed == 2
    finished = subprocess.run(command, capture_output=True, timeout=180, check=True)
    assert b"done" in finished.stdout
    assert read_matches(spark, tmp_path / "out") == want
    assert len(want) > 1000
    assert Path(tmp_path / "index" / "pins").exists()
