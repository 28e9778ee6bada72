"""Columns of DataFrames of subscriptions and events: their validation and selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    NumericType,
    ShortType,
    StringType,
    StructType,
)

from tellwhen.errors import SchemaError
from tellwhen.index.ids import Ids, IdType
from tellwhen.kernels.arrays import I32
from tellwhen.language.schema import Schema

INTEGER_TYPES = (ShortType, IntegerType, LongType)
ADD, REMOVE = "add", "remove"

SCORE, WEIGHTS_COLUMN, PAYLOAD = "score", "weights", "payload"
"""Columns of the scores, weights and payloads of subscriptions, which `ingest` writes and `build` reads."""

WEIGHTS_TYPE = "map<string,double>"

NUMBER_PATTERN = r"^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|(?i:inf|infinity|nan))\s*$"
"""Regular expression of a number in text."""

PARSED = "parsed"
"""Column of parsed expressions, which `ingest` writes and later steps read."""

SCHEMA_KEY = "tellwhen.language.schema"
"""Key of the schema in the metadata of the column `expression`, which `ingest` writes and `build` reads."""


def get_column(name: str) -> Column:
    """Return the column of exactly this name, which may contain any characters."""
    return F.col("`" + name.replace("`", "``") + "`")


def require_columns(frame: DataFrame, *names: str | None) -> None:
    """Raise SchemaError if a column is missing; ignore None."""
    for name in names:
        if name is not None and name not in frame.columns:
            raise SchemaError(f"there is no column {name!r}; there are {', '.join(frame.columns)}")


def validate_subscription_columns(frame: DataFrame, id: str = "id", expression: str = "expression") -> IdType:
    """Raise SchemaError if the columns cannot hold subscriptions; return the type of the ids."""
    require_columns(frame, id, expression)
    kind = frame.schema[id].dataType
    if not isinstance(kind, (StringType, *INTEGER_TYPES)):
        raise SchemaError(f"the ids in {id!r} are {kind.simpleString()}; they must be integers or strings")
    if not isinstance(frame.schema[expression].dataType, StringType):
        raise SchemaError(f"the expressions in {expression!r} are not strings")
    return "str" if isinstance(kind, StringType) else "int"


def select_parsed(frame: DataFrame) -> Column:
    """Select the parsed expressions; null if the DataFrame does not come from `ingest`."""
    if PARSED in frame.columns and isinstance(frame.schema[PARSED].dataType, BinaryType):
        return F.col(PARSED)
    return F.lit(None).cast(BinaryType()).alias(PARSED)


def select_scores(frame: DataFrame, name: str) -> Column:
    """Select the scores from a column of numbers or of text; null where the text is not a number."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):  # Spark would also take 1d and 1f
        return F.when(get_column(name).rlike(NUMBER_PATTERN), get_column(name).try_cast("double"))
    if isinstance(kind, NumericType):
        return get_column(name).cast("double")
    raise SchemaError(f"the scores in {name!r} are {kind.simpleString()}; they must be numbers, or text")


def select_weights(frame: DataFrame, name: str, mode: str = "PERMISSIVE") -> Column:
    """Select the weights from a column of maps, or of JSON; null where the JSON is no map to numbers."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):
        return F.from_json(get_column(name), WEIGHTS_TYPE, {"mode": mode})
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and isinstance(kind.valueType, NumericType):
        return get_column(name).cast(WEIGHTS_TYPE)
    raise SchemaError(f"the weights in {name!r} are {kind.simpleString()}; they must be map<string,double>, or JSON")


def select_scores_and_weights(frame: DataFrame) -> tuple[Column, Column]:
    """Select the scores and weights of subscriptions; null if the DataFrame has none."""
    score, weights = F.lit(None), F.lit(None)
    if SCORE in frame.columns:
        kind = frame.schema[SCORE].dataType
        if not isinstance(kind, NumericType):
            raise SchemaError(f"the scores in {SCORE!r} are {kind.simpleString()}, not numbers; ingest() reads them")
        score = F.col(SCORE)
    if WEIGHTS_COLUMN in frame.columns:
        weights = select_weights(frame, WEIGHTS_COLUMN, "FAILFAST")
    return score.cast("double").alias(SCORE), weights.cast(WEIGHTS_TYPE).alias(WEIGHTS_COLUMN)


def select_payloads(frame: DataFrame) -> Column:
    """Select the payloads as JSON; null if the DataFrame has none."""
    if PAYLOAD not in frame.columns:
        return F.lit(None).cast(StringType()).alias(PAYLOAD)
    kind = frame.schema[PAYLOAD].dataType
    if isinstance(kind, StringType):
        return F.col(PAYLOAD)
    if isinstance(kind, StructType | MapType):
        return F.to_json(PAYLOAD, {"ignoreNullFields": "false"}).alias(PAYLOAD)
    raise SchemaError(f"the payloads are {kind.simpleString()}; they must be structs, maps, or JSON")


def choose_schema(frame: DataFrame, schema: Schema | dict[str, Any] | None) -> Schema:
    """Return `schema`; if it is None, the schema that the expressions were ingested with."""
    ingested = frame.schema["expression"].metadata.get(SCHEMA_KEY)
    return Schema.from_json(ingested) if schema is None and ingested is not None else Schema.coerce(schema)


def refuse_duplicate_names(names: list[str]) -> list[str]:
    """Return the names; raise SchemaError if one occurs twice."""
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{names.count(name)} columns are called {name!r}; rename them")
    return names


def get_id_type(ids: IdType) -> DataType:
    """Return the Spark type of ids."""
    return StringType() if ids == "str" else LongType()


def select_operations(name: str) -> Column:
    """Select the operations of changes, in lower case and without surrounding blanks."""
    return F.lower(F.trim(get_column(name)))


def convert_ids(ids: Ids, type: IdType, slots: I32 | None = None) -> pa.Array:
    """Return the ids of slots, by default of all, in the form that Spark accepts: strings with 32-bit offsets."""
    column = ids.to_arrow(np.arange(len(ids), dtype=np.int32) if slots is None else slots, type)
    return column.cast(pa.string()) if type == "str" else column
