"""Raw rows -> subscriptions that parse, and a quarantine for all others. Nothing is lost between the two."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from tellwhen.errors import ParseError, TellwhenError, shown
from tellwhen.ids import checked
from tellwhen.lang.read import read
from tellwhen.schema import Schema
from tellwhen.spark.columns import ADD, REMOVE, column, id_type, operation_column, require, subscription_columns

EXPRESSION, REASON, POSITION = "_expression", "_reason", "_position"


def ingest(
    raw: DataFrame,
    id: str = "id",
    expression: str = "expression",
    score: str | None = None,
    *,
    operation: str | None = None,
    prefer: str | None = None,
    schema: Schema | dict[str, str] | None = None,
) -> tuple[DataFrame, DataFrame]:
    """Subscriptions (id, expression[, score]), and the quarantine (id, expression, position, reason).

    Expressions are text, or JSON objects as text. Of several rows with one id the one with the greatest value in the
    column `prefer` is taken, or else the one whose expression comes first in the alphabet; the others go to the
    quarantine. With a column `operation` ("add" or "remove") the rows are changes for `update`; one that removes needs
    no expression. Both results are cached by Spark when first computed: `unpersist()` either when done.
    """
    types = Schema.of(schema)
    ids = subscription_columns(raw, id, expression)
    require(raw, score, operation, prefer)
    chosen = raw.select(
        column(id).cast(id_type(ids)).alias("id"),
        column(expression).alias("expression"),
        (F.lit(ADD) if operation is None else operation_column(operation)).alias("operation"),
        *([] if score is None else [column(score).try_cast("double").alias("score")]),
        *([] if prefer is None else [column(prefer).alias("_prefer")]),
    )
    parsed = chosen.mapInArrow(_Parsing(types), _with_verdict(chosen.schema))
    # Only among those that parse: a broken row never pushes out a good one.
    order = [F.col("_prefer").desc_nulls_last()] if prefer is not None else []
    place = F.row_number().over(
        Window.partitionBy("id", F.col(REASON).isNull()).orderBy(*order, F.col(EXPRESSION).asc_nulls_last())
    )
    judged = parsed.withColumn("_place", F.when(F.col(REASON).isNull(), place).otherwise(1)).withColumn(
        REASON,
        F.when(F.col("_place") > 1, F.lit("another subscription with this id is taken")).otherwise(F.col(REASON)),
    )
    judged = judged.persist()
    taken = judged.where(F.col(REASON).isNull()).select(
        *([] if operation is None else ["operation"]),
        "id",
        F.col(EXPRESSION).alias("expression"),
        *([] if score is None else ["score"]),
    )
    quarantined = judged.where(F.col(REASON).isNotNull()).select(
        "id", "expression", F.col(POSITION).alias("position"), F.col(REASON).alias("reason")
    )
    return taken, quarantined


def _with_verdict(schema: StructType) -> StructType:
    return StructType([
        *schema.fields,
        StructField(EXPRESSION, StringType()),
        StructField(POSITION, IntegerType()),
        StructField(REASON, StringType()),
    ])  # fmt: skip


class _Parsing:
    """Adds the expression as text, or where and why it is none."""

    def __init__(self, schema: Schema) -> None:
        self._types = schema.types

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = Schema(self._types)
        for batch in batches:
            given = zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True)
            verdicts = [_verdict(id_, text, operation, schema) for id_, text, operation in given]
            good, positions, reasons = zip(*verdicts, strict=True) if verdicts else ((), (), ())
            columns = [pa.array(good, pa.string()), pa.array(positions, pa.int32()), pa.array(reasons, pa.string())]
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *columns], [*batch.schema.names, EXPRESSION, POSITION, REASON]
            )


def _verdict(
    id_: str | int | None, text: str | None, operation: str | None, schema: Schema
) -> tuple[str | None, int | None, str | None]:
    try:
        if id_ is None:
            return None, None, "the id is missing"
        checked(id_)
        if operation == REMOVE:
            return None, None, None
        if operation != ADD:
            return None, None, f"the operation is add or remove, not {shown(operation)}"
        if text is None:
            return None, None, "the expression is missing"
        # JSON becomes text here, so that all that follows reads one form.
        expression, plain = read(text)
        schema.check(expression)
        return plain, None, None
    except ParseError as error:
        return None, error.position, error.message
    except TellwhenError as error:
        return None, None, str(error)
