"""Subscriptions as callers pass them: one record type, one reader, and errors that name the subscription."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from tellwhen.compile.scores import NO_WORTH, Worth, parse_score, parse_weights
from tellwhen.encode.columns import to_objects
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.errors import (
    EventError,
    ExpressionError,
    ParseError,
    ScoreError,
    TellwhenError,
    abbreviate,
    describe_value,
    find_similar,
)
from tellwhen.index.ids import Id, validate_id
from tellwhen.index.payloads import encode_payload
from tellwhen.language.ast import Expr
from tellwhen.language.literals import get_display_name
from tellwhen.language.reading import ExpressionInput, read_expression
from tellwhen.language.schema import Schema
from tellwhen.language.values import is_missing


class Subscription(NamedTuple):
    """A subscription of an index: what `Index.get_subscription` returns, and `Index.add_many` takes.

    Attributes
    ----------
    id : str or int
        The id that matches return.
    expression : str or None
        The text of the expression; None in an index without texts.
    score : float
        The number that `top_k` ranks by.
    weights : mapping of str to float
        The weights of attributes, for relaxed ranking.
    payload : mapping
        The JSON object that is returned with matches and by which matches can be filtered.

    Examples
    --------
    >>> import tellwhen as tw
    >>> index = tw.Index().add_many([tw.Subscription("a", "x > 1", score=2.5), tw.Subscription("b", "x > 2")])
    >>> index.get_subscription("a")
    Subscription(id='a', expression='x > 1', score=2.5, weights={}, payload={})
    """

    id: Id
    expression: str | None
    score: float = 0.0
    weights: Mapping[str, float] = {}
    payload: Mapping[str, Any] = {}


class SubscriptionRow(NamedTuple):
    """A row of subscriptions to add, with its fields unchecked.

    `expression` is text, an `Expr` or its JSON form, and `payload` a JSON object or its text. None is the default.
    """

    id: Id
    expression: ExpressionInput
    score: float | None = None
    weights: Mapping[str, float] | None = None
    payload: Mapping[str, Any] | str | None = None


COLUMNS = SubscriptionRow._fields
"""The columns of a table of subscriptions; the first two are required."""

NAMES_LENGTH_MAX = 200
"""Characters of the keys of a dict that an error shows."""

ROWS_PER_BATCH_MAX = 4_096
"""Rows of a table that are converted to Python objects together."""


class ParsedSubscription(NamedTuple):
    """A subscription that was checked and parsed."""

    id: Id
    expression: Expr
    text: str
    worth: Worth
    payload: str
    """JSON; empty without a payload."""


def iter_subscriptions(source: Any) -> Iterator[Any]:
    """Yield the rows of a mapping, an iterable or a table of subscriptions; `parse_subscription` reads each of them.

    Raises
    ------
    ExpressionError
        If `source` cannot hold subscriptions, or is a table without the columns id and expression.
    """
    if isinstance(source, Mapping):
        return iter(source.items())
    kind = type(source)  # asking a lazy frame itself would make it resolve its columns
    if hasattr(kind, "columns") or hasattr(kind, "__arrow_c_stream__"):
        return _iter_table(source)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        raise ExpressionError(
            "subscriptions must be a mapping from ids to expressions, a list of tuples (id, expression), or a table; "
            f"found {describe_value(source)}"
        )
    return iter(source)


def read_subscription(row: Any) -> SubscriptionRow:
    """Return a row as a `SubscriptionRow`, its fields unchecked; raise ExpressionError if the row has another shape."""
    try:
        if isinstance(row, SubscriptionRow):
            return row
        if isinstance(row, tuple | list):
            return SubscriptionRow(*row)
        if isinstance(row, Mapping):
            return SubscriptionRow(**row)
        if not isinstance(row, str | bytes):  # a str of two letters is not an id and an expression
            return SubscriptionRow(*row)
    except TypeError:
        pass
    raise ExpressionError(_explain_shape(row))


def _explain_shape(row: Any) -> str:
    """Return why a row is not a subscription."""
    if isinstance(row, Mapping):
        missing = [name for name in COLUMNS[:2] if name not in row]
        if missing:
            names = ", ".join(name if isinstance(name, str) else abbreviate(name) for name in row)
            return f"a subscription lacks {' and '.join(missing)}; found {names[:NAMES_LENGTH_MAX] or 'an empty dict'}"
        unknown = next(name for name in row if name not in COLUMNS)
        return f"a subscription has the unknown key {abbreviate(unknown)}; allowed: {', '.join(COLUMNS)}"
    return (
        "a subscription is a tuple of an id and an expression, perhaps followed by its score, its weights and its "
        f"payload, or a dict of these, not {abbreviate(row)}"
    )


def parse_subscription(row: Any, schema: Schema, expression: Expr | None = None) -> ParsedSubscription:
    """Check all fields of a row and parse its expression.

    Parameters
    ----------
    row
        A `SubscriptionRow`, or a tuple or mapping of its fields.
    schema
        The declared types, which the expression must not contradict.
    expression
        The parsed expression, if the caller has it: the text is then not parsed again.

    Raises
    ------
    TellwhenError
        If a field is invalid. The message starts with the id of the subscription, if the id itself is valid.
    """
    subscription = read_subscription(row)
    id_, source, score, weights, payload = subscription
    id_ = validate_id(id_)
    try:
        is_plain = score is None and weights is None
        worth = NO_WORTH if is_plain else Worth(parse_score(score), parse_weights(weights))
        json_payload = encode_payload(payload)
        if expression is not None:
            text = str(source)
        elif source is None:
            raise ExpressionError("the expression is missing")
        else:
            expression, text = read_expression(source)
        schema.check(expression)
        check_weights(expression, worth.weights)
        return ParsedSubscription(id_, expression, text, worth, json_payload)
    except TellwhenError as error:
        raise _prefix_id(error, id_) from None


def check_weights(expression: Expr, weights: Mapping[str, float] | None) -> None:
    """Raise ScoreError if a weight is of an attribute that the expression does not have."""
    if weights:
        names = dict.fromkeys(get_display_name(predicate.attribute) for predicate in expression.predicates())
        for name in weights:
            if name not in names:
                similar = find_similar(name, names)
                hint = f"did you mean {similar}?" if similar else f"its attributes are: {', '.join(names) or 'none'}"
                raise ScoreError(f"weights name {abbreviate(name)}, which the expression does not use; {hint}")


# Errors

ErrorT = TypeVar("ErrorT", bound=TellwhenError)


def _prefix_id(error: ErrorT, id_: Id) -> ErrorT:
    """Return an error of the same class whose message starts with the id of the subscription."""
    prefix = _id_prefix(id_)
    if isinstance(error, ParseError):
        return type(error)(prefix + error.message, error.text, error.position)
    return type(error)(prefix + str(error))


def _id_prefix(id_: Any) -> str:
    return f"subscription {id_!r}: "


class Rejected(NamedTuple):
    """A row that is not a valid subscription, with the reason.

    The other fields of the row are kept, so that a caller can correct the row and add it again.
    """

    id: Any
    expression: str | None
    position: int | None
    """Where in the text the error is, if it is in the text."""
    reason: str
    score: Any = None
    weights: Any = None
    payload: Any = None

    def __repr__(self) -> str:
        shown = {name: value for name, value in self._asdict().items() if name not in COLUMNS[2:] or value is not None}
        return f"Rejected({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @classmethod
    def from_row(cls, row: Any, error: Exception) -> Rejected:
        """Describe a row and the error that it raised."""
        fields: Sequence[Any] = None, row
        if isinstance(row, Mapping) and "id" in row:
            fields = [row.get(name) for name in COLUMNS]
        elif isinstance(row, tuple | list) and len(row) >= 2:
            fields = row[: len(COLUMNS)]
        id_, source, *others = fields
        text = source if source is None or isinstance(source, str) else abbreviate(source)
        position, message = None, str(error)
        if isinstance(error, ParseError):
            position, message = error.position if error.text else None, error.message
        return cls(id_, text, position, message.removeprefix(_id_prefix(id_)), *others)


# Tables


def _iter_table(source: Any) -> Iterator[Any]:
    """Yield the rows of a table or a frame; collect a lazy frame first."""
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()
    try:
        table = to_table_or_dicts(source)
    except EventError as error:
        raise ExpressionError(f"the subscriptions cannot be read as a table: {error}") from None
    names = table.column_names if isinstance(table, pa.Table) else [str(name) for name in source.columns]
    missing = [name for name in COLUMNS[:2] if name not in names]
    if missing:
        raise ExpressionError(
            f"the table of subscriptions lacks the column {missing[0]!r}; its columns are: {', '.join(names) or 'none'}"
        )
    if isinstance(table, pa.Table):
        return _iter_arrow(table.select([name for name in COLUMNS if name in table.column_names]))
    # A frame with values of several types in one column, where a missing value is NaN, NaT or NA.
    return iter([_read_frame_row(row) for row in table])


def _read_frame_row(row: Mapping[str, Any]) -> SubscriptionRow:
    others = (row.get(name) for name in COLUMNS[2:])
    present = (None if is_missing(value) else _convert_pairs(value) for value in others)
    return SubscriptionRow(row["id"], row["expression"], *present)


def _iter_arrow(table: pa.Table) -> Iterator[Any]:
    for batch in table.to_batches(max_chunksize=ROWS_PER_BATCH_MAX):
        rows = zip(*(to_objects(column) for column in batch.columns), strict=True)
        names = batch.schema.names
        if len(names) == 2:
            yield from rows
            continue
        for row in rows:
            subscription = SubscriptionRow(**dict(zip(names, row, strict=True)))
            yield subscription._replace(
                weights=_drop_nulls(_convert_pairs(subscription.weights)),
                payload=_drop_nulls(_convert_pairs(subscription.payload)),
            )


def _drop_nulls(value: Any) -> Any:
    """Drop the null fields of a dict, since a struct has all fields in every row; return None for an empty dict."""
    if not isinstance(value, dict):
        return value
    return {name: field for name, field in value.items() if field is not None} or None


def _convert_pairs(value: Any) -> Any:
    """Convert the pairs of an Arrow map to a dict, recursively; return other values as they are."""
    if isinstance(value, list) and all(type(pair) is tuple and len(pair) == 2 for pair in value):
        with suppress(TypeError):
            return {key: _convert_pairs(field) for key, field in value}
    if isinstance(value, dict):
        return {key: _convert_pairs(field) for key, field in value.items()}
    return value
