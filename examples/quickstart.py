"""The first five minutes: add, match, explain, remove, save and load."""

import tempfile

import pyarrow as pa

import tellwhen as tw

index = tw.Index()
index.add("mall-42", "genre = 'classics' AND price BETWEEN 20 AND 40 AND format NOT IN ('paperback')")
index.add("ops-7", (tw.col("source") == "mobile") & ((tw.col("type") == "error") | (tw.col("level") == "critical")))

book = {"genre": "classics", "price": 26, "format": "hardcover"}
print("one event:", index.match(book))

events = pa.table({"genre": ["classics", "crime"], "price": [35.5, 12.0], "format": ["audio", None]})
print("a table:", index.match_many(events).to_pylist())

print(index.explain("mall-42", {"genre": "classics", "price": 45}))

index.remove("mall-42")
with tempfile.TemporaryDirectory() as folder:
    index.save(f"{folder}/idx")
    print("loaded:", list(tw.Index.load(f"{folder}/idx")))
