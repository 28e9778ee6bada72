"""Raw rows -> subscriptions that parse, and a quarantine for all others. Every row is in exactly one of the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from tellwhen.compile.scores import checked_score, checked_weights
from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.engines import complete, create, explain_refusal
from tellwhen.errors import ParseError, PayloadError, ScoreError, TellwhenError, abbreviate
from tellwhen.index.ids import validate_id
from tellwhen.index.payloads import payload_text
from tellwhen.index.subscriptions import check_weights
from tellwhen.language.read import read
from tellwhen.language.schema import Schema
from tellwhen.spark.columns import (
    ADD,
    DECLARED,
    PARSED,
    PAYLOAD,
    REMOVE,
    SCORE,
    WEIGHTS_OF,
    column,
    id_type,
    operation_column,
    parsed_column,
    payload_column,
    require,
    score_column,
    subscription_columns,
    weights_column,
)
from tellwhen.spark.parsed_column import decode, encode, read_parsed
from tellwhen.spark.tasks import mapped, partitions

PREFER, GIVEN, RANK, BAD = "_prefer", "_given", "_rank", "_bad_"


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
    """Subscriptions (id, expression[, score, weights, payload], parsed), and the quarantine (id, expression, position,
    reason[, score, weights, payload]).

    Expressions are text, or JSON objects as text. Of several good rows with one id the one with the greatest value in
    the column `prefer` is taken, or else the one whose expression comes first in the alphabet, or with the best score;
    the others go to the quarantine. So do expressions that contradict the `schema`, or are too complex for a strict
    `engine`.

    `score` and `weights` name columns with numbers, and with maps from attributes to numbers, or JSON: what `top_k`
    ranks by. Columns of these very names are taken unasked. None is 0. What is no number goes to the quarantine.
    A column `payload` has structs, maps or JSON: `Index.load` brings them into a process, where matches return them.

    With a column `operation` ("add" or "remove") the rows are changes for `update`; one that removes needs no
    expression. Both results then begin with this column.

    `parsed` holds the expressions in a form that `profile`, `build` and `update` read instead of parsing the text
    again. It may be dropped: they then parse. The schema travels with the column `expression`, and `build` finds it.

    Spark caches the parsed rows when either result is first computed; `unpersist()` on either frees them.
    """
    types = Schema.of(schema)
    if engine is not None and "expressions" in complete(engine, Store(types)).supports:
        engine = None  # it takes any expression
    ids = subscription_columns(raw, id, expression)
    score = SCORE if score is None and SCORE in raw.columns else score
    weights = WEIGHTS_OF if weights is None and WEIGHTS_OF in raw.columns else weights
    require(raw, score, weights, operation, prefer)
    worth = [*([] if score is None else [SCORE]), *([] if weights is None else [WEIGHTS_OF])]
    worth += [PAYLOAD] if PAYLOAD in raw.columns else []
    more = [
        *([] if score is None else _read_as(SCORE, column(score), score_column(raw, score))),
        *([] if weights is None else _read_as(WEIGHTS_OF, column(weights), weights_column(raw, weights))),
        *([payload_column(raw)] if PAYLOAD in raw.columns else []),
        *([] if prefer is None else [column(prefer).alias(PREFER)]),
    ]
    chosen = raw.select(
        column(id).cast(id_type(ids)).alias("id"),
        column(expression).alias("expression"),
        (F.lit(ADD) if operation is None else operation_column(operation)).alias("operation"),
        parsed_column(raw),
        *more,
    )
    judged = _one_of_each(mapped(chosen, _Reading(types, engine), _judged(chosen.schema)), prefer is not None)
    judged = judged.persist()
    first = [] if operation is None else ["operation"]
    text = F.col("expression")
    taken = judged.where(F.col("reason").isNull()).select(
        *first,
        "id",
        text.alias("expression", metadata={DECLARED: types.as_json()}),
        *worth,
        PARSED,
    )
    quarantined = judged.where(F.col("reason").isNotNull()).select(
        *first, "id", F.coalesce(GIVEN, text).alias("expression"), "position", "reason", *worth
    )
    for frame in (taken, quarantined):
        _free_with(frame, judged)
    return taken, quarantined


def _one_of_each(judged: DataFrame, has_preference: bool) -> DataFrame:
    """Take one row of each id; give the others a reason. A broken row never pushes out a good one."""
    is_good = F.col("reason").isNull()
    order = [F.col(PREFER).desc_nulls_last()] if has_preference else []
    # What is not in the order would be chosen by chance, perhaps differently when Spark computes it again.
    worth = [F.col(SCORE).desc_nulls_last()] if SCORE in judged.columns else []
    worth += [F.to_json(WEIGHTS_OF).asc_nulls_last()] if WEIGHTS_OF in judged.columns else []
    worth += [F.col(PAYLOAD).asc_nulls_last()] if PAYLOAD in judged.columns else []
    by_id = Window.partitionBy("id", is_good).orderBy(*order, F.col("expression").asc_nulls_last(), *worth)
    # The window needs equal ids in one partition; it adds no shuffle of its own to this one.
    together = judged.repartition(partitions(judged.sparkSession), "id")
    is_extra = is_good & (F.col(RANK) > 1)
    reason = F.when(is_extra, F.lit("another subscription with this id is taken")).otherwise(F.col("reason"))
    ranked = together.withColumn(RANK, F.row_number().over(by_id)).withColumn("reason", reason)
    return ranked.drop(RANK, PREFER, BAD + SCORE, BAD + WEIGHTS_OF)


def _free_with(frame: DataFrame, cached: DataFrame) -> None:
    """Let `unpersist()` on a frame free the cached one that it was made of: Spark would find nothing to free."""

    def unpersist(blocking: bool = False) -> DataFrame:
        cached.unpersist(blocking)
        return frame

    frame.unpersist = unpersist  # type: ignore[method-assign]


class _Verdict(NamedTuple):
    """The expression of a row as text, or where and why it is none."""

    expression: str | None = None
    parsed: bytes | None = None
    given: str | None = None  # the expression as it came, where that is not the text
    position: int | None = None
    reason: str | None = None


VERDICT = [
    StructField("expression", StringType()),
    StructField(PARSED, BinaryType()),
    StructField(GIVEN, StringType()),
    StructField("position", IntegerType()),
    StructField("reason", StringType()),
]
ARROW = [pa.string(), pa.binary(), pa.string(), pa.int32(), pa.string()]
REPLACED = ("expression", PARSED)


def _judged(schema: StructType) -> StructType:
    return StructType([field for field in schema.fields if field.name not in REPLACED] + VERDICT)


class _Reading:
    """For `mapped`: the columns expression and parsed are replaced by a verdict."""

    def __init__(self, schema: Schema, engine: str | None) -> None:
        self._schema, self._engine = schema, engine

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self._schema
        for batch in batches:
            ids, texts, operations, trees = (batch.column(i).to_pylist() for i in range(4))
            given = zip(ids, texts, operations, trees, strict=True)
            verdicts = [_verdict(id_, text, operation, tree, schema) for id_, text, operation, tree in given]
            _refuse_worth(verdicts, batch)
            if self._engine is not None:
                _refuse_too_complex(verdicts, self._engine, schema)
            columns = list(zip(*verdicts, strict=True)) or [()] * len(ARROW)
            kept = batch.drop_columns(list(REPLACED))
            yield pa.RecordBatch.from_arrays(
                [*kept.columns, *(pa.array(*column) for column in zip(columns, ARROW, strict=True))],
                [*kept.schema.names, *(field.name for field in VERDICT)],
            )


def _verdict(
    id_: str | int | None, text: str | None, operation: str | None, parsed: bytes | None, schema: Schema
) -> _Verdict:
    try:
        if id_ is None:
            return _Verdict(given=text, reason="the id is missing")
        validate_id(id_)
        if operation == REMOVE:
            return _Verdict(given=text)
        if operation != ADD:
            return _Verdict(given=text, reason=f"the operation is add or remove, not {abbreviate(operation)}")
        if text is None:
            return _Verdict(reason="the expression is missing")
        tree, plain = decode(parsed, text), text
        if tree is None:
            tree, plain = read(text)  # JSON becomes text here, so that all later stages read one form
            parsed = encode(tree, plain)
        schema.check(tree)
        return _Verdict(plain, parsed, None if plain == text else text)
    except ParseError as error:
        return _Verdict(given=text, position=error.position, reason=error.message)
    except TellwhenError as error:
        return _Verdict(given=text, reason=str(error))


def _read_as(name: str, given: Column, read: Column) -> list[Column]:
    """What is read of a column, and whether there is something else in it."""
    return [read.alias(name), (given.isNotNull() & read.isNull()).alias(BAD + name)]


def _refuse_worth(verdicts: list[_Verdict], batch: pa.RecordBatch) -> None:
    """Give a reason to every good expression whose score, weights or payload are none."""
    if not {SCORE, WEIGHTS_OF, PAYLOAD} & set(batch.schema.names):
        return
    nothing: list[Any] = [None] * len(verdicts)
    columns = [
        batch.column(name).to_pylist() if name in batch.schema.names else nothing
        for name in (SCORE, BAD + SCORE, WEIGHTS_OF, BAD + WEIGHTS_OF, PAYLOAD)
    ]
    for number, (verdict, *given) in enumerate(zip(verdicts, *columns, strict=True)):
        if verdict.expression is not None:
            try:
                _check_worth(verdict, *given)
            except (ScoreError, PayloadError) as error:
                verdicts[number] = _Verdict(given=verdict.given or verdict.expression, reason=str(error))


def _check_worth(
    verdict: _Verdict, score: Any, bad_score: bool, weights: Any, bad_weights: bool, payload: str | None
) -> None:
    payload_text(payload)
    if bad_score:
        raise ScoreError("the score is not a number")
    if bad_weights:
        raise ScoreError("the weights are not a map from attributes to numbers")
    checked_score(score or 0.0)
    if weights is not None:
        check_weights(read_parsed(verdict.parsed, verdict.expression), checked_weights(dict(weights)))


def _refuse_too_complex(verdicts: list[_Verdict], engine: str, schema: Schema) -> None:
    """Give a reason to every expression whose normal form is too large for the engine."""
    good = [number for number, verdict in enumerate(verdicts) if verdict.expression is not None]
    reason = explain_refusal(engine)
    for first in range(0, len(good), COMPILE_BATCH):
        few = good[first : first + COMPILE_BATCH]
        store = Store(schema)
        trees = [read_parsed(verdicts[number].parsed, verdicts[number].expression) for number in few]
        slots, _ = store.append(store.compile(trees))
        for slot in np.flatnonzero(~create(engine, store).can_index(slots)).tolist():
            refused = verdicts[few[slot]]
            verdicts[few[slot]] = _Verdict(given=refused.given or refused.expression, reason=reason)
