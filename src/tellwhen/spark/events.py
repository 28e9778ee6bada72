"""A DataFrame of events, in whatever form -> batches that the encoder reads.

| the column `attributes` is | attributes are |
|---|---|
| map<string, scalar> | its entries; text is read as what an attribute is compared with, or as declared |
| map<string, struct> | its entries; of each struct the fields that are not null: a union by hand |
| map<string, variant>, VARIANT, string (JSON) | the members of the object, nested ones with dotted names |
| struct | its fields |
| None, or a list of names | the columns of the DataFrame themselves, or those named |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.events import encode
from tellwhen.compile.tables import encode_table
from tellwhen.errors import EventError, SchemaError
from tellwhen.kernels.arrays import Events
from tellwhen.lang.values import Family, flatten
from tellwhen.schema import FAMILIES, Schema
from tellwhen.spark.ingest import quoted

MALFORMED = ""
"""Under this name, which no attribute has, events that are no object at all are counted."""


class Prepared(NamedTuple):
    """The events as (event id, attributes ...), and whether the attributes are JSON."""

    frame: DataFrame
    is_json: bool


def prepare(
    events: DataFrame, event_id: str, attributes: str | Sequence[str] | None, types: Mapping[str, Any]
) -> Prepared:
    """Select what matching needs, the event id first."""
    for name in [event_id] + ([attributes] if isinstance(attributes, str) else list(attributes or [])):
        if name not in events.columns:
            raise SchemaError(f"the events have no column {name!r}; there are {', '.join(events.columns)}")
    if event_id == "subscription_id":
        raise SchemaError("the events' ids are in a column 'subscription_id', which the matches need; rename it")
    if not isinstance(attributes, str):
        names = [name for name in events.columns if name != event_id] if attributes is None else list(attributes)
        _refuse_clashes([(name, events.schema[name].dataType) for name in names], types)
        return Prepared(events.select(F.col(quoted(event_id)), *(F.col(quoted(name)) for name in names)), False)
    kind = events.schema[attributes].dataType
    column = F.col(quoted(attributes))
    is_json = isinstance(kind, StringType | VariantType) or (
        isinstance(kind, MapType) and isinstance(kind.valueType, VariantType)
    )
    if isinstance(kind, MapType) and not isinstance(kind.keyType, StringType):
        raise SchemaError(f"the keys of {attributes!r} are {kind.keyType.simpleString()}; they must be strings")
    if not is_json and not isinstance(kind, MapType | StructType):
        raise SchemaError(
            f"the column {attributes!r} is {kind.simpleString()}; it must be a map, struct, variant or JSON"
        )
    if is_json and not isinstance(kind, StringType):
        column = F.to_json(column)
    if isinstance(kind, StructType):
        _refuse_clashes([(field.name, field.dataType) for field in kind.fields], types)
        fields = [F.col(f"{quoted(attributes)}.{quoted(field.name)}").alias(field.name) for field in kind.fields]
        return Prepared(events.select(F.col(quoted(event_id)).alias("event_id"), *fields), False)
    return Prepared(events.select(F.col(quoted(event_id)).alias("event_id"), column.alias("attributes")), is_json)


def _refuse_clashes(columns: list[tuple[str, DataType]], types: Mapping[str, Any]) -> None:
    """A column whose values could never be of the declared type is a mistake, not a mismatch."""
    for name, kind in columns:
        if isinstance(kind, VariantType):
            raise SchemaError(f"the column {name!r} is a variant; cast it, or put all attributes into one variant")
        declared = types.get(name)
        family = _family(kind)
        if declared is None or family is None:
            continue
        wanted = FAMILIES[declared]
        # Times are read from text.
        if family != wanted and not (wanted == "time" and family == "string"):
            raise SchemaError(
                f"the column {name!r} is {kind.simpleString()}, but the index declares it {declared}; cast the column"
            )


def _family(kind: DataType) -> Family | None:
    if isinstance(kind, StringType):
        return "string"
    if isinstance(kind, BooleanType):
        return "bool"
    if isinstance(kind, NumericType):
        return "number"
    return "time" if isinstance(kind, DateType | TimestampType | TimestampNTZType) else None


def encoded(
    batch: pa.RecordBatch, is_json: bool, attributes: Attributes, schema: Schema
) -> tuple[Events, Mapping[str, int]]:
    """The events of a batch as arrays, and how many values of each attribute were of a wrong type."""
    if is_json:
        return _encoded_json(batch.column(1), attributes, schema)
    table = pa.Table.from_batches([batch]).remove_column(0)
    return encode_table(table, batch.num_rows, attributes, schema)


def _encoded_json(column: pa.Array, attributes: Attributes, schema: Schema) -> tuple[Events, Mapping[str, int]]:
    events = list(objects(column))
    arrays, mismatches = encode([event or {} for event in events], attributes, schema)
    malformed = events.count(None)
    return arrays, mismatches | {MALFORMED: malformed} if malformed else mismatches


def objects(column: pa.Array) -> Iterator[dict[str, Any] | None]:
    """Events written as JSON, with dotted names; a null has no attributes, and None stands for what is no object."""
    for text in column.to_pylist():
        try:
            yield {} if text is None else flatten(json.loads(text))
        except (ValueError, RecursionError, EventError):
            yield None
