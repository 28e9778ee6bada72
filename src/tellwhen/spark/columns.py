"""Which columns does a DataFrame have, and can they be used?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
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

INTEGERS = (ShortType, IntegerType, LongType)
ADD, REMOVE = "add", "remove"

SCORE, WEIGHTS_OF, PAYLOAD = "score", "weights", "payload"
"""The columns in which `ingest` leaves what subscriptions are worth, and `build` finds it."""

WEIGHTS = "map<string,double>"

NUMBER = r"^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|(?i:inf|infinity|nan))\s*$"
"""What is a number in text."""

PARSED = "parsed"
"""The column in which `ingest` leaves the parsed expressions, as `parsed.encode` writes them."""

DECLARED = "tellwhen.language.schema"
"""The entry in the metadata of the column `expression` in which `ingest` leaves the schema."""


def column(name: str) -> Column:
    """The column of exactly this name, whatever characters are in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def require(frame: DataFrame, *names: str | None) -> None:
    """Raises SchemaError where a column is missing; None stands for one that is not asked for."""
    for name in names:
        if name is not None and name not in frame.columns:
            raise SchemaError(f"there is no column {name!r}; there are {', '.join(frame.columns)}")


def subscription_columns(frame: DataFrame, id: str = "id", expression: str = "expression") -> IdType:
    """Raises SchemaError where they hold no subscriptions; returns what the ids are."""
    require(frame, id, expression)
    kind = frame.schema[id].dataType
    if not isinstance(kind, (StringType, *INTEGERS)):
        raise SchemaError(f"the ids in {id!r} are {kind.simpleString()}; they must be integers or strings")
    if not isinstance(frame.schema[expression].dataType, StringType):
        raise SchemaError(f"the expressions in {expression!r} are not strings")
    return "str" if isinstance(kind, StringType) else "int"


def parsed_column(frame: DataFrame) -> Column:
    """The parsed expressions; null where the DataFrame does not come from `ingest`."""
    if PARSED in frame.columns and isinstance(frame.schema[PARSED].dataType, BinaryType):
        return F.col(PARSED)
    return F.lit(None).cast(BinaryType()).alias(PARSED)


def score_column(frame: DataFrame, name: str) -> Column:
    """The scores in a column of numbers or of text; null where the text is no number."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):  # Spark would also take 1d and 1f
        return F.when(column(name).rlike(NUMBER), column(name).try_cast("double"))
    if isinstance(kind, NumericType):
        return column(name).cast("double")
    raise SchemaError(f"the scores in {name!r} are {kind.simpleString()}; they must be numbers, or text")


def weights_column(frame: DataFrame, name: str, mode: str = "PERMISSIVE") -> Column:
    """The weights in a column: a map from attributes to numbers, or the same as JSON, null where it is none."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):
        return F.from_json(column(name), WEIGHTS, {"mode": mode})
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and isinstance(kind.valueType, NumericType):
        return column(name).cast(WEIGHTS)
    raise SchemaError(f"the weights in {name!r} are {kind.simpleString()}; they must be map<string,double>, or JSON")


def worth_columns(frame: DataFrame) -> tuple[Column, Column]:
    """The columns score and weights of subscriptions; null where the DataFrame has none."""
    score, weights = F.lit(None), F.lit(None)
    if SCORE in frame.columns:
        kind = frame.schema[SCORE].dataType
        if not isinstance(kind, NumericType):
            raise SchemaError(f"the scores in {SCORE!r} are {kind.simpleString()}, not numbers; ingest() reads them")
        score = F.col(SCORE)
    if WEIGHTS_OF in frame.columns:
        weights = weights_column(frame, WEIGHTS_OF, "FAILFAST")
    return score.cast("double").alias(SCORE), weights.cast(WEIGHTS).alias(WEIGHTS_OF)


def payload_column(frame: DataFrame) -> Column:
    """The payloads as JSON; null where the DataFrame has none."""
    if PAYLOAD not in frame.columns:
        return F.lit(None).cast(StringType()).alias(PAYLOAD)
    kind = frame.schema[PAYLOAD].dataType
    if isinstance(kind, StringType):
        return F.col(PAYLOAD)
    if isinstance(kind, StructType | MapType):
        return F.to_json(PAYLOAD, {"ignoreNullFields": "false"}).alias(PAYLOAD)
    raise SchemaError(f"the payloads are {kind.simpleString()}; they must be structs, maps, or JSON")


def declared_schema(frame: DataFrame, given: Schema | dict[str, Any] | None) -> Schema:
    """The schema that is given, or else the one that the expressions were ingested with."""
    ingested = frame.schema["expression"].metadata.get(DECLARED)
    return Schema.from_json(ingested) if given is None and ingested is not None else Schema.of(given)


def unique(names: list[str]) -> list[str]:
    """The names, if each occurs once."""
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{names.count(name)} columns are called {name!r}; rename them")
    return names


def id_type(ids: IdType) -> DataType:
    """The one type that ids of this kind have in Spark."""
    return StringType() if ids == "str" else LongType()


def operation_column(name: str) -> Column:
    """The operation of a change, in lower case and without blanks around it."""
    return F.lower(F.trim(column(name)))


def id_column(ids: Ids, type: IdType, slots: I32 | None = None) -> pa.Array:
    """The ids of some slots, or of all, as Spark takes them: as strings with 32-bit offsets, not 64-bit ones."""
    found = ids.column(np.arange(len(ids), dtype=np.int32) if slots is None else slots, type)
    return found.cast(pa.string()) if type == "str" else found
