"""What does a user give as subscriptions? Ids with expressions, perhaps scores, or errors that say what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from tellwhen.compile.scores import WORTHLESS, Worth, checked_score, checked_weights
from tellwhen.errors import ExpressionError, LimitError, ParseError, SchemaError, ScoreError, shown
from tellwhen.ids import Id, checked
from tellwhen.lang.ast import Expr
from tellwhen.lang.literals import shown_name
from tellwhen.lang.read import Given, read
from tellwhen.schema import Schema

DEFAULTS: list[Any] = [0.0, None]
"""The score and the weights of a subscription that is given without."""


def rows_of(subscriptions: Any) -> Iterator[Any]:
    """The subscriptions that a user gives, one by one; an error for what cannot hold any."""
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


def as_subscription(row: Any) -> tuple[Id, Given, Worth]:
    """One of them, its id and its score checked."""
    try:
        if isinstance(row, str | bytes | Mapping):  # whose parts are no id and no expression
            raise TypeError
        values = list(row)
        id_, given, score, weights = values + DEFAULTS[len(values) - 2 :]
    except (TypeError, ValueError):
        raise ExpressionError(
            "a subscription is a tuple of an id and an expression, perhaps followed by its score and its weights, "
            f"not {shown(row)}"
        ) from None
    id_ = checked(id_)
    if len(values) == 2:
        return id_, given, WORTHLESS
    try:
        return id_, given, Worth(checked_score(score), checked_weights(weights))
    except ScoreError as error:
        raise ScoreError(f"subscription {id_!r}: {error}") from None


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
