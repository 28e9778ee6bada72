"""Errors of this package, all derived from `TellwhenError`, and the formatting of values in messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TellwhenError(Exception):
    """Base class of all errors of this package."""


class ParseError(TellwhenError, ValueError):
    """An expression that cannot be parsed, with the position of the error.

    Attributes
    ----------
    message : str
        The message without the position.
    text : str
        The expression; empty if unknown.
    position : int
        The index in `text` where the error is.

    Examples
    --------
    >>> import tellwhen as tw
    >>> try:
    ...     tw.parse("price > ")
    ... except tw.ParseError as error:
    ...     print(error)
    expected a constant or an attribute, found the end of the text, at position 8
      price >
              ^
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message, text, position)
        self.message = message
        self.text = text
        self.position = position

    def __str__(self) -> str:
        if not self.text:
            return self.message
        excerpt, column = _excerpt(self.text, self.position)
        caret = " " * column + "^"
        return f"{self.message}, at position {self.position}\n  {excerpt}\n  {caret}"


def _excerpt(text: str, position: int, before: int = 50, after: int = 28) -> tuple[str, int]:
    """Return the part of `text` around `position` on one printable line, and the column of the position in it."""
    start, end = max(0, position - before), position + after
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[start:end])
    left = "..." if start else ""
    right = "..." if end < len(text) else ""
    return (left + clean + right).rstrip(), len(left) + position - start


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as 1 event or 2 events."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def abbreviate(value: object, length: int = 60) -> str:
    """Return the repr of a value for a message, with at most `length` characters."""
    try:
        text = repr(value)
    except Exception:  # Python refuses to convert an int of thousands of digits
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= length else text[: length - 3] + "..."


def describe_value(value: object) -> str:
    """Return the type and the abbreviated repr of a value for a message, such as `the int 5`."""
    return f"the {type(value).__name__} {abbreviate(value)}"


def find_similar(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the candidate that is spelt most like `name`; None if no similarity reaches `cutoff`, of at most 1."""
    matches = get_close_matches(name, list(candidates), 1, cutoff)
    return matches[0] if matches else None


class LimitError(TellwhenError, ValueError):
    """An expression larger than a stated limit (`tellwhen.language.limits`)."""


class ExpressionError(TellwhenError, ValueError):
    """An invalid expression that was built in Python or given as JSON, or an invalid row of subscriptions."""


class SchemaError(TellwhenError, ValueError):
    """A constant that contradicts the declared type of its attribute, or an invalid declaration."""


class EventError(TellwhenError, TypeError):
    """An invalid event, such as a list, or a table in which a column occurs twice."""


class IdError(TellwhenError, TypeError):
    """An invalid subscription id: neither a str nor an int of 64 bits."""


class DuplicateId(TellwhenError, ValueError):
    """A subscription has this id already; pass `replace=True` to replace it."""


class UnknownId(TellwhenError, KeyError):
    """No subscription has this id."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ScoreError(TellwhenError, ValueError):
    """An invalid score or weight, or an interval that a scored structure cannot hold.

    Scores and weights are finite numbers, and a weight belongs to an attribute of the expression.
    """


class PayloadError(TellwhenError, ValueError):
    """A payload that is not a JSON object."""


class ArgumentError(TellwhenError, ValueError):
    """An invalid argument value, such as k=0 or threads=0."""


class StateError(TellwhenError, RuntimeError):
    """A call that the current state does not allow, such as a change inside a change of the same thread."""


class MissingTextsError(TellwhenError, LookupError):
    """A request for the text of an expression in an index that stores no texts (`texts=False`)."""


class MissingPackageError(TellwhenError, ImportError):
    """An optional package that a function needs is not installed."""


class EngineError(TellwhenError, ValueError):
    """An unknown engine or option, or a capability that the engine does not have."""


class BudgetError(TellwhenError, ValueError):
    """An expression whose normal form is larger than the engine allows."""


class FormatError(TellwhenError, ValueError):
    """A saved index that is damaged, incomplete, or of another format."""


class ConflictError(FormatError):
    """An update that another update of the same index overtook; run it again."""


class SparkSetupError(TellwhenError, RuntimeError):
    """Spark cannot start: PySpark or a suitable Java is missing."""
