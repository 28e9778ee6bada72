"""Text -> Expr: an operator-precedence parser with its own stacks, so that no nesting can exhaust Python's.

Precedence, tightest first: predicate, NOT, AND, XOR and XNOR, OR. Keywords in any case.

The tokens come from one `findall`, as strings: the fastest lexer that Python has. It drops their positions, which only
errors need; `_fail` finds them by lexing again.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, NoReturn

from tellwhen.errors import ExpressionError, LimitError, ParseError
from tellwhen.lang import limits
from tellwhen.lang.ast import And, Connective, Expr, Not, Or, Predicate, Truth, Xnor, Xor
from tellwhen.lang.build import predicate
from tellwhen.lang.times import timestamp
from tellwhen.lang.values import Constant, constant

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
RESERVED = frozenset(["AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"])

# Possessive (*+): an unterminated quote fails at once instead of being retried shorter.
TOKEN = re.compile(
    rf"""\s*+(
        {NAME}
      | '(?:[^']|'')*+'
      | "(?:[^"]|"")*+"
      | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*
      | <= | >= | <> | != | ==
      | \S
    )""",
    re.VERBOSE,
)
IS_NAME = re.compile(NAME).fullmatch
INTEGER = re.compile(r"[0-9]+").fullmatch
FLOAT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

COMPARISON = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "<>", "!=": "<>"}
CONNECTIVES: dict[str, type[Connective]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
BINDING = {"(": 0, "OR": 1, "XOR": 2, "XNOR": 2, "AND": 3, "NOT": 4}
KEYWORDS = {
    spelling: word
    for word in RESERVED | {"STARTS", "ENDS", "WITH", "CONTAINS", "MATCHES", "ESCAPE", "DATE", "TIMESTAMP"}
    for spelling in (word, word.lower(), word.capitalize())
}
INITIALS = {letter for word in KEYWORDS for letter in (word[0].lower(), word[0].upper())}


def parse(text: str) -> Expr:
    """Read an expression; raises ParseError with the position of what is wrong.

    >>> parse("price BETWEEN 20 AND 40 and not genre = 'crime'")
    tellwhen.parse("price BETWEEN 20 AND 40 AND NOT genre = 'crime'")
    """
    if not isinstance(text, str):
        raise ExpressionError(f"an expression's text is a str, not a {type(text).__name__}")
    if len(text) > limits.TEXT:
        raise ParseError(f"an expression has at most {limits.TEXT} characters, this one has {len(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ParseError("a lone surrogate is not text", text, error.start) from None
    return _Parser(text).expression()


def _keyword(token: str) -> str | None:
    """The keyword that a token spells, in upper case. The first letter rules out most names."""
    return KEYWORDS.get(token) or (KEYWORDS.get(token.upper()) if token[0] in INITIALS else None)


class _Parser:
    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        # Without white space at the end: the pattern would fail there at every character, in quadratic time.
        self.tokens: list[str] = TOKEN.findall(text.rstrip())
        self.tokens.append("")  # the end
        self.at = 0

    def expression(self) -> Expr:
        operands: list[Expr] = []
        operators: list[str] = []
        indexes: list[int] = []  # of the operators' tokens, for errors
        tokens = self.tokens
        depth = 0
        while True:
            # an operand is due
            token = tokens[self.at]
            word = _keyword(token) if token else None
            if token == "(" or word == "NOT":
                operators.append("(" if token == "(" else "NOT")
                indexes.append(self.at)
                depth += 1
                if depth > limits.DEPTH:
                    self._fail(f"an expression is nested at most {limits.DEPTH} deep")
                self.at += 1
                continue
            operands.append(self._operand(token, word))
            # an operator is due
            while True:
                token = tokens[self.at]
                if token == ")":
                    depth -= self._reduce(operands, operators, indexes, 1)
                    if not operators:
                        self._fail("this ) closes nothing")
                    operators.pop()
                    indexes.pop()
                    depth -= 1
                    self.at += 1
                    continue
                break
            if not token:
                self._reduce(operands, operators, indexes, 1)
                if operators:
                    self.at = indexes[-1]
                    self._fail("this ( is never closed")
                return operands[0]
            word = _keyword(token)
            if word not in CONNECTIVES:
                self._fail(f"expected AND, OR, XOR, XNOR or the end, found {_show(token)}")
            binding = BINDING[word]
            depth -= self._reduce(operands, operators, indexes, binding + 1)
            # Equal operators wait, so that a chain of n operands becomes a node in one step.
            if operators and operators[-1] != word and BINDING[operators[-1]] == binding:
                self._reduce(operands, operators, indexes, binding)
            operators.append(word)
            indexes.append(self.at)
            self.at += 1

    def _reduce(self, operands: list[Expr], operators: list[str], indexes: list[int], binding: int) -> int:
        """Apply the waiting operators that bind at least this tight; returns how many of them were NOT."""
        negations = 0
        try:
            while operators and BINDING[operators[-1]] >= binding:
                word = operators.pop()
                index = indexes.pop()
                if word == "NOT":
                    operands.append(Not(operands.pop()))
                    negations += 1
                    continue
                count = 2
                while operators and operators[-1] == word:
                    operators.pop()
                    indexes.pop()
                    count += 1
                args = operands[-count:]
                del operands[-count:]
                operands.append(CONNECTIVES[word].of(*args))
        except LimitError as error:
            self.at = index
            self._fail(str(error))
        return negations

    def _operand(self, token: str, word: str | None) -> Expr:
        if word == "TRUE" or word == "FALSE":
            self.at += 1
            return Truth(word == "TRUE")
        attribute = self._attribute(token, word)
        self.at += 1
        start = self.at
        token = self.tokens[start]
        try:
            operator = COMPARISON.get(token)
            if operator is not None:
                self.at += 1
                # A literal of the right type by construction: nothing left for predicate() to check.
                return Predicate(attribute, operator, self._constant(attribute))  # type: ignore[arg-type]
            return self._worded(attribute, _keyword(token) if token else None)
        except (ExpressionError, LimitError) as error:
            self.at = start
            self._fail(str(error))

    def _worded(self, attribute: str, word: str | None) -> Expr:
        """The predicate of an operator that is a word; without one, of a bare Boolean attribute."""
        if word in ("IN", "BETWEEN", "LIKE"):
            return self._negatable(attribute, word, "")
        if word == "NOT":
            self.at += 1
            word = _keyword(self.tokens[self.at] or " ")
            if word in ("IN", "BETWEEN", "LIKE"):
                return self._negatable(attribute, word, "NOT ")
            self._fail("expected IN, BETWEEN or LIKE after NOT; for other operators write NOT before the attribute")
        if word in ("CONTAINS", "MATCHES"):
            self.at += 1
            return predicate(attribute, word, self._string(word))
        if word in ("STARTS", "ENDS"):
            self.at += 1
            self._expect("WITH")
            return predicate(attribute, f"{word} WITH", self._string("WITH"))
        if word == "IS":
            self.at += 1
            negated = _keyword(self.tokens[self.at] or " ") == "NOT"
            self.at += negated
            self._expect("NULL")
            return Predicate(attribute, "IS NOT NULL" if negated else "IS NULL", None)
        if self.tokens[self.at] == "==":
            self._fail("equality is written =")
        return Predicate(attribute, "=", True)

    def _negatable(self, attribute: str, word: str, negation: str) -> Expr:
        """The predicate of an operator that may follow NOT."""
        self.at += 1
        if word == "LIKE":
            pattern = self._string("LIKE")
            escape = None
            if _keyword(self.tokens[self.at] or " ") == "ESCAPE":
                self.at += 1
                escape = self._string("ESCAPE")
            return predicate(attribute, negation + word, (pattern, escape))
        if word == "BETWEEN":
            low = self._constant(attribute)
            self._expect("AND")
            return self._listed(attribute, negation + word, (low, self._constant(attribute)))
        self._expect("(")
        constants = [self._constant(attribute)]
        while self.tokens[self.at] == ",":
            self.at += 1
            constants.append(self._constant(attribute))
        self._expect(")", "a comma or )")
        return self._listed(attribute, negation + word, tuple(constants))

    def _listed(self, attribute: str, operator: Any, constants: tuple[Constant, ...]) -> Predicate:
        # Each literal is right by construction. What is left to check: how many there are, and that they go together.
        kind = type(constants[0])
        if kind is not float and len(constants) <= limits.MEMBERS and all([type(c) is kind for c in constants]):
            return Predicate(attribute, operator, constants)
        return predicate(attribute, operator, constants)

    def _attribute(self, token: str, word: str | None) -> str:
        first = token[:1]
        if first == '"' and len(token) > 2:
            name = token[1:-1].replace('""', '"')
            if len(name) > limits.NAME or "\0" in name:
                self._fail(f"the name of an attribute has at most {limits.NAME} characters, and no NUL")
            return name
        if word not in RESERVED and (first.isalpha() or IS_NAME(token)):
            if len(token) > limits.NAME:
                self._fail(f"the name of an attribute has at most {limits.NAME} characters")
            return token
        if first and (first in "'.-" or first.isdigit()) and token != "'":
            self._fail("expected an attribute, found a constant; write the attribute first")
        if word is not None:
            self._fail(f'expected an attribute, found the keyword {word}; quote it to use it as a name: "{token}"')
        self._fail(f"expected an attribute, NOT or (, found {_show(token)}")

    def _constant(self, attribute: str) -> Constant:
        token = self.tokens[self.at]
        first = token[:1]
        if first.isdigit() and token.isdigit() and len(token) < 19 and token.isascii():
            self.at += 1
            return int(token)
        if first == "'":
            return self._string("")
        if first == "-" or first == "+":
            self.at += 1
            value = self._number(self.tokens[self.at])
            return -value if first == "-" else value
        if first.isdigit() or (first == "." and len(token) > 1):
            return self._number(token)
        word = _keyword(token) if token else None
        if word == "TRUE" or word == "FALSE":
            self.at += 1
            return word == "TRUE"
        if word == "DATE" or word == "TIMESTAMP":
            self.at += 1
            return self._time(word, attribute)
        if word == "NULL":
            self._fail("nothing compares with NULL; write IS NULL or IS NOT NULL")
        if first == '"':
            self._fail("expected a constant, found a quoted name; strings take single quotes")
        self._fail(f"expected a constant, found {_show(token)}")

    def _number(self, token: str) -> int | float:
        if INTEGER(token):
            # The length first: int() of a huge literal is slow, and refused by Python beyond 4,300 digits.
            value = int(token) if len(token) < 1000 else limits.INTEGER + 1
            if value > limits.INTEGER:
                self._fail(f"integers go up to ±{limits.INTEGER}; write a decimal point to compare as a double")
            self.at += 1
            return value
        if FLOAT(token) and len(token) < 1000:
            number = float(token)
            if number - number != 0:
                self._fail("this number is too large for a double")
            self.at += 1
            return number
        self._fail(f"expected a number, found {_show(token)}")

    def _string(self, after: str) -> str:
        token = self.tokens[self.at]
        if token[:1] != "'" or len(token) < 2:
            if token == "'":
                self._fail("this string is never closed; a quote inside is written ''")
            where = f" after {after}" if after else ""
            self._fail(f"expected a string{where}, found {_show(token)}")
        value = token[1:-1]
        if "'" in value:
            value = value.replace("''", "'")
        if len(value) > limits.STRING:
            self._fail(f"a string constant has at most {limits.STRING} characters")
        if "\0" in value:
            self._fail("a string constant contains no NUL")
        self.at += 1
        return value

    def _time(self, word: str, attribute: str) -> Constant:
        text = self._string(word).strip()
        try:
            value: Any = dt.date.fromisoformat(text) if word == "DATE" else timestamp(text)
            return constant(value, attribute)
        except (ValueError, OverflowError):
            self.at -= 1
            example = "DATE '2026-01-31'" if word == "DATE" else "TIMESTAMP '2026-01-31 23:59:59.123456'"
            self._fail(f"this is not a {word}; an example: {example}")

    def _expect(self, wanted: str, words: str = "") -> None:
        token = self.tokens[self.at]
        if token != wanted and (not token or _keyword(token) != wanted):
            self._fail(f"expected {words or wanted}, found {_show(token)}")
        self.at += 1

    def _fail(self, message: str) -> NoReturn:
        position = len(self.text)
        for index, match in enumerate(TOKEN.finditer(self.text.rstrip())):
            if index == self.at:
                position = match.start(1)
                break
        raise ParseError(message, self.text, position)


def _show(token: str) -> str:
    if not token:
        return "the end of the text"
    if token == "'":
        return "a string that is never closed"
    if not token.isprintable():
        return ascii(token) if len(token) < 20 else "a long token"
    return token if len(token) <= 40 else token[:37] + "..."
