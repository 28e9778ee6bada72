"""Raw rows -> subscriptions that parse, and a quarantine for all others. Nothing is lost between the two."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.types import IntegerType, LongType, ShortType, StringType, StructField, StructType

from tellwhen.errors import ParseError, SchemaError, TellwhenError, shown
from tellwhen.ids import checked
from tellwhen.lang import limits
from tellwhen.lang.ast import Expr
from tellwhen.lang.json import from_json
from tellwhen.lang.parse import parse
from tellwhen.schema import Schema

EXPRESSION, REASON, POSITION = "_expression", "_reason", "_position"
ADD, REMOVE = "add", "remove"
INTEGERS = (ShortType, IntegerType, LongType)


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
    types = schema if isinstance(schema, Schema) else Schema(schema or {})  # type: ignore[arg-type]
    for name in (id, expression, score, operation, prefer):
        if name is not None and name not in raw.columns:
            raise SchemaError(f"there is no column {name!r}; there are {', '.join(raw.columns)}")
    kind = raw.schema[id].dataType
    if not isinstance(kind, (StringType, *INTEGERS)):
        raise SchemaError(f"the ids in {id!r} are {kind.simpleString()}; they must be integers or strings")
    if not isinstance(raw.schema[expression].dataType, StringType):
        raise SchemaError(f"the expressions in {expression!r} are not strings")
    chosen = raw.select(
        F.col(quoted(id)).cast("long" if isinstance(kind, INTEGERS) else "string").alias("id"),
        F.col(quoted(expression)).alias("expression"),
        F.lit(ADD).alias("operation")
        if operation is None
        else F.lower(F.trim(F.col(quoted(operation)))).alias("operation"),
        *([] if score is None else [F.expr(f"try_cast({quoted(score)} AS DOUBLE)").alias("score")]),
        *([] if prefer is None else [F.col(quoted(prefer)).alias("_prefer")]),
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


def quoted(name: str) -> str:
    """A column's name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


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
        expression = read_expression(text)
        schema.check(expression)
        # JSON becomes text here, so that all that follows reads one form.
        plain = str(expression) if _is_json(text) else text
        if len(plain) > limits.TEXT:
            return None, None, f"as text the expression has more than {limits.TEXT} characters"
        return plain, None, None
    except ParseError as error:
        return None, error.position, error.message
    except TellwhenError as error:
        return None, None, str(error)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] == "{"


def read_expression(text: str) -> Expr:
    """Text, or a JSON object as text: no expression starts with a brace."""
    if not _is_json(text):
        return parse(text)
    try:
        form = json.loads(text)
    except ValueError as error:
        raise ParseError(f"this is no JSON: {error}", text, getattr(error, "pos", 0)) from None
    except RecursionError:
        raise ParseError("the JSON is nested too deeply", text, 0) from None
    return from_json(form)
