"""Helpers of several test modules of `tests/spark`: subscriptions with payloads, and small DataFrames."""

SUBSCRIPTIONS = [
    ("a", "x > 1", '{"tenant":7,"tags":["p"]}'),
    ("b", "y = 'q'", None),
    ("c", "x + z > 2", '{"tenant":8}'),
]


def make_subscriptions(spark, pairs, kind="string"):
    return spark.createDataFrame(list(pairs), f"id {kind}, expression string")


def make_events(spark, *rows):
    return spark.createDataFrame(list(enumerate(rows)), "event_id int, attributes map<string, string>")


def collect_ids(frame):
    return sorted(row.subscription_id for row in frame.collect())
