"""What does a user give as subscriptions? Ids with expressions, perhaps scores, or errors that say what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

import pyarrow as pa

from tellwhen.compile.scores import WORTHLESS, Worth, checked_score, checked_weights
from tellwhen.encode.columns import objects
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.errors import (
    EventError,
    ExpressionError,
    LimitError,
    ParseError,
    PayloadError,
    SchemaError,
    ScoreError,
    abbreviate,
)
from tellwhen.index.ids import Id, checked
from tellwhen.index.payloads import payload_text
from tellwhen.language.ast import Expr
from tellwhen.language.literals import shown_name
from tellwhen.language.read import Given, read
from tellwhen.language.schema import Schema
from tellwhen.language.values import is_missing

DEFAULTS: list[Any] = [0.0, None, None]
"""The score, the weights and the payload of a subscription that is given without."""


class Subscription(NamedTuple):
    """One that a user gives, its id, its score and its payload checked."""

    id: Id
    given: Given
    worth: Worth = WORTHLESS
    payload: str = ""
    """As JSON, or empty."""


def rows_of(subscriptions: Any) -> Iterator[Any]:
    """The subscriptions that a user gives, one by one; an error for what cannot hold any."""
    if isinstance(subscriptions, Mapping):
        return iter(subscriptions.items())
    kind = type(subscriptions)  # not the thing itself: a lazy frame would find out its columns
    if hasattr(kind, "columns") or hasattr(kind, "__arrow_c_stream__"):
        return _rows_of_table(subscriptions)
    if isinstance(subscriptions, str | bytes) or not isinstance(subscriptions, Iterable):
        raise ExpressionError(
            f"add_many takes a mapping, or pairs of an id and an expression, not {abbreviate(subscriptions)}"
        )
    return iter(subscriptions)


COLUMNS = ("id", "expression", "score", "weights", "payload")
"""Of a table of subscriptions: the first two must be there."""


def _rows_of_table(given: Any) -> Iterator[Any]:
    """The rows of a table or a frame; a lazy one is collected."""
    if hasattr(given, "collect") and not hasattr(given, "__arrow_c_stream__"):
        given = given.collect()
    try:
        table = as_table_or_dicts(given)
    except EventError as error:
        raise ExpressionError(f"the subscriptions cannot be read as a table: {error}") from None
    names = table.column_names if isinstance(table, pa.Table) else [str(name) for name in given.columns]
    missing = [name for name in COLUMNS[:2] if name not in names]
    if missing:
        raise ExpressionError(
            "a table of subscriptions has columns id and expression, and perhaps score, weights and payload; there is "
            f"no {missing[0]}, but {', '.join(names) or 'none'}"
        )
    if not isinstance(table, pa.Table):  # a frame whose columns hold values of several types
        rows = [[row.get(name) for name in COLUMNS] for row in table]
        return iter([(*row[:2], *(None if is_missing(one) else _mapping(one) for one in row[2:])) for row in rows])
    return _rows(table.select([name for name in COLUMNS if name in table.column_names]))


def _rows(table: pa.Table) -> Iterator[Any]:
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        rows = zip(*(objects(column) for column in batch.columns), strict=True)
        names = batch.schema.names
        if len(names) == 2:
            yield from rows
            continue
        for row in rows:
            named = dict(zip(names, row, strict=True))
            weights, payload = (_mapping(named.get(name)) for name in ("weights", "payload"))
            # A struct has all fields in every row.
            weights, payload = (_without_nulls(one) for one in (weights, payload))
            yield named["id"], named["expression"], named.get("score"), weights, payload


def _without_nulls(given: Any) -> Any:
    return {name: one for name, one in given.items() if one is not None} or None if isinstance(given, dict) else given


def _mapping(given: Any) -> Any:
    """A dict in place of the pairs of a map, also inside; all else as it is, and refused if it is none."""
    if isinstance(given, list) and all(type(one) is tuple and len(one) == 2 for one in given):
        with suppress(TypeError):
            return {key: _mapping(value) for key, value in given}
    if isinstance(given, dict):
        return {key: _mapping(value) for key, value in given.items()}
    return given


ROWS_AT_ONCE = 4_096


class Rejected(NamedTuple):
    """A faulty row of a batch: what is wrong with it, and where in the text, if it is there. What else the row had is
    kept, so that it can be mended and given again."""

    id: Any
    expression: str | None
    position: int | None
    reason: str
    score: Any = None
    weights: Any = None
    payload: Any = None

    def __repr__(self) -> str:
        had = {name: value for name, value in self._asdict().items() if name not in COLUMNS[2:] or value is not None}
        return f"Rejected({', '.join(f'{name}={value!r}' for name, value in had.items())})"

    @classmethod
    def of(cls, row: Any, error: Exception) -> Rejected:
        """The row that an error is about."""
        had: Sequence[Any] = None, row
        if isinstance(row, Mapping) and "id" in row:
            had = [row.get(name) for name in COLUMNS]
        elif isinstance(row, tuple | list) and len(row) >= 2:
            had = row[: len(COLUMNS)]
        id_, given, *more = had
        text = given if given is None or isinstance(given, str) else abbreviate(given)
        if isinstance(error, ParseError):
            return cls(id_, text, error.position if error.text else None, _without_id(id_, error.message), *more)
        return cls(id_, text, None, _without_id(id_, str(error)), *more)


def _without_id(id_: Any, message: str) -> str:
    """A reason that is told beside its id need not repeat it."""
    return message.removeprefix(f"subscription {id_!r}: ")


def as_subscription(row: Any) -> Subscription:
    """One of them; an error for what is none."""
    try:
        if isinstance(row, Mapping) and set(COLUMNS[:2]) <= set(row) <= set(COLUMNS):
            row = [row.get(name) for name in COLUMNS]
        if isinstance(row, str | bytes | Mapping):  # whose parts are no id and no expression
            raise TypeError
        values = list(row)
        id_, given, score, weights, payload = values + DEFAULTS[len(values) - 2 :]
    except (TypeError, ValueError):
        raise ExpressionError(
            "a subscription is a tuple of an id and an expression, perhaps followed by its score, its weights and its "
            f"payload, or a dict of these, not {abbreviate(row)}"
        ) from None
    id_ = checked(id_)
    if len(values) == 2:
        return Subscription(id_, given)
    try:
        worth = Worth(checked_score(score), checked_weights(weights))
        return Subscription(id_, given, worth, payload_text(payload))
    except (ScoreError, PayloadError) as error:
        raise type(error)(f"subscription {id_!r}: {error}") from None


def check_weights(expression: Expr, weights: Mapping[str, float] | None) -> None:
    """Raises ScoreError for a weight of an attribute that the expression does not have."""
    if weights:
        names = dict.fromkeys(shown_name(predicate.attribute) for predicate in expression.predicates())
        for name in weights:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(names) or 'none'}"
                raise ScoreError(f"its expression has no attribute {name} to weigh{hint}")


def read_subscription(id_: Id, given: Given, schema: Schema, worth: Worth = WORTHLESS) -> tuple[Expr, str]:
    """Its expression and text; whatever is wrong with it is told with the id."""
    try:
        expression, text = read(given)
        schema.check(expression)
        check_weights(expression, worth.weights)
        return expression, text
    except ParseError as error:
        raise ParseError(f"subscription {id_!r}: {error.message}", error.text, error.position) from None
    except (SchemaError, ScoreError, LimitError) as error:
        raise type(error)(f"subscription {id_!r}: {error}") from None
    except ExpressionError as error:
        raise ExpressionError(f"subscription {id_!r}: {error}") from None
