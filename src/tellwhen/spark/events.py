"""A DataFrame of events, in any of these forms -> batches that the encoder reads.

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
from typing import Any, Literal, NamedTuple

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
from tellwhen.encode.events import encode
from tellwhen.encode.tables import encode_table
from tellwhen.errors import EventError, SchemaError
from tellwhen.kernels.arrays import Events
from tellwhen.language.schema import FAMILIES, Schema
from tellwhen.language.values import Family, flatten
from tellwhen.spark.columns import require, unique

MALFORMED = ""
"""Events that are not an object are counted under this name, which no attribute has."""


class Form(NamedTuple):
    """How the attributes lie in a batch, after the event's id."""

    kind: Literal["columns", "struct", "map", "json"]
    names: list[str]  # of columns or fields: kept here, because Spark splits names at dots and ignores case

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """The attributes under their names, if they are not JSON."""
        columns = batch.column(1).flatten() if self.kind == "struct" else batch.columns[1:]
        return pa.Table.from_arrays(columns, self.names)


class Prepared(NamedTuple):
    """The events as (event id, attributes ...), and how to read them."""

    frame: DataFrame
    form: Form


def prepare(
    events: DataFrame, event_id: str, attributes: str | Sequence[str] | None, types: Mapping[str, Any]
) -> Prepared:
    """Select the event id and then the attributes; columns by their positions, because names may hold anything."""
    require(events, event_id, *([attributes] if isinstance(attributes, str) else attributes or []))
    if event_id == "subscription_id":
        raise SchemaError("the events' ids are in a column 'subscription_id', which the matches need; rename it")
    given, fields = events.columns, events.schema.fields
    if isinstance(attributes, str):
        names = [attributes]
    else:
        names = unique([name for name in given if name != event_id] if attributes is None else list(attributes))
    positions = [given.index(name) for name in [event_id, *names]]
    chosen = events.toDF(*(f"c{n}" for n in range(len(given)))).select(*(f"c{n}" for n in positions))
    kinds = [fields[n].dataType for n in positions[1:]]
    if not isinstance(attributes, str):
        refuse_clashes(names, kinds, types)
        return Prepared(chosen, Form("columns", names))
    kind = kinds[0]
    if isinstance(kind, StructType):
        inner = unique(kind.fieldNames())
        refuse_clashes(inner, [field.dataType for field in kind.fields], types)
        return Prepared(chosen, Form("struct", inner))
    if isinstance(kind, MapType) and not isinstance(kind.keyType, StringType):
        raise SchemaError(f"the keys of {attributes!r} are {kind.keyType.simpleString()}; they must be strings")
    if isinstance(kind, VariantType) or (isinstance(kind, MapType) and isinstance(kind.valueType, VariantType)):
        return Prepared(chosen.select(chosen.columns[0], F.to_json(chosen.columns[1])), Form("json", []))
    if isinstance(kind, StringType):
        return Prepared(chosen, Form("json", []))
    if isinstance(kind, MapType):
        return Prepared(chosen, Form("map", names))
    raise SchemaError(f"the column {attributes!r} is {kind.simpleString()}; it must be a map, struct, variant or JSON")


def column_names(fields: StructType, before: str = "") -> Iterator[str]:
    """The attributes that columns bring, those of structs with dotted names."""
    for field in fields.fields:
        yield before + field.name
        if isinstance(field.dataType, StructType):
            yield from column_names(field.dataType, f"{before}{field.name}.")


def refuse_clashes(names: Sequence[str], kinds: Sequence[DataType], types: Mapping[str, Any]) -> None:
    """Raises SchemaError for a column whose values can never be of the declared type."""
    for name, kind in zip(names, kinds, strict=True):
        if isinstance(kind, VariantType):
            raise SchemaError(f"the column {name!r} is a variant; cast it, or put all attributes into one variant")
        if isinstance(kind, StructType):
            refuse_clashes([f"{name}.{f.name}" for f in kind.fields], [f.dataType for f in kind.fields], types)
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
    batch: pa.RecordBatch, form: Form, attributes: Attributes, schema: Schema
) -> tuple[Events, Mapping[str, int]]:
    """The events of a batch as arrays, and how many values of each attribute were of a wrong type."""
    if form.kind == "json":
        return _encoded_json(batch.column(1), attributes, schema)
    return encode_table(form.table(batch), batch.num_rows, attributes, schema)


def _encoded_json(column: pa.Array, attributes: Attributes, schema: Schema) -> tuple[Events, Mapping[str, int]]:
    events = list(objects(column))
    arrays, mismatches = encode([event or {} for event in events], attributes, schema)
    malformed = events.count(None)
    return arrays, mismatches | {MALFORMED: malformed} if malformed else mismatches


def objects(column: pa.Array) -> Iterator[dict[str, Any] | None]:
    """Events written as JSON, with dotted names. A null has no attributes; None stands for what is not an object."""
    for text in column.to_pylist():
        try:
            yield {} if text is None else flatten(json.loads(text))
        except (ValueError, RecursionError, EventError):
            yield None
