"""The data pipeline: DataFrames of subscriptions and events in, DataFrames of matches out, at any size.

from tellwhen import spark as tws

spark = tws.session("demo")
subs, quarantined = tws.ingest(raw)
version = tws.build(subs, "warehouse/index")
matches = tws.match(events, "warehouse/index")
"""

from importlib.util import find_spec

from tellwhen.errors import SparkSetupError

if find_spec("pyspark") is None:
    raise SparkSetupError("PySpark is not installed: `pip install tellwhen[spark]`")


from tellwhen.spark.build import build
from tellwhen.spark.generate import generate
from tellwhen.spark.ingest import ingest
from tellwhen.spark.match import match, matching
from tellwhen.spark.profile import frames, profile
from tellwhen.spark.session import session
from tellwhen.spark.sql import register
from tellwhen.spark.stream import follow
from tellwhen.spark.update import update
from tellwhen.spark.warehouse import Shard, Version, rollback, versions

__all__ = [
    "Shard",
    "Version",
    "build",
    "follow",
    "frames",
    "generate",
    "ingest",
    "match",
    "matching",
    "profile",
    "register",
    "rollback",
    "session",
    "update",
    "versions",
]
