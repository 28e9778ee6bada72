"""Reading of an expression from text, JSON or Python: `read_expression` returns the Expr and its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, describe_value
from tellwhen.language import limits
from tellwhen.language.ast import Expr, as_expr
from tellwhen.language.json import from_json
from tellwhen.language.parser import parse, parse_stored

ExpressionInput = str | Expr | Mapping[str, Any]
"""Text, JSON (as text or parsed), or an Expr."""


class StoredText(str):
    """Text of a subscription from an index. It may be longer than text from a user."""

    __slots__ = ()


def read_expression(expression: ExpressionInput) -> tuple[Expr, str]:
    """Return the expression and its text. Text in the language is returned unchanged.

    Raise ExpressionError for a bool, although it is the JSON form of a constant: it is probably a mistake.
    """
    if type(expression) is StoredText:
        return parse_stored(expression), str(expression)
    if isinstance(expression, str) and not expression.lstrip().startswith("{"):  # JSON begins with a brace, text never
        return parse(expression), expression
    if isinstance(expression, bool):
        # `col("a") & col("b") == 1` is a bool: Python compares the expression `a & b` with 1.
        raise ExpressionError(
            f"expected an expression, found the bool {expression}. In Python, == binds more loosely than &: write "
            f"col('a') & (col('b') == 1). For a constant, write the text '{str(expression).upper()}'"
        )
    try:
        expr = from_json(expression) if isinstance(expression, str | Mapping) else as_expr(expression)
    except TypeError:
        raise ExpressionError(
            f"the expression must be text, an Expr or a JSON mapping, not {describe_value(expression)}"
        ) from None
    text = str(expr)
    if len(text) > limits.STORED_TEXT_CHARACTERS_MAX:
        raise LimitError(
            f"an expression may have at most {limits.STORED_TEXT_CHARACTERS_MAX} characters as text, "
            f"this one has {len(text)}"
        )
    return expr, text
