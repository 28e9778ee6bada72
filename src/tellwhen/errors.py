"""The errors of this package, all derived from `TellwhenError`. A message says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TellwhenError(Exception):
    """The base of all errors of this package."""


class ParseError(TellwhenError, ValueError):
    """An expression that cannot be parsed, with the position of the error.

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


def pluralize(count: int, what: str, several: str | None = None) -> str:
    """Return a count with its noun, such as 1 event or 2 events."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def abbreviate(value: object, length: int = 60) -> str:
    """Return the repr of a value, cut short for a message.

    An int of thousands of digits has no repr.
    """
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= length else text[: length - 3] + "..."


def find_similar(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the candidate that is spelt most like `name`; None if no similarity reaches `cutoff`, of at most 1."""
    matches = get_close_matches(name, list(candidates), 1, cutoff)
    return matches[0] if matches else None


class LimitError(TellwhenError, ValueError):
    """An expression larger than a stated limit (`tellwhen.language.limits`)."""


class ExpressionError(TellwhenError, ValueError):
    """An expression built in Python, or given as JSON, that has no meaning."""


class SchemaError(TellwhenError, ValueError):
    """A constant that contradicts the declared type of its attribute, or a declaration that is wrong."""


class EventError(TellwhenError, TypeError):
    """Something that is not an event."""


class IdError(TellwhenError, TypeError):
    """A subscription id that is neither a str nor an int of 64 bits."""


class DuplicateId(TellwhenError, ValueError):
    """The id is in use; pass `replace=True` to replace its subscription."""


class UnknownId(TellwhenError, KeyError):
    """No subscription has this id."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ScoreError(TellwhenError, ValueError):
    """An invalid score or weight, or an interval that a scored structure cannot hold.

    Scores and weights are finite numbers, and a weight belongs to an attribute of the expression.
    """


class PayloadError(TellwhenError, ValueError):
    """A payload that is no JSON object."""


class ArgumentError(TellwhenError, ValueError):
    """An invalid argument value, such as k=0 or threads=0."""


class StateError(TellwhenError, RuntimeError):
    """A call that is impossible in the present state, such as a change inside a change of the same thread."""


class MissingTextsError(TellwhenError, LookupError):
    """No expression can be shown: the index stores no texts (`texts=False`)."""


class MissingPackageError(TellwhenError, ImportError):
    """An optional package that a function needs is not installed."""


class EngineError(TellwhenError, ValueError):
    """An unknown engine or option, or a capability that the engine does not have."""


class BudgetError(TellwhenError, ValueError):
    """An expression whose normal form is larger than the engine allows."""


class FormatError(TellwhenError, ValueError):
    """A saved index that is damaged, incomplete, or of another format."""


class ConflictError(FormatError):
    """Another update of the same index was committed first; run this one again."""


class SparkSetupError(TellwhenError, RuntimeError):
    """Spark cannot start here: PySpark or a Java it runs on is missing."""
