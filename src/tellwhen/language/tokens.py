"""The tokens of an expression's text, and the constants and names among them.

They come from one `findall`, as strings: the fastest lexer that Python has. It drops their positions, which only errors
need; `fail` finds them by lexing again.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any, NoReturn

from tellwhen.errors import ParseError
from tellwhen.language import limits
from tellwhen.language.literals import IS_NAME, NAME, RESERVED
from tellwhen.language.times import timestamp
from tellwhen.language.values import Constant, constant

# Possessive (*+): an unterminated quote fails at once instead of being retried shorter.
TOKEN = re.compile(
    rf"""\s*+(
        {NAME}
      | '(?:[^']|'')*+'
      | "(?:[^"]|"")*+"
      | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*
      | <= | >= | <> | != | == | \|\| | --
      | \S
    )""",
    re.VERBOSE,
)
INTEGER = re.compile(r"[0-9]+").fullmatch
FLOAT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

SOFT = (
    "STARTS", "ENDS", "WITH", "CONTAINS", "MATCHES", "ESCAPE", "DATE", "TIMESTAMP", "ILIKE", "HAS",
    "ANY", "ALL", "NONE", "CIDR", "CAST", "AS",
)  # fmt: skip
"""Keywords that are names where an attribute is expected."""

WORDS = {*RESERVED, *SOFT}
LONGEST = max(map(len, WORDS))


class _Keywords(dict[str, str | None]):
    """By token: the keyword that it spells, in upper case, or None. Short tokens are kept once they were asked for:
    most names come again, and nothing in Python is faster than looking into a dict."""

    def __missing__(self, token: str) -> str | None:
        if len(token) > LONGEST or not token.isascii():
            return None
        word = token.upper() if token.upper() in WORDS else None
        if len(self) < KEPT_MAX:
            self[token] = word
        return word


KEPT_MAX = 10_000
keyword: Callable[[str], str | None] = _Keywords().__getitem__
"""The keyword that a token spells, if it does."""


class Tokens:
    """A text, and how far it is read."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        # Without white space at the end: the pattern would fail there at every character, in quadratic time.
        self.tokens: list[str] = TOKEN.findall(text.rstrip())
        self.tokens.append("")  # the end
        self.at = 0

    # names

    def attribute(self, token: str, word: str | None) -> str:
        """The name that a token is."""
        first = token[:1]
        if first == '"' and len(token) > 2:
            name = token[1:-1].replace('""', '"')
            if len(name) > limits.NAME or "\0" in name:
                self.fail(f"the name of an attribute has at most {limits.NAME} characters, and no NUL")
            return name
        if word not in RESERVED and (first.isalpha() or IS_NAME(token)):
            if len(token) > limits.NAME:
                self.fail(f"the name of an attribute has at most {limits.NAME} characters")
            return token
        if token == "'":
            self.fail("this string is never closed; a quote inside is written ''")
        if word is not None:
            self.fail(f'expected an attribute, found the keyword {word}; quote it to use it as a name: "{token}"')
        wanted = "an attribute, NOT or (" if self.at == 0 else "an attribute, a constant or ("
        self.fail(f"expected {wanted}, found {show(token)}")

    # constants

    def constant(self) -> Constant:
        """The constant that is due."""
        token = self.tokens[self.at]
        first = token[:1]
        if first.isdecimal() and token.isdigit() and len(token) < 19 and token.isascii():
            self.at += 1
            return int(token)
        if first == "'":
            return self.string("")
        if first.isdecimal() or (first == "." and len(token) > 1):
            return self._number(token)
        word = keyword(token)
        if word == "TRUE" or word == "FALSE":
            self.at += 1
            return word == "TRUE"
        if word == "DATE" or word == "TIMESTAMP":
            self.at += 1
            return self._time(word)
        if first == '"':
            self.fail("expected a constant, found a quoted name; strings take single quotes")
        self.fail(f"expected a constant, found {show(token)}")

    def _number(self, token: str) -> int | float:
        if INTEGER(token):
            # The length first: int() of a huge literal is slow, and refused by Python beyond 4,300 digits.
            value = int(token) if len(token) < 1000 else limits.INTEGER + 1
            if value > limits.INTEGER:
                self.fail(f"integers go up to ±{limits.INTEGER}; write a decimal point to compare as a double")
            self.at += 1
            return value
        if FLOAT(token) and len(token) < 1000:
            number = float(token)
            if number - number != 0:
                self.fail("this number is too large for a double")
            self.at += 1
            return number
        self.fail(f"expected a number, found {show(token)}")

    def string(self, after: str) -> str:
        """The string that is due, after some word."""
        token = self.tokens[self.at]
        if token[:1] != "'" or len(token) < 2:
            if token == "'":
                self.fail("this string is never closed; a quote inside is written ''")
            where = f" after {after}" if after else ""
            self.fail(f"expected a string{where}, found {show(token)}")
        value = token[1:-1]
        if "'" in value:
            value = value.replace("''", "'")
        if len(value) > limits.STRING:
            self.fail(f"a string constant has at most {limits.STRING} characters")
        if "\0" in value:
            self.fail("a string constant contains no NUL")
        self.at += 1
        return value

    def _time(self, word: str) -> Constant:
        text = self.string(word).strip()
        try:
            value: Any = dt.date.fromisoformat(text) if word == "DATE" else timestamp(text)
            return constant(value, word)
        except (ValueError, OverflowError):
            self.at -= 1
            example = "DATE '2026-01-31'" if word == "DATE" else "TIMESTAMP '2026-01-31 23:59:59.123456'"
            self.fail(f"this is not a {word}; an example: {example}")

    # what is due, and what is wrong

    def takes(self, wanted: str) -> bool:
        """Is this the next token, or keyword? Then it is read."""
        token = self.tokens[self.at]
        if token == wanted or keyword(token) == wanted:
            self.at += 1
            return True
        return False

    def expect(self, wanted: str, words: str = "") -> None:
        """Read a token, or keyword, that must follow."""
        if not self.takes(wanted):
            self.fail(f"expected {words or wanted}, found {show(self.tokens[self.at])}")

    def fail(self, message: str) -> NoReturn:
        """Raise ParseError with the position of the current token."""
        if self.tokens[self.at] == "--":
            message = "there are no comments with --; if it is minus a negative value, write - -x"
        elif self.tokens[self.at] in CURLY:
            message = f"text is written in straight quotes, 'like this', not in {self.tokens[self.at]}"
        position = len(self.text)
        for index, match in enumerate(TOKEN.finditer(self.text.rstrip())):
            if index == self.at:
                position = match.start(1)
                break
        raise ParseError(message, self.text, position)


CURLY = frozenset("‘’“”‚„«»`´")


def show(token: str) -> str:
    """A token, in an error."""
    if not token:
        return "the end of the text"
    if token == "'":
        return "a string that is never closed"
    if not token.isprintable():
        return ascii(token) if len(token) < 20 else "a long token"
    return token if len(token) <= 40 else token[:37] + "..."
