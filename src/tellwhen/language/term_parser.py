"""Parser of terms, which stand on either side of a comparison: recursive descent to a limited depth.

sum ::= product (+ | - | ||) product ...    product ::= sign (* | / | %) sign ...    sign ::= [+ | -] primary
primary ::= constant | NULL | name | function(sum, ...) | CAST(sum AS type) | name[expression] | (sum)
"""

from __future__ import annotations

from tellwhen.errors import ExpressionError, LimitError
from tellwhen.language import limits
from tellwhen.language.ast import Expr
from tellwhen.language.comparisons import build_call
from tellwhen.language.functions import CAST_TYPES, FUNCTION_ALIASES, TYPE_BY_SQL_NAME
from tellwhen.language.literals import format_name
from tellwhen.language.terms import LACKS, SUM, TERM_OPERATORS, AnyMember, Call, Literal, Name, Term
from tellwhen.language.tokens import TokenReader, describe_token, find_keyword


class TermParser(TokenReader):
    """Parser of terms on a sequence of tokens."""

    _depth = 0
    _allows_lacks = False  # only in names of computed attributes, never in text from users

    def parse_expression(self, closing: str = "") -> Expr:
        """Parse an expression up to the end or, in brackets, up to the token `closing`."""
        raise NotImplementedError

    def parse_term(self, precedence: int = SUM) -> Term:
        """Parse the longest term whose operators have at least this precedence."""
        self._depth += 1
        if self._depth > limits.DEPTH_MAX:
            self.fail(f"a computation may be nested at most {limits.DEPTH_MAX} deep")
        left = self._parse_signed()
        while (operator_precedence := TERM_OPERATORS.get(self.tokens[self.index], 0)) >= precedence:
            operator, start = self.tokens[self.index], self.index
            self.index += 1
            left = self._build_call(operator, [left, self.parse_term(operator_precedence + 1)], start)
        self._depth -= 1
        return left

    def _parse_signed(self) -> Term:
        start, is_negative = self.index, False
        while self.tokens[self.index] in ("-", "+"):
            is_negative ^= self.tokens[self.index] == "-"
            self.index += 1
        term = self._parse_primary()
        if not is_negative:
            return term
        if isinstance(term, Literal) and type(term.value) in (int, float):
            return Literal(-term.value)  # type: ignore[operator]
        return self._build_call("-", [term], start)

    def _parse_primary(self) -> Term:
        token = self.tokens[self.index]
        first = token[:1]
        if token == "(":
            self.index += 1
            term = self.parse_term()
            self.expect(")")
            return term
        if first == "'" or first.isdecimal() or (first == "." and len(token) > 1):
            return Literal(self.read_constant())
        keyword = find_keyword(token)
        following = self.tokens[self.index + 1] if token else ""
        if keyword in ("TRUE", "FALSE") or (keyword in ("DATE", "TIMESTAMP") and following[:1] == "'"):
            return Literal(self.read_constant())
        if keyword == "NULL":
            self.index += 1
            return Literal(None)
        if following == "(" and (
            keyword is None or keyword not in ("IN", "NOT", "AND", "OR", "XOR", "XNOR", "BETWEEN")
        ):
            return self._parse_call(token, keyword)
        if self.index and not token:
            self.fail("expected a constant or an attribute, found the end of the text")
        name = self.decode_name(token, keyword)
        self.index += 1
        if following == "[":
            return self._parse_each(name)
        return Name(name)

    def _parse_each(self, name: str) -> Term:
        """Parse the expression in brackets after the name of a list of objects."""
        start = self.index
        self.index += 1
        position_index = self.index + (self.tokens[self.index] == "-")
        if self.tokens[position_index].isdigit() and self.tokens[position_index + 1] == "]":
            self.fail(f"{format_name(name)}[...] takes a condition on members, not a position")
        expression = self.parse_expression("]")
        try:
            return AnyMember(name, expression)
        except LimitError as error:
            self.index = start
            self.fail(str(error))

    def _parse_call(self, token: str, keyword: str | None) -> Term:
        start = self.index
        self.index += 2
        if keyword == "CAST":
            operand = self.parse_term()
            self.expect("AS")
            kind = TYPE_BY_SQL_NAME.get(self.tokens[self.index].lower())
            if kind is None:
                token = describe_token(self.tokens[self.index])
                self.fail(f"expected a type after AS, found {token}; the types are {', '.join(CAST_TYPES)}")
            self.index += 1
            self.expect(")")
            return self._build_call("cast", [operand, Literal(kind)], start)
        args = []
        if not self.accept(")"):
            args = [self.parse_term()]
            while self.accept(","):
                args.append(self.parse_term())
            self.expect(")", 'a comma or ")"')
        name = FUNCTION_ALIASES.get(token.lower(), token.lower())
        # Of two arguments of date_part, only the first one can be wrong.
        return self._build_call(name, args, start + 2 if name == "date_part" and len(args) == 2 else start)

    def _build_call(self, function: str, args: list[Term], start: int) -> Term:
        try:
            if self._allows_lacks and function == LACKS:
                return Call(function, tuple(args))
            return build_call(function, *args)
        except (ExpressionError, LimitError) as error:
            self.index = start
            self.fail(str(error))
