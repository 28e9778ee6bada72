"""What does a user give as subscriptions? Pairs of an id and an expression, or errors that say what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError, SchemaError, shown
from tellwhen.ids import Id, checked
from tellwhen.lang.ast import Expr
from tellwhen.lang.read import Given, read
from tellwhen.schema import Schema


def pairs_of(subscriptions: Any) -> Iterator[tuple[Id, Given]]:
    """The pairs that a user gives, one by one; an error for what cannot hold any."""
    if isinstance(subscriptions, Mapping):
        return iter(subscriptions.items())
    if hasattr(subscriptions, "columns"):  # a table or a frame; iterating over one gives its columns
        raise ExpressionError(
            "add_many takes pairs of an id and an expression, not a table; such as "
            "df.itertuples(index=False, name=None) of pandas, or zip(ids.to_pylist(), texts.to_pylist()) of Arrow"
        )
    if isinstance(subscriptions, str | bytes) or not isinstance(subscriptions, Iterable):
        raise ExpressionError(
            f"add_many takes a mapping, or pairs of an id and an expression, not {shown(subscriptions)}"
        )
    return iter(subscriptions)


def as_pair(pair: Any) -> tuple[Id, Given]:
    """One of them, its id checked."""
    try:
        id_, given = pair
    except (TypeError, ValueError):
        raise ExpressionError(f"a subscription is a pair of an id and an expression, not {shown(pair)}") from None
    return checked(id_), given


def read_subscription(id_: Id, given: Given, schema: Schema) -> tuple[Expr, str]:
    """Its expression and text; whatever is wrong with it is told with the id."""
    try:
        expression, text = read(given)
        schema.check(expression)
        return expression, text
    except ParseError as error:
        raise ParseError(f"subscription {id_!r}: {error.message}", error.text, error.position) from None
    except (SchemaError, LimitError) as error:
        raise type(error)(f"subscription {id_!r}: {error}") from None
    except ExpressionError as error:
        raise ExpressionError(f"subscription {id_!r}: {error}") from None
