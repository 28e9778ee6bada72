"""Fraud rules on Spark: from raw text to matches, a stream, new versions, and back. `python examples/fraud.py`

The guide to it is docs/howto/fraud.md.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import tellwhen as tw
from tellwhen import spark as tws

SCHEMA = tw.Schema(
    {
        "amount": "float", "hour": "int", "category": "string", "card_country": "string", "shop_country": "string",
        "account_age_days": "int", "attempts": "int", "ip": "string", "merchant": "int",
    },
    strict=True,
)  # fmt: skip
COUNTRIES, CATEGORIES = ["DE", "FR", "IT", "BR"], ["shoes", "books", "voucher", "gift card"]
RULES, PAYMENTS = 2_000, 5_000

WRITTEN = [
    ("night", "amount > 500 AND hour NOT BETWEEN 6 AND 22", 3.0),
    ("abroad", "card_country <> shop_country AND amount > 900", 5.0),
    ("young account", "account_age_days < 3 AND amount > 300", 4.0),
    ("gift cards", "category IN ('gift card', 'voucher') AND amount * attempts > 2000", 8.0),
    ("blocked net", "ip IN CIDR '203.0.113.0/24'", 9.0),
    ("no comma", "amount > 1,000", 2.0),
    ("typo", "amout > 1000", 2.0),
]
"""Rules of analysts with their severities. Two are broken."""

COLUMNS = (
    "payment long, amount double, hour int, category string, card_country string, shop_country string, "
    "account_age_days int, attempts int, ip string, merchant int"
)


def rules(spark: SparkSession, rng: random.Random) -> DataFrame:
    """The rules of analysts, and one for each merchant."""
    own = [
        (f"merchant-{n}", f"merchant = {n} AND amount > {rng.randint(500, 2000)}", round(rng.random() * 3, 2))
        for n in range(RULES)
    ]
    return spark.createDataFrame([*WRITTEN, *own], "id string, expression string, severity double")


def payment(number: int, rng: random.Random) -> tuple[Any, ...]:
    """One payment."""
    home = rng.choice(COUNTRIES)
    return (
        number,
        round(rng.lognormvariate(4, 1.2), 2),
        rng.randint(0, 23),
        rng.choice(CATEGORIES),
        home,
        home if rng.random() < 0.9 else rng.choice(COUNTRIES),
        rng.randint(0, 1000),
        rng.choice([1, 1, 1, 2, 6]),
        f"{'203.0.113' if rng.random() < 0.01 else '192.0.2'}.{rng.randint(1, 250)}",
        rng.randint(0, RULES),
    )


def count_streamed_matches(payments: DataFrame, folder: Path) -> int:
    """Match a folder of JSON files as a stream, to its end; return the number of matches."""
    payments.write.mode("overwrite").json(f"{folder}/in")
    stream = payments.sparkSession.readStream.schema(payments.schema).json(f"{folder}/in")
    matches = tws.match(stream, folder / "index", event_id="payment", attributes=payments.columns[1:])
    query = (
        matches.writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return payments.sparkSession.read.parquet(f"{folder}/out").count()


def print_most_severe(payments: DataFrame, index: Path) -> None:
    """Print the payments with the most severe rules."""
    worst = tws.top_k(payments, index, k=1, event_id="payment", attributes=payments.columns[1:])
    for row in worst.orderBy(F.desc("score"), "payment").limit(3).collect():
        print(f"  payment {row.payment}: {row.subscription_id}, {row.score}")


def match_in_process(index: Path, given: dict[str, Any]) -> None:
    """Match one payment without Spark, as a service does that authorises it: open the same files."""
    opened = tw.Index.load(index)
    print(f"in one process, {len(opened)} rules: {opened.top_k(given, k=2)} for {json.dumps(given)}")
    print(opened.explain("abroad", given))


def run(spark: SparkSession, folder: Path) -> None:
    """The life of an index: ingest, profile, build, match, rank, stream, update, roll back."""
    rng = random.Random(7)
    index = folder / "index"
    subscriptions, quarantined = tws.ingest(rules(spark, rng), score="severity", schema=SCHEMA)
    print("in quarantine:")
    for bad in quarantined.orderBy("id").collect():
        print(f"  {bad.id}: {bad.reason}")

    payments = spark.createDataFrame([payment(n, rng) for n in range(PAYMENTS)], COLUMNS)
    attributes = payments.columns[1:]
    profile = tws.profile(subscriptions, payments.sample(fraction=0.2, seed=1), attributes=attributes)
    version = tws.build(subscriptions, index, profile=profile)
    subscriptions.unpersist()
    print(f"version {version.version}: {version.subscriptions} rules in {len(version.shards)} shards")

    renamed = payments.where("payment < 100").withColumnRenamed("attempts", "n_attempts")
    print(f"after a column is renamed: {tws.check_attributes(renamed, index, event_id='payment', attributes=None)}")

    matches = tws.match(payments, index, event_id="payment", attributes=attributes)
    print(f"{PAYMENTS} payments, {matches.count()} matches; the most severe:")
    print_most_severe(payments, index)
    streamed = count_streamed_matches(payments.where("payment < 1000"), folder)
    print(f"as a stream, the first 1000 have {streamed} matches")

    changes = spark.createDataFrame(
        [
            ("add", "night", "amount > 50 AND hour NOT BETWEEN 6 AND 22", 3.0),  # far too many
            ("remove", "young account", None, None),
            ("add", "broken", "amount >", 1.0),
        ],
        "operation string, id string, expression string, severity double",
    )
    version = tws.update(changes, index, score="severity")
    now = tws.match(payments, index, event_id="payment", attributes=attributes).count()
    print(f"version {version.version}: {version.quarantined} change was not applied; {now} matches")
    tws.rollback(index, 1)
    back = tws.match(payments, index, event_id="payment", attributes=attributes).count()
    print(f"back to version 1: {back} matches")
    match_in_process(
        index, {"amount": 950.0, "card_country": "DE", "shop_country": "DE", "ip": "203.0.113.9", "hour": 4}
    )


def main() -> None:
    spark = tws.start_session("fraud", master="local[2]")
    with tempfile.TemporaryDirectory() as folder:
        run(spark, Path(folder))
    spark.stop()


if __name__ == "__main__":
    main()
