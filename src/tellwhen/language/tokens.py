"""Lexer: the tokens of an expression's text, and the names and constants among them.

The tokens are strings from one `findall`, the fastest lexer in Python. It drops the positions of the tokens, which only
errors need; `fail` finds the position by lexing again.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn

from tellwhen.errors import ParseError, abbreviate
from tellwhen.language import limits
from tellwhen.language.literals import NAME_PATTERN, RESERVED_KEYWORDS, is_plain_name
from tellwhen.language.times import parse_timestamp
from tellwhen.language.values import Constant, normalize_constant

# Possessive (*+), so that an unterminated quote fails at once, without backtracking.
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
    """The keyword in upper case that a token spells, or None, by token.

    Short tokens are cached, because names recur and a dict is the fastest lookup in Python.
    """

    def __missing__(self, token: str) -> str | None:
        if len(token) > KEYWORD_LENGTH_MAX or not token.isascii():
            return None
        keyword = token.upper() if token.upper() in KEYWORDS else None
        if len(self) < CACHED_TOKENS_MAX:
            self[token] = keyword
        return keyword


CACHED_TOKENS_MAX = 10_000
find_keyword: Callable[[str], str | None] = _KeywordCache().__getitem__
"""Return the keyword in upper case that a token spells, or None."""


class TokenReader:
    """Tokens of a text and the index of the next token to read."""

    __slots__ = ("index", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        # rstrip, because the pattern would fail at every trailing white space, in quadratic time.
        self.tokens: list[str] = TOKEN_PATTERN.findall(text.rstrip())
        self.tokens.append("")  # the end
        self.index = 0

    # names

    def decode_name(self, token: str, keyword: str | None) -> str:
        """Return the attribute name that a token spells; fail if it is not a name. `keyword` is the token's keyword."""
        first = token[:1]
        if first == '"' and len(token) > 2:
            name = token[1:-1].replace('""', '"')
            if len(name) > limits.NAME_CHARACTERS_MAX or "\0" in name:
                self.fail(
                    f"the name of an attribute may have at most {limits.NAME_CHARACTERS_MAX} characters, and no NUL"
                )
            return name
        if keyword not in RESERVED_KEYWORDS and (first.isalpha() or is_plain_name(token)):
            if len(token) > limits.NAME_CHARACTERS_MAX:
                self.fail(f"the name of an attribute may have at most {limits.NAME_CHARACTERS_MAX} characters")
            return token
        if token == "'":
            self.fail("this string is never closed; a quote inside is written ''")
        if keyword is not None:
            self.fail(f'expected an attribute, found the keyword {keyword}; quote it to use it as a name: "{token}"')
        expected = 'an attribute, NOT or "("' if self.index == 0 else 'an attribute, a constant or "("'
        self.fail(f"expected {expected}, found {describe_token(token)}")

    # constants

    def read_constant(self) -> Constant:
        """Read a constant; fail if the next token begins none."""
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
            self.fail("expected a constant, found a quoted name; write strings in single quotes")
        self.fail(f"expected a constant, found {describe_token(token)}")

    def _read_number(self, token: str) -> int | float:
        if is_integer_literal(token):
            # The length is tested first: int() of a huge literal is slow, and fails beyond 4,300 digits.
            value = int(token) if len(token) < 1000 else limits.INTEGER_MAX + 1
            if value > limits.INTEGER_MAX:
                self.fail(
                    f"an integer must be within ±{limits.INTEGER_MAX}; write a decimal point to compare as a double"
                )
            self.index += 1
            return value
        if is_float_literal(token) and len(token) < 1000:
            number = float(token)
            if number - number != 0:
                self.fail("this number is too large for a double")
            self.index += 1
            return number
        self.fail(f"expected a number, found {describe_token(token)}")

    def read_string(self, preceding: str) -> str:
        """Read a string; fail if the next token is none. `preceding` is the keyword before it, for the error."""
        token = self.tokens[self.index]
        if token[:1] != "'" or len(token) < 2:
            if token == "'":
                self.fail("this string is never closed; a quote inside is written ''")
            where = f" after {preceding}" if preceding else ""
            self.fail(f"expected a string{where}, found {describe_token(token)}")
        value = token[1:-1]
        if "'" in value:
            value = value.replace("''", "'")
        if len(value) > limits.STRING_CHARACTERS_MAX:
            self.fail(
                f"a string constant may have at most {limits.STRING_CHARACTERS_MAX} characters, "
                f"this one has {len(value)}"
            )
        if "\0" in value:
            self.fail("a string constant must not contain NUL")
        self.index += 1
        return value

    def _read_time(self, keyword: str) -> Constant:
        text = self.read_string(keyword).strip()
        try:
            value: Any = dt.date.fromisoformat(text) if keyword == "DATE" else parse_timestamp(text)
            return normalize_constant(value, keyword)
        except (ValueError, OverflowError):
            self.index -= 1
            if keyword == "DATE":
                self.fail(f"{abbreviate(text)} is not a date: expected YYYY-MM-DD, such as DATE '2026-01-31'")
            self.fail(
                f"{abbreviate(text)} is not a timestamp: expected YYYY-MM-DD hh:mm:ss, with at most six digits of a "
                "second, such as TIMESTAMP '2026-01-31 23:59:59.123456'"
            )

    # expected tokens and errors

    def accept(self, expected: str) -> bool:
        """Read the next token if it is the expected token or keyword; return whether it was."""
        token = self.tokens[self.index]
        if token == expected or find_keyword(token) == expected:
            self.index += 1
            return True
        return False

    def expect(self, expected: str, description: str = "") -> None:
        """Read the expected token or keyword; fail if another one is next."""
        if not self.accept(expected):
            description = description or (expected if expected.isalpha() else f'"{expected}"')
            self.fail(f"expected {description}, found {describe_token(self.tokens[self.index])}")

    def fail(self, message: str) -> NoReturn:
        """Raise ParseError at the position of the next token."""
        if self.tokens[self.index] == "--":
            message = "comments with -- are not supported; to negate twice, write - -x"
        elif self.tokens[self.index] in CURLY_QUOTES:
            message = f"expected straight quotes, 'like this', found {self.tokens[self.index]}"
        raise ParseError(message, self.text, self._find_span(self.index)[0])

    def follows_string(self) -> bool:
        """Return whether a string ends directly before the next token, without white space between them."""
        if not self.index or self.tokens[self.index - 1][:1] != "'":
            return False
        return self._find_span(self.index - 1)[1] == self._find_span(self.index)[0]

    def _find_span(self, index: int) -> tuple[int, int]:
        """Return the positions in the text where a token begins and ends."""
        matches = TOKEN_PATTERN.finditer(self.text.rstrip())
        match = next(islice(matches, index, None), None)
        return match.span(1) if match is not None else (len(self.text), len(self.text))


CURLY_QUOTES = frozenset("‘’“”‚„«»`´")


def describe_token(token: str) -> str:
    """Return a token as text for an error, shortened, and in quotes unless it has quotes itself."""
    if not token:
        return "the end of the text"
    if token == "'":
        return "a string that is never closed"
    if not token.isprintable():
        return ascii(token) if len(token) < 20 else "a long token"
    shortened = token if len(token) <= 40 else token[:37] + "..."
    return shortened if token[0] in "'\"" else f'"{shortened}"'
