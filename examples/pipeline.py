"""The pipeline on Spark in a minute: ingest, build, match, update, match again, and open the index without Spark."""

import tempfile

import tellwhen as tw
from tellwhen import spark as tws

spark = tws.start_session("example", master="local[2]")
folder = tempfile.mkdtemp()

raw = spark.createDataFrame(
    [
        ("anna", "genre = 'crime' AND price < 20"),
        ("ben", "title CONTAINS 'sea' OR ranking <= 3"),
        ("carl", "price <"),  # broken
    ],
    "id string, expression string",
)
subs, quarantined = tws.ingest(raw, schema={"price": "float", "ranking": "int"})
print("in quarantine:", [(row.id, row.reason) for row in quarantined.collect()])

version = tws.build(subs, f"{folder}/index")
print("built:", version.subscriptions, "subscriptions in", len(version.shards), "shards")
subs.unpersist()

events = spark.createDataFrame(
    [
        (1, {"genre": "crime", "price": "12.50", "title": "the long night"}),
        (2, {"genre": "travel", "price": "30", "title": "a sea of islands", "ranking": "40"}),
    ],
    "event_id int, attributes map<string, string>",
)
print("matches:", sorted(tuple(row) for row in tws.match(events, f"{folder}/index").collect()))

changes = spark.createDataFrame(
    [("add", "dora", "ranking BETWEEN 20 AND 50"), ("remove", "anna", None), ("add", "emil", "ranking =")],
    "operation string, id string, expression string",
)
version = tws.update(changes, f"{folder}/index")
print("not applied:", version.quarantined)
print("after the update:", sorted(tuple(row) for row in tws.match(events, f"{folder}/index").collect()))
spark.stop()

index = tw.Index.load(f"{folder}/index")
print("without Spark:", sorted(index.match({"title": "the sea", "ranking": 40})))
