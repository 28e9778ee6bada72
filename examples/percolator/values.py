"""What does a field make of a value?"""

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from addresses import canonical
from dates import moments
from mapping import DATES, FLOATS, INTEGERS

LETTER = r"[^\W\d_]"
WORD = re.compile(rf"\w+(?:(?:(?<={LETTER})['’‘.:·](?={LETTER})|(?<=\d)['’‘.,;](?=\d))\w+)*")


def words(text: str) -> list[str]:
    """Nearly what the standard analyzer does. Put your own analyzer here."""
    return WORD.findall(text.lower())


def as_value(value: Any, kind: str) -> Any:
    """A value as a field of this type indexes it: a number that is sent as text is a number."""
    if isinstance(value, dict | list):
        raise ValueError(f"{'an object' if isinstance(value, dict) else 'a list'} in place of a value")
    if kind in INTEGERS:
        return math.trunc(number(value))
    if kind in FLOATS:
        return float(number(value))
    if kind == "boolean":
        return truth(value)
    if kind in DATES:
        return moments(value, kind)[0]
    return canonical(str(value)) if kind == "ip" else as_text(value)


def number(given: Any) -> Decimal:
    """A number, exactly; of a double, the digits that are written."""
    try:
        found = Decimal(str(given))
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise ValueError(f"{given!r} is not a number")
    return found


def truth(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if given not in ("true", "false", ""):
        raise ValueError(f"{given!r} is neither true nor false")
    return bool(given == "true")


def as_text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def is_missing(value: Any, kind: str) -> bool:
    """No value: null and, of a number, the empty text."""
    return value is None or (value == "" and kind in INTEGERS | FLOATS)


def flat(given: Any) -> Iterator[Any]:
    """The values of a list, of lists in it, or one value."""
    if isinstance(given, list):
        for one in given:
            yield from flat(one)
    elif given is not None:
        yield given


def as_list(given: Any) -> list[Any]:
    """Return a list, a single value in a list, or an empty list for None."""
    return given if isinstance(given, list) else [] if given is None else [given]
