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
from tellwhen.language.literals import NAME_PATTERN, RESERVED_KEYWORDS, is_plain_name
from tellwhen.language.times import parse_timestamp
from tellwhen.language.values import Constant, normalize_constant

# Possessive (*+): an unterminated quote fails at once instead of being retried shorter.
TOKEN_PATTERN = re.compile(
    rf"""\s*+(
        {NAME_PATTERN}
      | '(?:[^']|'')*+'
      | "(?:[^"]|"")*+"
      | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*
      | <= | >= | <> | != | == | \|\| | --
      | \S
    )""",
    re.VERBOSE,
)
is_integer_literal = re.compile(r"[0-9]+").fullmatch
is_float_literal = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

CONTEXTUAL_KEYWORDS = (
    "STARTS", "ENDS", "WITH", "CONTAINS", "MATCHES", "ESCAPE", "DATE", "TIMESTAMP", "ILIKE", "HAS",
    "ANY", "ALL", "NONE", "CIDR", "CAST", "AS",
)  # fmt: skip
"""Keywords that are names where an attribute is expected."""

KEYWORDS = {*RESERVED_KEYWORDS, *CONTEXTUAL_KEYWORDS}
KEYWORD_LENGTH_MAX = max(map(len, KEYWORDS))


class _KeywordCache(dict[str, str | None]):
    """By token: the keyword that it spells, in upper case, or None. Short tokens are kept once they were asked for:
    most names come again, and nothing in Python is faster than looking into a dict."""

    def __missing__(self, token: str) -> str | None:
        if len(token) > KEYWORD_LENGTH_MAX or not token.isascii():
            return None
        keyword = token.upper() if token.upper() in KEYWORDS else None
        if len(self) < CACHED_TOKENS_MAX:
            self[token] = keyword
        return keyword


CACHED_TOKENS_MAX = 10_000
find_keyword: Callable[[str], str | None] = _KeywordCache().__getitem__
"""The keyword that a token spells, if it does."""


class TokenReader:
    """A text, and how far it is read."""

    __slots__ = ("index", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        # Without white space at the end: the pattern would fail there at every character, in quadratic time.
        self.tokens: list[str] = TOKEN_PATTERN.findall(text.rstrip())
        self.tokens.append("")  # the end
        self.index = 0

    # names

    def decode_name(self, token: str, keyword: str | None) -> str:
        """The name that a token is."""
        first = token[:1]
        if first == '"' and len(token) > 2:
            name = token[1:-1].replace('""', '"')
            if len(name) > limits.NAME_CHARACTERS_MAX or "\0" in name:
                self.fail(f"the name of an attribute has at most {limits.NAME_CHARACTERS_MAX} characters, and no NUL")
            return name
        if keyword not in RESERVED_KEYWORDS and (first.isalpha() or is_plain_name(token)):
            if len(token) > limits.NAME_CHARACTERS_MAX:
                self.fail(f"the name of an attribute has at most {limits.NAME_CHARACTERS_MAX} characters")
            return token
        if token == "'":
            self.fail("this string is never closed; a quote inside is written ''")
        if keyword is not None:
            self.fail(f'expected an attribute, found the keyword {keyword}; quote it to use it as a name: "{token}"')
        wanted = "an attribute, NOT or (" if self.index == 0 else "an attribute, a constant or ("
        self.fail(f"expected {wanted}, found {describe_token(token)}")

    # constants

    def read_constant(self) -> Constant:
        """The constant that is due."""
        token = self.tokens[self.index]
        first = token[:1]
        if first.isdecimal() and token.isdigit() and len(token) < 19 and token.isascii():
            self.index += 1
            return int(token)
        if first == "'":
            return self.read_string("")
        if first.isdecimal() or (first == "." and len(token) > 1):
            return self._read_number(token)
        keyword = find_keyword(token)
        if keyword == "TRUE" or keyword == "FALSE":
            self.index += 1
            return keyword == "TRUE"
        if keyword == "DATE" or keyword == "TIMESTAMP":
            self.index += 1
            return self._read_time(keyword)
        if first == '"':
            self.fail("expected a constant, found a quoted name; strings take single quotes")
        self.fail(f"expected a constant, found {describe_token(token)}")

    def _read_number(self, token: str) -> int | float:
        if is_integer_literal(token):
            # The length first: int() of a huge literal is slow, and refused by Python beyond 4,300 digits.
            value = int(token) if len(token) < 1000 else limits.INTEGER_MAX + 1
            if value > limits.INTEGER_MAX:
                self.fail(f"integers go up to ±{limits.INTEGER_MAX}; write a decimal point to compare as a double")
            self.index += 1
            return value
        if is_float_literal(token) and len(token) < 1000:
            number = float(token)
            if number - number != 0:
                self.fail("this number is too large for a double")
            self.index += 1
            return number
        self.fail(f"expected a number, found {describe_token(token)}")

    def read_string(self, after: str) -> str:
        """The string that is due, after some keyword."""
        token = self.tokens[self.index]
        if token[:1] != "'" or len(token) < 2:
            if token == "'":
                self.fail("this string is never closed; a quote inside is written ''")
            where = f" after {after}" if after else ""
            self.fail(f"expected a string{where}, found {describe_token(token)}")
        value = token[1:-1]
        if "'" in value:
            value = value.replace("''", "'")
        if len(value) > limits.STRING_CHARACTERS_MAX:
            self.fail(f"a string constant has at most {limits.STRING_CHARACTERS_MAX} characters")
        if "\0" in value:
            self.fail("a string constant contains no NUL")
        self.index += 1
        return value

    def _read_time(self, keyword: str) -> Constant:
        text = self.read_string(keyword).strip()
        try:
            value: Any = dt.date.fromisoformat(text) if keyword == "DATE" else parse_timestamp(text)
            return normalize_constant(value, keyword)
        except (ValueError, OverflowError):
            self.index -= 1
            example = "DATE '2026-01-31'" if keyword == "DATE" else "TIMESTAMP '2026-01-31 23:59:59.123456'"
            self.fail(f"this is not a {keyword}; an example: {example}")

    # what is due, and what is wrong

    def accept(self, wanted: str) -> bool:
        """Is this the next token, or keyword? Then it is read."""
        token = self.tokens[self.index]
        if token == wanted or find_keyword(token) == wanted:
            self.index += 1
            return True
        return False

    def expect(self, wanted: str, words: str = "") -> None:
        """Read a token, or keyword, that must follow."""
        if not self.accept(wanted):
            self.fail(f"expected {words or wanted}, found {describe_token(self.tokens[self.index])}")

    def fail(self, message: str) -> NoReturn:
        """Raise ParseError with the position of the current token."""
        if self.tokens[self.index] == "--":
            message = "there are no comments with --; if it is minus a negative value, write - -x"
        elif self.tokens[self.index] in CURLY_QUOTES:
            message = f"text is written in straight quotes, 'like this', not in {self.tokens[self.index]}"
        position = len(self.text)
        for index, match in enumerate(TOKEN_PATTERN.finditer(self.text.rstrip())):
            if index == self.index:
                position = match.start(1)
                break
        raise ParseError(message, self.text, position)


CURLY_QUOTES = frozenset("‘’“”‚„«»`´")


def describe_token(token: str) -> str:
    """A token, in an error."""
    if not token:
        return "the end of the text"
    if token == "'":
        return "a string that is never closed"
    if not token.isprintable():
        return ascii(token) if len(token) < 20 else "a long token"
    return token if len(token) <= 40 else token[:37] + "..."
