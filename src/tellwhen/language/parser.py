"""Text -> Expr: an operator-precedence parser with its own stacks, so that no nesting can exhaust Python's.

Precedence, tightest first: terms (`term_parser.py`), predicate, NOT, AND, XOR and XNOR, OR. Keywords in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError
from tellwhen.language import limits
from tellwhen.language.ast import And, Connective, Expr, Not, Operator, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.build import has, predicate
from tellwhen.language.comparisons import NOT_KNOWN, alike, between, compared, holds, in_networks, one_of, tested
from tellwhen.language.term_parser import TermParser
from tellwhen.language.terms import BINDING as SYMBOLS
from tellwhen.language.terms import RELATIONS, Call, Each, Literal, Name, Term
from tellwhen.language.tokens import keyword, show
from tellwhen.language.values import Constant

COMPARISON = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "<>", "!=": "<>"}
CONNECTIVES: dict[str, type[Connective]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
BINDING = {"(": 0, "OR": 1, "XOR": 2, "XNOR": 2, "AND": 3, "NOT": 4}
TAILS = frozenset(["IN", "BETWEEN", "LIKE", "ILIKE", "IS", "NOT", "STARTS", "ENDS", "CONTAINS", "MATCHES", "HAS"])
"""Words that begin the operator of a predicate."""

LITERALS = frozenset(["TRUE", "FALSE", "NULL"])
FIRST = frozenset("'0123456789")
"""What most constants begin with."""

NO_CONDITION = frozenset(["abs", "address", "date_part", "length", "lower", "round", "substr", "upper", *SYMBOLS])
"""Functions whose result is never TRUE or FALSE."""


def parse(text: str) -> Expr:
    """Read an expression; raises ParseError with the position of what is wrong.

    >>> parse("price BETWEEN 20 AND 40 and not genre = 'crime'")
    tellwhen.parse("price BETWEEN 20 AND 40 AND NOT genre = 'crime'")
    """
    return _Parser(_checked(text)).expression()


def parse_stored(text: str) -> Expr:
    """Read the text of an expression that was made in Python, and may be longer than what a user may write."""
    return _Parser(_checked(text, limits.STORED)).expression()


def parse_term(text: str) -> Term:
    """Read what a computed attribute is named after: a term, or a comparison of two."""
    parser = _Parser(_checked(text, limits.STORED))
    parser._is_own = True
    found = parser.term()
    if parser.tokens[parser.at] in RELATIONS:
        operator = parser.tokens[parser.at]
        parser.at += 1
        found = Call(operator, (found, parser.term()))
    parser.expect("", "the end")
    return found


def _checked(text: str, most: int = limits.TEXT) -> str:
    if not isinstance(text, str):
        raise ExpressionError(f"an expression's text is a str, not a {type(text).__name__}")
    if len(text) > most:
        raise ParseError(f"an expression has at most {most} characters, this one has {len(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ParseError("a lone surrogate is not text", text, error.start) from None
    return text


class _Parser(TermParser):
    _closed_by: dict[int, int] | None = None  # by the index of an opening parenthesis

    def expression(self, closing: str = "") -> Expr:
        operands: list[Expr] = []
        operators: list[str] = []
        indexes: list[int] = []  # of the operators' tokens, for errors
        tokens = self.tokens
        depth = 0
        while True:
            # an operand is due
            token = tokens[self.at]
            word = keyword(token)
            if word == "NOT" or (token == "(" and not self._is_term()):
                operators.append("(" if token == "(" else "NOT")
                indexes.append(self.at)
                depth += 1
                if depth > limits.DEPTH:
                    self.fail(f"an expression is nested at most {limits.DEPTH} deep")
                self.at += 1
                continue
            operands.append(self._operand(token, word))
            # an operator is due
            while True:
                token = tokens[self.at]
                if token == ")":
                    depth -= self._reduce(operands, operators, indexes, 1)
                    if not operators:
                        self.fail("this ) closes nothing")
                    operators.pop()
                    indexes.pop()
                    depth -= 1
                    self.at += 1
                    continue
                break
            if token == closing:
                self._reduce(operands, operators, indexes, 1)
                if operators:
                    self.at = indexes[-1]
                    self.fail("this ( is never closed")
                self.at += 1
                return operands[0]
            word = keyword(token)
            if word not in CONNECTIVES:
                hint = "; write AND" if token[:1] == "&" else ""
                self.fail(f"expected AND, OR, XOR, XNOR or {closing or 'the end'}, found {show(token)}{hint}")
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
            self.fail(str(error))
        return negations

    def _is_term(self) -> bool:
        """Does this parenthesis enclose a term, not an expression? What follows its end tells: an operator of terms."""
        if self._closed_by is None:
            self._closed_by = {}
            waiting = []
            for index, token in enumerate(self.tokens):
                if token == "(":
                    waiting.append(index)
                elif token == ")" and waiting:
                    self._closed_by[waiting.pop()] = index
        last = self._closed_by.get(self.at)
        if last is None:
            return False
        after = self.tokens[last + 1]
        return after in COMPARISON or after in SYMBOLS or keyword(after) in TAILS

    # predicates

    def _operand(self, token: str, word: str | None) -> Expr:
        tokens, start = self.tokens, self.at
        if not token:
            self.fail("expected an attribute, NOT or (, found the end of the text")
        following = tokens[start + 1]
        if (word is None or word not in LITERALS) and (token[0].isalpha() or token[0] in '_"'):
            operator = COMPARISON.get(following)
            if operator is not None and tokens[start + 2][:1] in FIRST and tokens[start + 3] not in SYMBOLS:
                # The common case. A literal is of a right type by construction: nothing left to check.
                attribute = self.attribute(token, word)
                self.at = start + 2
                return Predicate(attribute, operator, self.constant())  # type: ignore[arg-type]
            if following not in SYMBOLS and following != "(" and following != "[" and following[:1] != "'":
                attribute = self.attribute(token, word)
                self.at += 1
                return self._tail(attribute)
        return self._tail(self.term())

    def _tail(self, left: str | Term) -> Expr:
        """The predicate whose left side is read: an attribute, or a term."""
        start = self.at
        try:
            return self._compared(left, self.tokens[start])
        except ParseError:
            raise
        except (ExpressionError, LimitError) as error:
            self.at = start
            self.fail(str(error))

    def _compared(self, left: str | Term, token: str) -> Expr:
        operator = COMPARISON.get(token)
        if operator is not None:
            self.at += 1
            if token == "=" and (order := self.tokens[self.at]) in (">", "<"):
                self.at -= 1
                self.fail(f"={order} is written {order}=")
            right = self._value()
            if isinstance(left, str) and not isinstance(right, Term):
                return Predicate(left, operator, right)  # type: ignore[arg-type]
            return compared(_left(left), operator, _right(right))
        word = keyword(token)
        if word == "NOT":
            self.at += 1
            word = keyword(self.tokens[self.at])
            if word not in ("IN", "BETWEEN", "LIKE", "ILIKE"):
                self.fail(
                    "expected IN, BETWEEN, LIKE or ILIKE after NOT; for other operators write NOT before the attribute"
                )
            return self._negatable(left, word, True)
        if word in ("IN", "BETWEEN", "LIKE", "ILIKE"):
            return self._negatable(left, word, False)
        if word in ("CONTAINS", "MATCHES"):
            self.at += 1
            return self._with_text(left, word)
        if word in ("STARTS", "ENDS"):
            self.at += 1
            self.expect("WITH")
            return self._with_text(left, f"{word} WITH")
        if word == "HAS":
            return self._has(left)
        if word == "IS":
            self.at += 1
            presence: Operator = "IS NOT NULL" if self.takes("NOT") else "IS NULL"
            self.expect("NULL", "NULL (other values are compared with = and <>)")
            return Predicate(left, presence, None) if isinstance(left, str) else tested(left, presence, None)
        if token == "==":
            self.fail("equality is written =")
        return self._bare(left)

    def _bare(self, left: str | Term) -> Expr:
        """Without an operator: something that is TRUE or FALSE itself."""
        if isinstance(left, str):
            return Predicate(left, "=", True)
        if isinstance(left, Literal):
            if left.value is None or isinstance(left.value, bool):
                return Truth(left.value)
            self.fail(f"expected an operator after {left.text}, found {show(self.tokens[self.at])}")
        if isinstance(left, Call) and left.function in NO_CONDITION:
            self.fail(f"{left.text} is not true or false by itself: compare it with something")
        assert isinstance(left, Name | Call | Each)
        return holds(left)

    def _value(self) -> Constant | Term:
        """What is compared with: a constant, or a term that is none."""
        token = self.tokens[self.at]
        first = token[:1]
        if first in FIRST and self.tokens[self.at + 1] not in SYMBOLS:
            return self.constant()
        if token == "-" and self.tokens[self.at + 1].isdigit() and self.tokens[self.at + 2] not in SYMBOLS:
            self.at += 1
            return -self.constant()  # type: ignore[operator]
        if first == '"':
            self.fail(
                "expected a constant, found a quoted name; strings take single quotes, and an attribute with quotes "
                f"goes into parentheses here: ({show(token)})"
            )
        found = self.term()
        return found.value if isinstance(found, Literal) and found.value is not None else found

    def _with_text(self, left: str | Term, operator: str) -> Expr:
        if self.takes("NULL"):
            return NOT_KNOWN
        return self._tested(left, operator, self.string(operator))

    def _tested(self, left: str | Term, operator: str, operand: Any) -> Expr:
        return predicate(left, operator, operand) if isinstance(left, str) else tested(left, operator, operand)

    def _negatable(self, left: str | Term, word: str, is_negated: bool) -> Expr:
        """The predicate of an operator that may follow NOT."""
        self.at += 1
        negation = "NOT " if is_negated else ""
        if word in ("LIKE", "ILIKE"):
            return self._like(left, negation + "LIKE", word == "ILIKE")
        if word == "BETWEEN":
            low = self._value()
            self.expect("AND")
            ends = [low, self._value()]
            if isinstance(left, str) and _are_constant(ends):
                return _listed(left, negation + word, ends)
            return between(_left(left), is_negated, _right(ends[0]), _right(ends[1]))
        if self.tokens[self.at] != "(" and self.takes("CIDR"):
            return self._networks(left, is_negated)
        items = self._items()
        if isinstance(left, str) and items and _are_constant(items):
            return _listed(left, negation + word, items)
        return one_of(_left(left), is_negated, [_right(item) for item in items])

    def _items(self) -> list[Constant | Term]:
        """A list in parentheses."""
        tokens = self.tokens
        items: list[Constant | Term] = []
        self.expect("(")
        if tokens[self.at] == ")":
            self.at += 1
            return items
        while True:
            items.append(self._value())
            token = tokens[self.at]
            if token == ")":
                self.at += 1
                return items
            self.expect(",", "a comma or )")

    def _like(self, left: str | Term, operator: str, ignores_case: bool) -> Expr:
        if self.takes("NULL"):
            return NOT_KNOWN
        pattern, escape = self.string("LIKE"), None
        if self.takes("ESCAPE"):
            escape = self.string("ESCAPE")
        if ignores_case:
            return alike(_left(left), operator, pattern, escape)
        return self._tested(left, operator, (pattern, escape))

    def _networks(self, left: str | Term, is_negated: bool) -> Expr:
        """Addresses of one network, or of one of several."""
        texts: list[str] = []
        if self.takes("("):
            texts.append(self.string("CIDR"))
            while self.takes(","):
                texts.append(self.string("CIDR"))
            self.expect(")", "a comma or )")
        else:
            texts.append(self.string("CIDR"))
        return in_networks(_left(left), is_negated, texts)

    def _has(self, left: str | Term) -> Expr:
        self.at += 1
        for word in ("ANY", "ALL", "NONE"):
            if self.takes(word):
                break
        else:
            self.fail(f"expected ANY, ALL or NONE after HAS, found {show(self.tokens[self.at])}")
        items = self._items()
        if not isinstance(left, str) or not _are_constant(items):
            self.fail(f"HAS {word} is for an attribute and a list of constants")
        return has(left, word, items)


def _left(given: str | Term) -> Term:
    """The left side of a predicate: an attribute, or a term."""
    return Name(given) if isinstance(given, str) else given


def _right(given: Constant | Term) -> Term:
    """The right side: a constant, or a term."""
    return given if isinstance(given, Term) else Literal(given)


def _are_constant(items: Sequence[Constant | Term]) -> bool:
    return not any([isinstance(item, Term) for item in items])


def _listed(attribute: str, operator: Any, items: Sequence[Any]) -> Expr:
    # Each literal is right by construction. What is left to check: how many there are, and that they go together.
    kind, constants = type(items[0]), tuple(items)
    if kind is not float and len(constants) <= limits.MEMBERS and all([type(c) is kind for c in constants]):
        return Predicate(attribute, operator, constants)
    return predicate(attribute, operator, constants)
