"""RAW ROWS -> ingest -> profile -> build -> VERSION -> match -> MATCHES: the pipeline on Spark, at any size.

    from tellwhen import spark as tws

    spark = tws.session("demo")
    subs, quarantined = tws.ingest(raw)
    version = tws.build(subs, "warehouse/index")
    matches = tws.match(events, "warehouse/index")

Every stage takes and returns DataFrames. `docs/spark.md` describes them one by one.
"""

from importlib.util import find_spec

from tellwhen.errors import SparkSetupError

if find_spec("pyspark") is None:
    raise SparkSetupError("PySpark is not installed: `pip install tellwhen[spark]`")


from tellwhen.spark.building import build
from tellwhen.spark.generating import generate
from tellwhen.spark.ingesting import ingest
from tellwhen.spark.matcher import explain, match, matching
from tellwhen.spark.profiling import frames, profile
from tellwhen.spark.ranking import top_k
from tellwhen.spark.sessions import session
from tellwhen.spark.sql import register
from tellwhen.spark.stream import follow
from tellwhen.spark.unmatched import unmatched_attributes
from tellwhen.spark.updating import update
from tellwhen.warehouse.commits import rollback
from tellwhen.warehouse.versions import ShardInfo, Version, versions

__all__ = [
    "ShardInfo",
    "Version",
    "build",
    "explain",
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
    "top_k",
    "unmatched_attributes",
    "update",
    "versions",
]
