"""The pipeline on Spark, at any size: raw rows -> ingest -> profile -> build -> version -> match -> matches.

    from tellwhen import spark as tws

    spark = tws.start_session("demo")
    subs, quarantined = tws.ingest(raw)
    version = tws.build(subs, "warehouse/index")
    matches = tws.match(events, "warehouse/index")

Every step takes and returns DataFrames. `docs/spark.md` describes the steps.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from tellwhen.deprecation import alias_module_names
from tellwhen.errors import SparkSetupError

if find_spec("pyspark") is None:
    raise SparkSetupError("PySpark is not installed: `pip install tellwhen[spark]`")


from tellwhen.inspect.attribute_coverage import AttributeCoverage
from tellwhen.profile import Profile
from tellwhen.spark.attribute_check import check_attributes
from tellwhen.spark.builds import build
from tellwhen.spark.generation import generate
from tellwhen.spark.ingestion import ingest
from tellwhen.spark.matches import Plan, choose_plan, explain, make_matcher, match
from tellwhen.spark.profiling import convert_profile, profile
from tellwhen.spark.ranking import top_k
from tellwhen.spark.sessions import start_session
from tellwhen.spark.sql import register_functions
from tellwhen.spark.stream import follow
from tellwhen.spark.updates import update
from tellwhen.warehouse.commits import rollback
from tellwhen.warehouse.versions import ShardInfo, Version, list_versions

__all__ = [
    "AttributeCoverage",
    "Plan",
    "Profile",
    "ShardInfo",
    "SparkSetupError",
    "Version",
    "build",
    "check_attributes",
    "choose_plan",
    "convert_profile",
    "explain",
    "follow",
    "generate",
    "ingest",
    "list_versions",
    "make_matcher",
    "match",
    "profile",
    "register_functions",
    "rollback",
    "start_session",
    "top_k",
    "update",
]

if not TYPE_CHECKING:  # a type checker should report the old names
    __getattr__ = alias_module_names(
        __name__,
        {
            "frames": "tellwhen.spark.convert_profile",
            "matching": "tellwhen.spark.make_matcher",
            "register": "tellwhen.spark.register_functions",
            "session": "tellwhen.spark.start_session",
            "unmatched_attributes": "tellwhen.spark.check_attributes",
            "versions": "tellwhen.spark.list_versions",
        },
    )
