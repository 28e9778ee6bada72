"""Text -> Expr: an operator-precedence parser with its own stacks, so that no nesting can exhaust Python's.

Precedence, tightest first: terms (`term_parser.py`), predicate, NOT, AND, XOR and XNOR, OR. Keywords in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError
from tellwhen.language import limits
from tellwhen.language.ast import And, Connective, Expr, Not, Operator, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.comparisons import (
    UNDEFINED,
    build_between,
    build_comparison,
    build_condition,
    build_ilike,
    build_in,
    build_in_networks,
    build_term_predicate,
)
from tellwhen.language.predicates import build_has, build_predicate
from tellwhen.language.term_parser import TermParser
from tellwhen.language.terms import COMPARISON_FUNCTIONS, TERM_OPERATORS, Call, Each, Literal, Name, Term
from tellwhen.language.tokens import describe_token, find_keyword
from tellwhen.language.values import Constant

COMPARISON_SYMBOLS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "<>", "!=": "<>"}
CONNECTIVES: dict[str, type[Connective]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
PRECEDENCE = {"(": 0, "OR": 1, "XOR": 2, "XNOR": 2, "AND": 3, "NOT": 4}
PREDICATE_KEYWORDS = frozenset(
    ["IN", "BETWEEN", "LIKE", "ILIKE", "IS", "NOT", "STARTS", "ENDS", "CONTAINS", "MATCHES", "HAS"]
)
"""Words that begin the operator of a predicate."""

LITERAL_KEYWORDS = frozenset(["TRUE", "FALSE", "NULL"])
CONSTANT_START = frozenset("'0123456789")
"""What most constants begin with."""

NON_BOOLEAN_FUNCTIONS = frozenset(
    ["abs", "address", "date_part", "length", "lower", "round", "substr", "upper", *TERM_OPERATORS]
)
"""Functions whose result is never TRUE or FALSE."""


def parse(text: str) -> Expr:
    """Read an expression; raises ParseError with the position of what is wrong.

    >>> parse("price BETWEEN 20 AND 40 and not genre = 'crime'")
    tellwhen.parse("price BETWEEN 20 AND 40 AND NOT genre = 'crime'")
    """
    return _ExpressionParser(_validate_text(text)).parse_expression()


def parse_stored(text: str) -> Expr:
    """Read the text of an expression that was made in Python, and may be longer than what a user may write."""
    return _ExpressionParser(_validate_text(text, limits.STORED_TEXT_CHARACTERS_MAX)).parse_expression()


def parse_term(text: str) -> Term:
    """Read what a computed attribute is named after: a term, or a comparison of two."""
    parser = _ExpressionParser(_validate_text(text, limits.STORED_TEXT_CHARACTERS_MAX))
    parser._allows_lacks = True
    found = parser.parse_term()
    if parser.tokens[parser.index] in COMPARISON_FUNCTIONS:
        operator = parser.tokens[parser.index]
        parser.index += 1
        found = Call(operator, (found, parser.parse_term()))
    parser.expect("", "the end")
    return found


def _validate_text(text: str, most: int = limits.TEXT_CHARACTERS_MAX) -> str:
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


class _ExpressionParser(TermParser):
    _closed_by: dict[int, int] | None = None  # by the index of an opening parenthesis

    def parse_expression(self, closing: str = "") -> Expr:
        operands: list[Expr] = []
        operators: list[str] = []
        indexes: list[int] = []  # of the operators' tokens, for errors
        tokens = self.tokens
        depth = 0
        while True:
            # an operand is due
            token = tokens[self.index]
            keyword = find_keyword(token)
            if keyword == "NOT" or (token == "(" and not self._is_term_in_parentheses()):
                operators.append("(" if token == "(" else "NOT")
                indexes.append(self.index)
                depth += 1
                if depth > limits.DEPTH_MAX:
                    self.fail(f"an expression is nested at most {limits.DEPTH_MAX} deep")
                self.index += 1
                continue
            operands.append(self._parse_operand(token, keyword))
            # an operator is due
            while True:
                token = tokens[self.index]
                if token == ")":
                    depth -= self._reduce(operands, operators, indexes, 1)
                    if not operators:
                        self.fail("this ) closes nothing")
                    operators.pop()
                    indexes.pop()
                    depth -= 1
                    self.index += 1
                    continue
                break
            if token == closing:
                self._reduce(operands, operators, indexes, 1)
                if operators:
                    self.index = indexes[-1]
                    self.fail("this ( is never closed")
                self.index += 1
                return operands[0]
            keyword = find_keyword(token)
            if keyword not in CONNECTIVES:
                hint = "; write AND" if token[:1] == "&" else ""
                self.fail(f"expected AND, OR, XOR, XNOR or {closing or 'the end'}, found {describe_token(token)}{hint}")
            precedence = PRECEDENCE[keyword]
            depth -= self._reduce(operands, operators, indexes, precedence + 1)
            # Equal operators wait, so that a chain of n operands becomes a node in one step.
            if operators and operators[-1] != keyword and PRECEDENCE[operators[-1]] == precedence:
                self._reduce(operands, operators, indexes, precedence)
            operators.append(keyword)
            indexes.append(self.index)
            self.index += 1

    def _reduce(self, operands: list[Expr], operators: list[str], indexes: list[int], precedence: int) -> int:
        """Apply the waiting operators that bind at least this tight; returns how many of them were NOT."""
        negations = 0
        try:
            while operators and PRECEDENCE[operators[-1]] >= precedence:
                keyword = operators.pop()
                index = indexes.pop()
                if keyword == "NOT":
                    operands.append(Not(operands.pop()))
                    negations += 1
                    continue
                count = 2
                while operators and operators[-1] == keyword:
                    operators.pop()
                    indexes.pop()
                    count += 1
                args = operands[-count:]
                del operands[-count:]
                operands.append(CONNECTIVES[keyword].create(*args))
        except LimitError as error:
            self.index = index
            self.fail(str(error))
        return negations

    def _is_term_in_parentheses(self) -> bool:
        """Does this parenthesis enclose a term, not an expression? What follows its end tells: an operator of terms."""
        if self._closed_by is None:
            self._closed_by = {}
            waiting = []
            for index, token in enumerate(self.tokens):
                if token == "(":
                    waiting.append(index)
                elif token == ")" and waiting:
                    self._closed_by[waiting.pop()] = index
        last = self._closed_by.get(self.index)
        if last is None:
            return False
        after = self.tokens[last + 1]
        return after in COMPARISON_SYMBOLS or after in TERM_OPERATORS or find_keyword(after) in PREDICATE_KEYWORDS

    # predicates

    def _parse_operand(self, token: str, keyword: str | None) -> Expr:
        tokens, start = self.tokens, self.index
        if not token:
            self.fail("expected an attribute, NOT or (, found the end of the text")
        following = tokens[start + 1]
        if (keyword is None or keyword not in LITERAL_KEYWORDS) and (token[0].isalpha() or token[0] in '_"'):
            operator = COMPARISON_SYMBOLS.get(following)
            if (
                operator is not None
                and tokens[start + 2][:1] in CONSTANT_START
                and tokens[start + 3] not in TERM_OPERATORS
            ):
                # The common case. A literal is of a right type by construction: nothing left to check.
                attribute = self.decode_name(token, keyword)
                self.index = start + 2
                return Predicate(attribute, operator, self.read_constant())  # type: ignore[arg-type]
            if following not in TERM_OPERATORS and following != "(" and following != "[" and following[:1] != "'":
                attribute = self.decode_name(token, keyword)
                self.index += 1
                return self._parse_predicate(attribute)
        return self._parse_predicate(self.parse_term())

    def _parse_predicate(self, left: str | Term) -> Expr:
        """The predicate whose left side is read: an attribute, or a term."""
        start = self.index
        try:
            return self._parse_operator(left, self.tokens[start])
        except ParseError:
            raise
        except (ExpressionError, LimitError) as error:
            self.index = start
            self.fail(str(error))

    def _parse_operator(self, left: str | Term, token: str) -> Expr:
        operator = COMPARISON_SYMBOLS.get(token)
        if operator is not None:
            self.index += 1
            if token == "=" and (order := self.tokens[self.index]) in (">", "<"):
                self.index -= 1
                self.fail(f"={order} is written {order}=")
            right = self._parse_right_side()
            if isinstance(left, str) and not isinstance(right, Term):
                return Predicate(left, operator, right)  # type: ignore[arg-type]
            return build_comparison(_convert_name(left), operator, _convert_constant(right))
        keyword = find_keyword(token)
        if keyword == "NOT":
            self.index += 1
            keyword = find_keyword(self.tokens[self.index])
            if keyword not in ("IN", "BETWEEN", "LIKE", "ILIKE"):
                self.fail(
                    "expected IN, BETWEEN, LIKE or ILIKE after NOT; for other operators write NOT before the attribute"
                )
            return self._parse_negatable(left, keyword, True)
        if keyword in ("IN", "BETWEEN", "LIKE", "ILIKE"):
            return self._parse_negatable(left, keyword, False)
        if keyword in ("CONTAINS", "MATCHES"):
            self.index += 1
            return self._parse_text_operand(left, keyword)
        if keyword in ("STARTS", "ENDS"):
            self.index += 1
            self.expect("WITH")
            return self._parse_text_operand(left, f"{keyword} WITH")
        if keyword == "HAS":
            return self._parse_has(left)
        if keyword == "IS":
            self.index += 1
            presence: Operator = "IS NOT NULL" if self.accept("NOT") else "IS NULL"
            self.expect("NULL", "NULL (other values are compared with = and <>)")
            return (
                Predicate(left, presence, None) if isinstance(left, str) else build_term_predicate(left, presence, None)
            )
        if token == "==":
            self.fail("equality is written =")
        return self._build_bare_condition(left)

    def _build_bare_condition(self, left: str | Term) -> Expr:
        """Without an operator: something that is TRUE or FALSE itself."""
        if isinstance(left, str):
            return Predicate(left, "=", True)
        if isinstance(left, Literal):
            if left.value is None or isinstance(left.value, bool):
                return Truth(left.value)
            self.fail(f"expected an operator after {left.text}, found {describe_token(self.tokens[self.index])}")
        if isinstance(left, Call) and left.function in NON_BOOLEAN_FUNCTIONS:
            self.fail(f"{left.text} is not true or false by itself: compare it with something")
        assert isinstance(left, Name | Call | Each)
        return build_condition(left)

    def _parse_right_side(self) -> Constant | Term:
        """What is compared with: a constant, or a term that is none."""
        token = self.tokens[self.index]
        first = token[:1]
        if first in CONSTANT_START and self.tokens[self.index + 1] not in TERM_OPERATORS:
            return self.read_constant()
        if token == "-" and self.tokens[self.index + 1].isdigit() and self.tokens[self.index + 2] not in TERM_OPERATORS:
            self.index += 1
            return -self.read_constant()  # type: ignore[operator]
        if first == '"':
            self.fail(
                "expected a constant, found a quoted name; strings take single quotes, and an attribute with quotes "
                f"goes into parentheses here: ({describe_token(token)})"
            )
        found = self.parse_term()
        return found.value if isinstance(found, Literal) and found.value is not None else found

    def _parse_text_operand(self, left: str | Term, operator: str) -> Expr:
        if self.accept("NULL"):
            return UNDEFINED
        return self._build_predicate(left, operator, self.read_string(operator))

    def _build_predicate(self, left: str | Term, operator: str, operand: Any) -> Expr:
        return (
            build_predicate(left, operator, operand)
            if isinstance(left, str)
            else build_term_predicate(left, operator, operand)
        )

    def _parse_negatable(self, left: str | Term, keyword: str, is_negated: bool) -> Expr:
        """The predicate of an operator that may follow NOT."""
        self.index += 1
        negation = "NOT " if is_negated else ""
        if keyword in ("LIKE", "ILIKE"):
            return self._parse_like(left, negation + "LIKE", keyword == "ILIKE")
        if keyword == "BETWEEN":
            low = self._parse_right_side()
            self.expect("AND")
            ends = [low, self._parse_right_side()]
            if isinstance(left, str) and _has_only_constants(ends):
                return _build_list_predicate(left, negation + keyword, ends)
            return build_between(
                _convert_name(left), is_negated, _convert_constant(ends[0]), _convert_constant(ends[1])
            )
        if self.tokens[self.index] != "(" and self.accept("CIDR"):
            return self._parse_networks(left, is_negated)
        items = self._parse_list()
        if isinstance(left, str) and items and _has_only_constants(items):
            return _build_list_predicate(left, negation + keyword, items)
        return build_in(_convert_name(left), is_negated, [_convert_constant(item) for item in items])

    def _parse_list(self) -> list[Constant | Term]:
        """A list in parentheses."""
        tokens = self.tokens
        items: list[Constant | Term] = []
        self.expect("(")
        if tokens[self.index] == ")":
            self.index += 1
            return items
        while True:
            items.append(self._parse_right_side())
            token = tokens[self.index]
            if token == ")":
                self.index += 1
                return items
            self.expect(",", "a comma or )")

    def _parse_like(self, left: str | Term, operator: str, ignores_case: bool) -> Expr:
        if self.accept("NULL"):
            return UNDEFINED
        pattern, escape = self.read_string("LIKE"), None
        if self.accept("ESCAPE"):
            escape = self.read_string("ESCAPE")
        if ignores_case:
            return build_ilike(_convert_name(left), operator, pattern, escape)
        return self._build_predicate(left, operator, (pattern, escape))

    def _parse_networks(self, left: str | Term, is_negated: bool) -> Expr:
        """Addresses of one network, or of one of several."""
        texts: list[str] = []
        if self.accept("("):
            texts.append(self.read_string("CIDR"))
            while self.accept(","):
                texts.append(self.read_string("CIDR"))
            self.expect(")", "a comma or )")
        else:
            texts.append(self.read_string("CIDR"))
        return build_in_networks(_convert_name(left), is_negated, texts)

    def _parse_has(self, left: str | Term) -> Expr:
        self.index += 1
        for keyword in ("ANY", "ALL", "NONE"):
            if self.accept(keyword):
                break
        else:
            self.fail(f"expected ANY, ALL or NONE after HAS, found {describe_token(self.tokens[self.index])}")
        items = self._parse_list()
        if not isinstance(left, str) or not _has_only_constants(items):
            self.fail(f"HAS {keyword} is for an attribute and a list of constants")
        return build_has(left, keyword, items)


def _convert_name(given: str | Term) -> Term:
    """The left side of a predicate: an attribute, or a term."""
    return Name(given) if isinstance(given, str) else given


def _convert_constant(given: Constant | Term) -> Term:
    """The right side: a constant, or a term."""
    return given if isinstance(given, Term) else Literal(given)


def _has_only_constants(items: Sequence[Constant | Term]) -> bool:
    return not any([isinstance(item, Term) for item in items])


def _build_list_predicate(attribute: str, operator: Any, items: Sequence[Any]) -> Expr:
    # Each literal is right by construction. What is left to check: how many there are, and that they go together.
    kind, constants = type(items[0]), tuple(items)
    if kind is not float and len(constants) <= limits.LIST_CONSTANTS_MAX and all([type(c) is kind for c in constants]):
        return Predicate(attribute, operator, constants)
    return build_predicate(attribute, operator, constants)
