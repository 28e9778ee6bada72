"""An expression in any form that a user may give it -> Expr, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tellwhen.errors import ExpressionError, LimitError
from tellwhen.language import limits
from tellwhen.language.ast import Expr, as_expr
from tellwhen.language.json import from_json
from tellwhen.language.parser import parse, parse_stored

ExpressionInput = str | Expr | Mapping[str, Any]
"""Text, JSON (as text or parsed), or an expression."""


class StoredText(str):
    """The text of a subscription that an index has taken before: it may be longer than what a user may write."""

    __slots__ = ()


def read_expression(given: ExpressionInput) -> tuple[Expr, str]:
    """The expression and its text: the user's own, if text was given."""
    if type(given) is StoredText:
        return parse_stored(given), str(given)
    if isinstance(given, str) and not given.lstrip().startswith("{"):  # no text of an expression starts with a brace
        return parse(given), given
    try:
        expression = from_json(given) if isinstance(given, str | Mapping | bool) else as_expr(given)
    except TypeError as error:
        raise ExpressionError(str(error)) from None
    text = str(expression)
    if len(text) > limits.STORED_TEXT_CHARACTERS_MAX:
        raise LimitError(f"as text the expression has more than {limits.STORED_TEXT_CHARACTERS_MAX} characters")
    return expression, text
