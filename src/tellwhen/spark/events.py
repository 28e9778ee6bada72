"""DataFrames of events, in any of these forms, as batches that the encoder reads.

| type of the column `attributes` | attributes |
|---|---|
| map<string, scalar> | its entries; text is read as declared, or as the type that the attribute is compared with |
| map<string, struct> | its entries; of each struct the fields that are not null |
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
from tellwhen.language.schema import FAMILY_BY_TYPE, Schema
from tellwhen.language.values import Family, flatten
from tellwhen.spark.columns import refuse_duplicate_names, require_columns

MALFORMED = ""
"""Name under which events that are not an object are counted; no attribute has this name."""


class Form(NamedTuple):
    """The columns of a batch that hold the attributes; they follow the event id."""

    kind: Literal["columns", "struct", "map", "json"]
    names: list[str]  # of columns or fields: Spark itself splits names at dots and ignores case

    def select(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the attributes as a table, unless they are JSON."""
        columns = batch.column(1).flatten() if self.kind == "struct" else batch.columns[1:]
        return pa.Table.from_arrays(columns, self.names)


class PreparedEvents(NamedTuple):
    """A DataFrame (event id, attributes ...), and the form of its attributes."""

    frame: DataFrame
    form: Form


def prepare_events(
    events: DataFrame, event_id: str, attributes: str | Sequence[str] | None, types: Mapping[str, Any]
) -> PreparedEvents:
    """Select the event id and then the attributes, by position: names may contain any characters."""
    require_columns(events, event_id, *([attributes] if isinstance(attributes, str) else attributes or []))
    if event_id == "subscription_id":
        raise SchemaError("the events' ids are in a column 'subscription_id', which the matches need; rename it")
    columns, fields = events.columns, events.schema.fields
    if isinstance(attributes, str):
        names = [attributes]
    else:
        names = refuse_duplicate_names(
            [name for name in columns if name != event_id] if attributes is None else list(attributes)
        )
    positions = [columns.index(name) for name in [event_id, *names]]
    selected = events.toDF(*(f"c{n}" for n in range(len(columns)))).select(*(f"c{n}" for n in positions))
    kinds = [fields[n].dataType for n in positions[1:]]
    if not isinstance(attributes, str):
        refuse_clashes(names, kinds, types)
        return PreparedEvents(selected, Form("columns", names))
    kind = kinds[0]
    if isinstance(kind, StructType):
        inner = refuse_duplicate_names(kind.fieldNames())
        refuse_clashes(inner, [field.dataType for field in kind.fields], types)
        return PreparedEvents(selected, Form("struct", inner))
    if isinstance(kind, MapType) and not isinstance(kind.keyType, StringType):
        raise SchemaError(f"the keys of {attributes!r} are {kind.keyType.simpleString()}; they must be strings")
    if isinstance(kind, VariantType) or (isinstance(kind, MapType) and isinstance(kind.valueType, VariantType)):
        return PreparedEvents(selected.select(selected.columns[0], F.to_json(selected.columns[1])), Form("json", []))
    if isinstance(kind, StringType):
        return PreparedEvents(selected, Form("json", []))
    if isinstance(kind, MapType):
        return PreparedEvents(selected, Form("map", names))
    raise SchemaError(f"the column {attributes!r} is {kind.simpleString()}; it must be a map, struct, variant or JSON")


def list_attributes(fields: StructType, prefix: str = "") -> Iterator[str]:
    """Yield the names of the attributes in columns; those of structs are dotted."""
    for field in fields.fields:
        yield prefix + field.name
        if isinstance(field.dataType, StructType):
            yield from list_attributes(field.dataType, f"{prefix}{field.name}.")


def refuse_clashes(names: Sequence[str], kinds: Sequence[DataType], types: Mapping[str, Any]) -> None:
    """Raise SchemaError for a column whose values can never be of the declared type."""
    for name, kind in zip(names, kinds, strict=True):
        if isinstance(kind, VariantType):
            raise SchemaError(f"the column {name!r} is a variant; cast it, or put all attributes into one variant")
        if isinstance(kind, StructType):
            refuse_clashes([f"{name}.{f.name}" for f in kind.fields], [f.dataType for f in kind.fields], types)
        declared = types.get(name)
        family = _get_family(kind)
        if declared is None or family is None:
            continue
        expected = FAMILY_BY_TYPE[declared]
        # Times are read from text.
        if family != expected and not (expected == "time" and family == "string"):
            raise SchemaError(
                f"the column {name!r} is {kind.simpleString()}, but the index declares it {declared}; cast the column"
            )


def _get_family(kind: DataType) -> Family | None:
    if isinstance(kind, StringType):
        return "string"
    if isinstance(kind, BooleanType):
        return "bool"
    if isinstance(kind, NumericType):
        return "number"
    return "time" if isinstance(kind, DateType | TimestampType | TimestampNTZType) else None


def encode_batch(
    batch: pa.RecordBatch, form: Form, attributes: Attributes, schema: Schema
) -> tuple[Events, Mapping[str, int]]:
    """Encode the events of a batch; also return the number of values of a wrong type, by attribute."""
    if form.kind == "json":
        return _encode_json(batch.column(1), attributes, schema)
    return encode_table(form.select(batch), batch.num_rows, attributes, schema)


def _encode_json(column: pa.Array, attributes: Attributes, schema: Schema) -> tuple[Events, Mapping[str, int]]:
    events = list(parse_objects(column))
    arrays, mismatches = encode([event or {} for event in events], attributes, schema)
    malformed = events.count(None)
    return arrays, mismatches | {MALFORMED: malformed} if malformed else mismatches


def parse_objects(column: pa.Array) -> Iterator[dict[str, Any] | None]:
    """Parse events written as JSON: nested members get dotted names, a null has no attributes.

    None stands for a text that is not an object.
    """
    for text in column.to_pylist():
        try:
            yield {} if text is None else flatten(json.loads(text))
        except (ValueError, RecursionError, EventError):
            yield None
