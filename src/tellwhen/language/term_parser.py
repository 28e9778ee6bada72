"""Text -> Term: what may stand on either side of a comparison. By recursive descent, to a limited depth.

sum ::= product (+ | - | ||) product ...    product ::= sign (* | / | %) sign ...    sign ::= [+ | -] primary
primary ::= constant | NULL | name | function(sum, ...) | CAST(sum AS type) | name[expression] | (sum)
"""

from __future__ import annotations

from tellwhen.errors import ExpressionError, LimitError
from tellwhen.language import limits
from tellwhen.language.ast import Expr
from tellwhen.language.comparisons import call
from tellwhen.language.functions import ALIASES, KINDS, TYPES
from tellwhen.language.terms import BINDING, LACKS, SUM, Call, Each, Literal, Name, Term
from tellwhen.language.tokens import Tokens, keyword, show


class TermParser(Tokens):
    """Reads terms."""

    _depth = 0
    _is_own = False  # does the text come from here, not from a user?

    def expression(self, closing: str = "") -> Expr:
        """The expression up to the end, or up to what closes it."""
        raise NotImplementedError

    def term(self, binding: int = SUM) -> Term:
        """The longest term that follows, of operators that bind at least this tight."""
        self._depth += 1
        if self._depth > limits.DEPTH:
            self.fail(f"a computation is nested at most {limits.DEPTH} deep")
        left = self._signed()
        while (own := BINDING.get(self.tokens[self.at], 0)) >= binding:
            operator, start = self.tokens[self.at], self.at
            self.at += 1
            left = self._call(operator, [left, self.term(own + 1)], start)
        self._depth -= 1
        return left

    def _signed(self) -> Term:
        start, is_negative = self.at, False
        while self.tokens[self.at] in ("-", "+"):
            is_negative ^= self.tokens[self.at] == "-"
            self.at += 1
        found = self._primary()
        if not is_negative:
            return found
        if isinstance(found, Literal) and type(found.value) in (int, float):
            return Literal(-found.value)  # type: ignore[operator]
        return self._call("-", [found], start)

    def _primary(self) -> Term:
        token = self.tokens[self.at]
        first = token[:1]
        if token == "(":
            self.at += 1
            found = self.term()
            self.expect(")")
            return found
        if first == "'" or first.isdecimal() or (first == "." and len(token) > 1):
            return Literal(self.constant())
        word = keyword(token)
        following = self.tokens[self.at + 1] if token else ""
        if word in ("TRUE", "FALSE") or (word in ("DATE", "TIMESTAMP") and following[:1] == "'"):
            return Literal(self.constant())
        if word == "NULL":
            self.at += 1
            return Literal(None)
        if following == "(" and (word is None or word not in ("IN", "NOT", "AND", "OR", "XOR", "XNOR", "BETWEEN")):
            return self._function(token, word)
        if self.at and not token:
            self.fail("expected a constant or an attribute, found the end of the text")
        name = self.attribute(token, word)
        self.at += 1
        if following == "[":
            return self._each(name)
        return Name(name)

    def _each(self, name: str) -> Term:
        """The objects of a list, of which one satisfies the expression in brackets."""
        start = self.at
        self.at += 1
        expression = self.expression("]")
        try:
            return Each(name, expression)
        except LimitError as error:
            self.at = start
            self.fail(str(error))

    def _function(self, token: str, word: str | None) -> Term:
        start = self.at
        self.at += 2
        if word == "CAST":
            found = self.term()
            self.expect("AS")
            kind = KINDS.get(self.tokens[self.at].lower())
            if kind is None:
                self.fail(f"expected a type, found {show(self.tokens[self.at])}; there are {', '.join(TYPES)}")
            self.at += 1
            self.expect(")")
            return self._call("cast", [found, Literal(kind)], start)
        args = []
        if not self.takes(")"):
            args = [self.term()]
            while self.takes(","):
                args.append(self.term())
            self.expect(")", "a comma or )")
        name = token.lower()
        return self._call(ALIASES.get(name, name), args, start)

    def _call(self, function: str, args: list[Term], start: int) -> Term:
        try:
            if self._is_own and function == LACKS:
                return Call(function, tuple(args))
            return call(function, *args)
        except (ExpressionError, LimitError) as error:
            self.at = start
            self.fail(str(error))
