"""Ingestion: raw rows become valid subscriptions, or rows of a quarantine with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.engines import create, create_with_fallback, explain_refusal
from tellwhen.errors import ParseError, TellwhenError, abbreviate
from tellwhen.index.ids import validate_id
from tellwhen.index.subscriptions import Rejected, parse_subscription
from tellwhen.language.schema import Schema
from tellwhen.spark.columns import (
    ADD,
    PARSED,
    PAYLOAD,
    REMOVE,
    SCHEMA_KEY,
    SCORE,
    WEIGHTS_COLUMN,
    get_column,
    get_id_type,
    require_columns,
    select_operations,
    select_parsed,
    select_payloads,
    select_scores,
    select_weights,
    validate_subscription_columns,
)
from tellwhen.spark.parsed_column import decode, encode, read_parsed
from tellwhen.spark.tasks import count_partitions, map_batches

PREFER, SOURCE, RANK, INVALID = "_prefer", "_given", "_rank", "_bad_"
"""Names of temporary columns, and a prefix of such names. The results do not have these columns."""


def ingest(
    raw: DataFrame,
    id: str = "id",
    expression: str = "expression",
    score: str | None = None,
    weights: str | None = None,
    *,
    operation: str | None = None,
    prefer: str | None = None,
    schema: Schema | dict[str, str] | None = None,
    engine: str | None = None,
) -> tuple[DataFrame, DataFrame]:
    """Validate raw subscriptions and parse their expressions. Every row is in exactly one of the two results.

    Spark caches the parsed rows when either result is first computed. `unpersist()` on either result frees them.

    Parameters
    ----------
    raw
        Rows with ids, which are integers or strings, and with expressions, which are text, or JSON objects as text. A
        column `payload` has structs, maps or JSON, which matches in one process return.
    id, expression
        The names of these columns.
    score, weights
        The names of columns by which `top_k` ranks: numbers, and maps from attributes to numbers, or the same as JSON.
        By default columns of these names, if there are any. A null score is 0.
    operation
        The name of a column with "add" or "remove". The rows are then changes for `update`, and both results begin with
        this column. A row that removes needs no expression.
    prefer
        Of several valid rows with one id, take the row with the greatest value in this column. By default, take the
        first in alphabetical order of the expressions, and of equal expressions the one with the best score.
    schema
        The declared types of attributes. The result remembers the schema, and `build` reads it.
    engine
        Quarantine expressions that are too complex for this engine, such as "counting:strict=1".

    Returns
    -------
    subs : DataFrame
        The valid subscriptions (id, expression[, score, weights, payload], parsed). `profile`, `build` and `update`
        read the column `parsed` instead of parsing the text again. Without this column they parse.
    quarantined : DataFrame
        All other rows (id, expression, position, reason[, score, weights, payload]).

    Raises
    ------
    SchemaError
        If a column is missing or of a wrong type.

    Examples
    --------
    >>> subs, quarantined = tws.ingest(raw)  # doctest: +SKIP
    """
    types = Schema.coerce(schema)
    if engine is not None and "expressions" in create_with_fallback(engine, Store(types)).supports:
        engine = None  # it accepts any expression
    ids = validate_subscription_columns(raw, id, expression)
    score = SCORE if score is None and SCORE in raw.columns else score
    weights = WEIGHTS_COLUMN if weights is None and WEIGHTS_COLUMN in raw.columns else weights
    require_columns(raw, score, weights, operation, prefer)
    worth = [*([] if score is None else [SCORE]), *([] if weights is None else [WEIGHTS_COLUMN])]
    worth += [PAYLOAD] if PAYLOAD in raw.columns else []
    other_columns = [
        *([] if score is None else _select_with_validity(SCORE, get_column(score), select_scores(raw, score))),
        *(
            []
            if weights is None
            else _select_with_validity(WEIGHTS_COLUMN, get_column(weights), select_weights(raw, weights))
        ),
        *([select_payloads(raw)] if PAYLOAD in raw.columns else []),
        *([] if prefer is None else [get_column(prefer).alias(PREFER)]),
    ]
    selected = raw.select(
        get_column(id).cast(get_id_type(ids)).alias("id"),
        get_column(expression).alias("expression"),
        (F.lit(ADD) if operation is None else select_operations(operation)).alias("operation"),
        select_parsed(raw),
        *other_columns,
    )
    judged = map_batches(selected, _Reader(types, engine), _make_result_type(selected.schema))
    judged = _choose_one_per_id(judged, prefer is not None).persist()
    first = [] if operation is None else ["operation"]
    text = F.col("expression")
    subs = judged.where(F.col("reason").isNull()).select(
        *first,
        "id",
        text.alias("expression", metadata={SCHEMA_KEY: types.as_json()}),
        *worth,
        PARSED,
    )
    quarantined = judged.where(F.col("reason").isNotNull()).select(
        *first, "id", F.coalesce(SOURCE, text).alias("expression"), "position", "reason", *worth
    )
    for frame in (subs, quarantined):
        _unpersist_with(frame, judged)
    return subs, quarantined


def _choose_one_per_id(judged: DataFrame, has_preference: bool) -> DataFrame:
    """Choose one row of each id, and give the others a reason. An invalid row never replaces a valid one."""
    is_valid = F.col("reason").isNull()
    order = [F.col(PREFER).desc_nulls_last()] if has_preference else []
    # Columns that are not in the order would be chosen by chance, perhaps differently when Spark computes them again.
    worth = [F.col(SCORE).desc_nulls_last()] if SCORE in judged.columns else []
    worth += [F.to_json(WEIGHTS_COLUMN).asc_nulls_last()] if WEIGHTS_COLUMN in judged.columns else []
    worth += [F.col(PAYLOAD).asc_nulls_last()] if PAYLOAD in judged.columns else []
    by_id = Window.partitionBy("id", is_valid).orderBy(*order, F.col("expression").asc_nulls_last(), *worth)
    # The window needs equal ids in one partition, and adds no further shuffle to this one.
    together = judged.repartition(count_partitions(judged.sparkSession), "id")
    is_extra = is_valid & (F.col(RANK) > 1)
    reason = F.when(is_extra, F.lit("another subscription with this id is taken")).otherwise(F.col("reason"))
    ranked = together.withColumn(RANK, F.row_number().over(by_id)).withColumn("reason", reason)
    return ranked.drop(RANK, PREFER, INVALID + SCORE, INVALID + WEIGHTS_COLUMN)


def _unpersist_with(frame: DataFrame, cached: DataFrame) -> None:
    """Let `unpersist()` on a frame free the cached frame below it, which Spark does not do by itself."""

    def unpersist(blocking: bool = False) -> DataFrame:
        cached.unpersist(blocking)
        return frame

    frame.unpersist = unpersist  # type: ignore[method-assign]


class _Verdict(NamedTuple):
    """The expression of a row as text, or why the row is invalid, and where in the expression."""

    expression: str | None = None
    parsed: bytes | None = None
    source: str | None = None  # the expression of the row, if that is not the text
    position: int | None = None
    reason: str | None = None


VERDICT_FIELDS = [
    StructField("expression", StringType()),
    StructField(PARSED, BinaryType()),
    StructField(SOURCE, StringType()),
    StructField("position", IntegerType()),
    StructField("reason", StringType()),
]
VERDICT_TYPES = [pa.string(), pa.binary(), pa.string(), pa.int32(), pa.string()]
REPLACED_COLUMNS = ("expression", PARSED)
WORTH_COLUMNS = (SCORE, INVALID + SCORE, WEIGHTS_COLUMN, INVALID + WEIGHTS_COLUMN, PAYLOAD)


def _make_result_type(schema: StructType) -> StructType:
    return StructType([field for field in schema.fields if field.name not in REPLACED_COLUMNS] + VERDICT_FIELDS)


class _Reader:
    """A function for `map_batches` that replaces the columns expression and parsed by a verdict."""

    def __init__(self, schema: Schema, engine: str | None) -> None:
        self._schema, self._engine = schema, engine

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            verdicts = [_judge(row, self._schema) for row in _iter_rows(batch)]
            if self._engine is not None:
                _refuse_too_complex(verdicts, self._engine, self._schema)
            columns = list(zip(*verdicts, strict=True)) or [()] * len(VERDICT_TYPES)
            others = batch.drop_columns(list(REPLACED_COLUMNS))
            yield pa.RecordBatch.from_arrays(
                [*others.columns, *(pa.array(*column) for column in zip(columns, VERDICT_TYPES, strict=True))],
                [*others.schema.names, *(field.name for field in VERDICT_FIELDS)],
            )


class _Row(NamedTuple):
    """A row as Spark reads it."""

    id: str | int | None
    expression: str | None
    operation: str | None
    parsed: bytes | None
    score: float | None
    is_score_invalid: bool | None
    weights: Any  # pairs of attributes and numbers
    are_weights_invalid: bool | None
    payload: str | None


def _iter_rows(batch: pa.RecordBatch) -> Iterator[_Row]:
    missing: list[Any] = [None] * batch.num_rows
    names = batch.schema.names
    columns = [batch.column(i).to_pylist() for i in range(4)]
    columns += [batch.column(name).to_pylist() if name in names else missing for name in WORTH_COLUMNS]
    return map(_Row._make, zip(*columns, strict=True))


def _judge(row: _Row, schema: Schema) -> _Verdict:
    """Validate a row, and parse its expression unless `ingest` has parsed this text before."""
    text = row.expression
    try:
        if row.id is None:
            return _Verdict(source=text, reason="the id is missing")
        validate_id(row.id)
        if row.operation == REMOVE:
            return _Verdict(source=text)
        if row.operation != ADD:
            return _Verdict(source=text, reason=f"the operation is add or remove, not {abbreviate(row.operation)}")
        known = None if text is None else decode(row.parsed, text)
        weights = None if row.weights is None else dict(row.weights)
        subscription = parse_subscription((row.id, text, row.score, weights, row.payload), schema, known)
        if row.is_score_invalid:
            return _Verdict(source=text, reason="the score is not a number")
        if row.are_weights_invalid:
            return _Verdict(source=text, reason="the weights are not a map from attributes to numbers")
    except TellwhenError as error:
        position = error.position if isinstance(error, ParseError) else None
        return _Verdict(source=text, position=position, reason=Rejected.from_row((row.id, text), error).reason)
    # JSON becomes text here, so that all later steps read one form.
    parsed = encode(subscription.expression, subscription.text) if known is None else row.parsed
    return _Verdict(subscription.text, parsed, None if subscription.text == text else text)


def _select_with_validity(name: str, source: Column, value: Column) -> list[Column]:
    """Select the value read from a column, and a flag: True where the column has a value that could not be read."""
    return [value.alias(name), (source.isNotNull() & value.isNull()).alias(INVALID + name)]


def _refuse_too_complex(verdicts: list[_Verdict], engine: str, schema: Schema) -> None:
    """Replace the verdicts of expressions whose normal form is too large for the engine."""
    valid = [number for number, verdict in enumerate(verdicts) if verdict.expression is not None]
    reason = explain_refusal(engine)
    for first in range(0, len(valid), COMPILE_BATCH):
        numbers = valid[first : first + COMPILE_BATCH]
        store = Store(schema)
        trees = [read_parsed(verdicts[number].parsed, verdicts[number].expression) for number in numbers]
        slots, _ = store.append(store.compile(trees))
        for slot in np.flatnonzero(~create(engine, store).can_index(slots)).tolist():
            verdict = verdicts[numbers[slot]]
            verdicts[numbers[slot]] = _Verdict(source=verdict.source or verdict.expression, reason=reason)
