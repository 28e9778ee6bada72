"""Operator-precedence parser of expressions. It has stacks of its own, so that nesting cannot exhaust Python's stack.

Precedence, tightest first: terms (`term_parser.py`), predicates, NOT, AND, XOR and XNOR, OR.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tellwhen.errors import ExpressionError, LimitError, ParseError, describe_value
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
    get_network_ends,
)
from tellwhen.language.predicates import build_has, build_predicate
from tellwhen.language.term_parser import TermParser
from tellwhen.language.terms import COMPARISON_FUNCTIONS, TERM_OPERATORS, AnyMember, Call, Literal, Name, Term
from tellwhen.language.tokens import describe_token, find_keyword
from tellwhen.language.values import Constant

COMPARISON_SYMBOLS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "<>", "!=": "<>"}
CONNECTIVES: dict[str, type[Connective]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
PRECEDENCE = {"(": 0, "OR": 1, "XOR": 2, "XNOR": 2, "AND": 3, "NOT": 4}
PREDICATE_KEYWORDS = frozenset(
    ["IN", "BETWEEN", "LIKE", "ILIKE", "IS", "NOT", "STARTS", "ENDS", "CONTAINS", "MATCHES", "HAS"]
)
"""Keywords that can follow the left side of a predicate."""

LITERAL_KEYWORDS = frozenset(["TRUE", "FALSE", "NULL"])
CONSTANT_START = frozenset("'0123456789")
"""First characters of most constants."""

THOUSANDS_PATTERN = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+)(?![0-9]).*", re.DOTALL)
"""A number with commas between groups of three digits, and what follows it."""

NON_BOOLEAN_FUNCTIONS = frozenset(
    ["abs", "address", "date_part", "length", "lower", "round", "substr", "upper", *TERM_OPERATORS]
)
"""Functions whose result is never TRUE or FALSE."""


def parse(text: str) -> Expr:
    """Parse the text of an expression.

    Parameters
    ----------
    text
        An expression in the language of LANGUAGE.md.

    Returns
    -------
    Expr
        The expression.

    Raises
    ------
    ParseError
        If the text is no expression; the error shows the position.
    LimitError
        If the expression is too large.

    Examples
    --------
    >>> parse("price BETWEEN 20 AND 40 and not genre = 'crime'")
    tellwhen.parse("price BETWEEN 20 AND 40 AND NOT genre = 'crime'")
    """
    return _ExpressionParser(_validate_text(text)).parse_expression()


def parse_stored(text: str) -> Expr:
    """Parse the text of an expression that an index stored. It may be longer than text from a user."""
    return _ExpressionParser(_validate_text(text, limits.STORED_TEXT_CHARACTERS_MAX)).parse_expression()


def parse_term(text: str) -> Term:
    """Parse the text of a term or of a comparison of two terms, after which a computed attribute is named."""
    parser = _ExpressionParser(_validate_text(text, limits.STORED_TEXT_CHARACTERS_MAX))
    parser._allows_lacks = True
    term = parser.parse_term()
    if parser.tokens[parser.index] in COMPARISON_FUNCTIONS:
        operator = parser.tokens[parser.index]
        parser.index += 1
        term = Call(operator, (term, parser.parse_term()))
    parser.expect("", "the end of the expression")
    return term


def _validate_text(text: str, characters_max: int = limits.TEXT_CHARACTERS_MAX) -> str:
    if not isinstance(text, str):
        raise ExpressionError(f"the text of an expression must be a str, not {describe_value(text)}")
    if len(text) > characters_max:
        raise ParseError(f"an expression may have at most {characters_max} characters, this one has {len(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ParseError("a lone surrogate is not valid text", text, error.start) from None
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
            # an operand is expected
            token = tokens[self.index]
            keyword = find_keyword(token)
            if keyword == "NOT" or (token == "(" and not self._is_term_in_parentheses()):
                operators.append("(" if token == "(" else "NOT")
                indexes.append(self.index)
                depth += 1
                if depth > limits.DEPTH_MAX:
                    self.fail(f"an expression may be nested at most {limits.DEPTH_MAX} deep")
                self.index += 1
                continue
            operands.append(self._parse_operand(token, keyword))
            # an operator is expected
            while True:
                token = tokens[self.index]
                if token == ")":
                    depth -= self._reduce(operands, operators, indexes, 1)
                    if not operators:
                        self.fail("this ) has no matching (")
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
                    self.fail("this ( has no matching )")
                self.index += 1
                return operands[0]
            keyword = find_keyword(token)
            if keyword not in CONNECTIVES:
                end = f'"{closing}"' if closing else "the end of the expression"
                self.fail(f"expected AND, OR, XOR, XNOR or {end}, found {describe_token(token)}{self._suggest_fix()}")
            precedence = PRECEDENCE[keyword]
            depth -= self._reduce(operands, operators, indexes, precedence + 1)
            # Equal operators stay on the stack, so that a chain of n operands becomes one node in one step.
            if operators and operators[-1] != keyword and PRECEDENCE[operators[-1]] == precedence:
                self._reduce(operands, operators, indexes, precedence)
            operators.append(keyword)
            indexes.append(self.index)
            self.index += 1

    def _suggest_fix(self) -> str:
        """Return how to write what the next token, which is no connective, probably means."""
        token = self.tokens[self.index]
        if token[:1] == "&":
            return "; write AND"
        if token == "," and self.tokens[self.index - 1].isdigit():
            groups = THOUSANDS_PATTERN.fullmatch("".join(self.tokens[self.index - 1 : self.index + 6]))
            if groups is not None:
                return f"; write numbers without a thousands separator: {groups[1].replace(',', '')}"
        if token and self.follows_string():
            return "; a quote inside a string is written ''"
        return ""

    def _reduce(self, operands: list[Expr], operators: list[str], indexes: list[int], precedence: int) -> int:
        """Apply the operators on the stack of at least this precedence; return how many of them were NOT."""
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
        """Return whether the next parenthesis encloses a term: an operator on terms follows its end."""
        if self._closed_by is None:
            self._closed_by = {}
            open_indexes = []
            for index, token in enumerate(self.tokens):
                if token == "(":
                    open_indexes.append(index)
                elif token == ")" and open_indexes:
                    self._closed_by[open_indexes.pop()] = index
        end = self._closed_by.get(self.index)
        if end is None:
            return False
        token = self.tokens[end + 1]
        return token in COMPARISON_SYMBOLS or token in TERM_OPERATORS or find_keyword(token) in PREDICATE_KEYWORDS

    # predicates

    def _parse_operand(self, token: str, keyword: str | None) -> Expr:
        """Parse an operand of a connective: a whole predicate or a Boolean constant."""
        tokens, start = self.tokens, self.index
        if not token:
            self.fail('expected an attribute, NOT or "(", found the end of the text')
        following = tokens[start + 1]
        if (keyword is None or keyword not in LITERAL_KEYWORDS) and (token[0].isalpha() or token[0] in '_"'):
            operator = COMPARISON_SYMBOLS.get(following)
            if (
                operator is not None
                and tokens[start + 2][:1] in CONSTANT_START
                and tokens[start + 3] not in TERM_OPERATORS
            ):
                # The common case. A literal has a valid type by construction, so there is nothing to validate.
                attribute = self.decode_name(token, keyword)
                self.index = start + 2
                return Predicate(attribute, operator, self.read_constant())  # type: ignore[arg-type]
            if following not in TERM_OPERATORS and following != "(" and following != "[" and following[:1] != "'":
                attribute = self.decode_name(token, keyword)
                self.index += 1
                return self._parse_predicate(attribute)
        return self._parse_predicate(self.parse_term())

    def _parse_predicate(self, left: str | Term) -> Expr:
        """Parse the rest of a predicate after its left side, an attribute or a term."""
        start = self.index
        try:
            return self._parse_operator(left, self.tokens[start])
        except ParseError:
            raise
        except (ExpressionError, LimitError) as error:
            self.index = start
            self.fail(str(error))

    def _parse_operator(self, left: str | Term, token: str) -> Expr:
        """Parse an operator, which begins with `token`, and its right side."""
        operator = COMPARISON_SYMBOLS.get(token)
        if operator is not None:
            self.index += 1
            if token == "=" and (order := self.tokens[self.index]) in (">", "<"):
                self.index -= 1
                self.fail(f'expected "{order}=", found "={order}"')
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
                    "expected IN, BETWEEN, LIKE or ILIKE after NOT; for other operators, write NOT before the attribute"
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
            operator_of_null: Operator = "IS NOT NULL" if self.accept("NOT") else "IS NULL"
            self.expect("NULL", "NULL after IS (compare other values with = and <>)")
            return (
                Predicate(left, operator_of_null, None)
                if isinstance(left, str)
                else build_term_predicate(left, operator_of_null, None)
            )
        if token == "==":
            self.fail('expected "=", found "=="')
        return self._build_bare_condition(left)

    def _build_bare_condition(self, left: str | Term) -> Expr:
        """Build the expression of a left side without an operator, which must be Boolean."""
        if isinstance(left, str):
            return Predicate(left, "=", True)
        if isinstance(left, Literal):
            if left.value is None or isinstance(left.value, bool):
                return Truth(left.value)
            self.fail(f"{left.text} is not a condition; compare it with an attribute")
        if isinstance(left, Call) and left.function in NON_BOOLEAN_FUNCTIONS:
            self.fail(f"expected an operator: {left.text} is not Boolean, compare it with a value")
        assert isinstance(left, Name | Call | AnyMember)
        return build_condition(left)

    def _parse_right_side(self) -> Constant | Term:
        """Parse a right side: return the value of a constant, and a term for anything else."""
        token = self.tokens[self.index]
        first = token[:1]
        if first in CONSTANT_START and self.tokens[self.index + 1] not in TERM_OPERATORS:
            return self.read_constant()
        if token == "-" and self.tokens[self.index + 1].isdigit() and self.tokens[self.index + 2] not in TERM_OPERATORS:
            self.index += 1
            return -self.read_constant()  # type: ignore[operator]
        if first == '"':
            self.fail(
                "expected a constant, found a quoted name; write strings in single quotes, and a quoted attribute in "
                f"parentheses: ({describe_token(token)})"
            )
        term = self.parse_term()
        return term.value if isinstance(term, Literal) and term.value is not None else term

    def _parse_text_operand(self, left: str | Term, operator: str) -> Expr:
        if self.accept("NULL"):
            return UNDEFINED
        start = self.index
        operand = self.read_string(operator)
        try:
            return self._build_predicate(left, operator, operand)
        except (ExpressionError, LimitError) as error:
            self.index = start  # the operand, such as a wrong regular expression
            self.fail(str(error))

    def _build_predicate(self, left: str | Term, operator: str, operand: Any) -> Expr:
        return (
            build_predicate(left, operator, operand)
            if isinstance(left, str)
            else build_term_predicate(left, operator, operand)
        )

    def _parse_negatable(self, left: str | Term, keyword: str, is_negated: bool) -> Expr:
        """Parse an operator that NOT may precede (IN, BETWEEN, LIKE, ILIKE) and its right side."""
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
        items = self._parse_list(f"{negation}IN")
        if isinstance(left, str) and items and _has_only_constants(items):
            return _build_list_predicate(left, negation + keyword, items)
        return build_in(_convert_name(left), is_negated, [_convert_constant(item) for item in items])

    def _parse_list(self, operator: str) -> list[Constant | Term]:
        """Parse a list of constants and terms in parentheses, after an operator, which an error names."""
        tokens = self.tokens
        items: list[Constant | Term] = []
        if not self.accept("("):
            constant = tokens[self.index + (tokens[self.index] == "[")]
            example = constant if constant[:1] in CONSTANT_START and constant != "'" else "'a', 'b'"
            self.fail(
                f"{operator} takes a list in parentheses: {operator} ({example}); "
                f"found {describe_token(tokens[self.index])}"
            )
        if tokens[self.index] == ")":
            self.index += 1
            return items
        while True:
            items.append(self._parse_right_side())
            token = tokens[self.index]
            if token == ")":
                self.index += 1
                return items
            self.expect(",", 'a comma or ")"')

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
        """Parse one network, or several in parentheses."""
        texts: list[str] = []
        if self.accept("("):
            texts.append(self._read_network())
            while self.accept(","):
                texts.append(self._read_network())
            self.expect(")", 'a comma or ")"')
        else:
            texts.append(self._read_network())
        return build_in_networks(_convert_name(left), is_negated, texts)

    def _read_network(self) -> str:
        start = self.index
        text = self.read_string("CIDR")
        try:
            get_network_ends(text)
        except ExpressionError as error:
            self.index = start
            self.fail(str(error))
        return text

    def _parse_has(self, left: str | Term) -> Expr:
        self.index += 1
        for keyword in ("ANY", "ALL", "NONE"):
            if self.accept(keyword):
                break
        else:
            self.fail(f"expected ANY, ALL or NONE after HAS, found {describe_token(self.tokens[self.index])}")
        items = self._parse_list(f"HAS {keyword}")
        if not isinstance(left, str) or not _has_only_constants(items):
            self.fail(f"HAS {keyword} takes an attribute and a list of constants")
        return build_has(left, keyword, items)


def _convert_name(left: str | Term) -> Term:
    return Name(left) if isinstance(left, str) else left


def _convert_constant(right: Constant | Term) -> Term:
    return right if isinstance(right, Term) else Literal(right)


def _has_only_constants(items: Sequence[Constant | Term]) -> bool:
    return not any([isinstance(item, Term) for item in items])


def _build_list_predicate(attribute: str, operator: Any, items: Sequence[Any]) -> Expr:
    # Literals are valid by construction. Only their number and their common type remain to be validated.
    kind, constants = type(items[0]), tuple(items)
    if kind is not float and len(constants) <= limits.LIST_CONSTANTS_MAX and all([type(c) is kind for c in constants]):
        return Predicate(attribute, operator, constants)
    return build_predicate(attribute, operator, constants)
