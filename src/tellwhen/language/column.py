"""Python -> Expr: `col("price") < 20`, `col("a") + col("b") > 3`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellwhen.errors import ExpressionError
from tellwhen.language.ast import Expr, Not, as_expr
from tellwhen.language.comparisons import (
    build_between,
    build_call,
    build_comparison,
    build_condition,
    build_ilike,
    build_in,
    build_in_networks,
    build_term_predicate,
)
from tellwhen.language.functions import TYPE_BY_SQL_NAME
from tellwhen.language.predicates import build_has, validate_name
from tellwhen.language.terms import Each, Literal, Name, Term
from tellwhen.language.values import normalize_constant


class Column:
    """An attribute, or what is computed from some, to be compared with Python's operators; alone it stands for
    something that is TRUE.

    >>> import tellwhen as tw
    >>> price, genre = tw.col("price"), tw.col("genre")
    >>> print(price.between(20, 40) & genre.isin(["crime", "classics"]) | ~tw.col("sold"))
    price BETWEEN 20 AND 40 AND genre IN ('crime', 'classics') OR NOT sold = TRUE
    >>> print((price * 2 - 1 > tw.col("budget")) & (genre.lower() == "crime"))
    price * 2 - 1 > budget AND lower(genre) = 'crime'
    """

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Term) -> None:
        self.term = term

    # comparing

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._compared("<>", other)

    def __lt__(self, other: object) -> Expr:
        return self._compared("<", other)

    def __le__(self, other: object) -> Expr:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Expr:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Expr:
        return self._compared(">=", other)

    def _compared(self, operator: str, other: object) -> Expr:
        return build_comparison(self.term, operator, self._other(other))

    def _other(self, given: Any) -> Term:
        """What it is compared or computed with: another column, or a constant."""
        return as_term(given, self.term.text)

    def isin(self, values: Iterable[Any]) -> Expr:
        """`IN`: equal to one of the values."""
        return self._one_of("IN", values)

    def not_in(self, values: Iterable[Any]) -> Expr:
        """`NOT IN`: equal to none of the values."""
        return self._one_of("NOT IN", values)

    def _one_of(self, operator: str, values: Any) -> Expr:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ExpressionError(f"{self.term.text}: {operator} takes a list of constants")
        given = tuple(values)
        if given and not any([isinstance(value, Column) for value in given]):
            return build_term_predicate(self.term, operator, given)  # perhaps a million constants: no term for each
        return build_in(self.term, operator == "NOT IN", [self._other(value) for value in given])

    def between(self, low: Any, high: Any) -> Expr:
        """`BETWEEN`: at least `low` and at most `high`."""
        return build_between(self.term, False, self._other(low), self._other(high))

    def not_between(self, low: Any, high: Any) -> Expr:
        """`NOT BETWEEN`: less than `low` or greater than `high`."""
        return build_between(self.term, True, self._other(low), self._other(high))

    def like(self, pattern: str, escape: str | None = None) -> Expr:
        """`LIKE`: the whole string fits the pattern; `%` stands for any characters, `_` for one."""
        return build_term_predicate(self.term, "LIKE", (pattern, escape))

    def not_like(self, pattern: str, escape: str | None = None) -> Expr:
        """`NOT LIKE`: the string does not fit the pattern."""
        return build_term_predicate(self.term, "NOT LIKE", (pattern, escape))

    def ilike(self, pattern: str, escape: str | None = None) -> Expr:
        """`ILIKE`: LIKE without regard to case."""
        return build_ilike(self.term, "LIKE", pattern, escape)

    def in_cidr(self, *networks: str) -> Expr:
        """`IN CIDR`: the text of an address of one of the networks, such as '10.0.0.0/8'."""
        return build_in_networks(self.term, False, networks)

    def startswith(self, prefix: str) -> Expr:
        """`STARTS WITH`."""
        return build_term_predicate(self.term, "STARTS WITH", prefix)

    def endswith(self, suffix: str) -> Expr:
        """`ENDS WITH`."""
        return build_term_predicate(self.term, "ENDS WITH", suffix)

    def contains(self, part: str) -> Expr:
        """`CONTAINS`."""
        return build_term_predicate(self.term, "CONTAINS", part)

    def matches(self, pattern: str) -> Expr:
        """`MATCHES`: the regular expression, in RE2's syntax, is found somewhere in the string."""
        return build_term_predicate(self.term, "MATCHES", pattern)

    def is_null(self) -> Expr:
        """`IS NULL`: the event has no value."""
        return build_term_predicate(self.term, "IS NULL", None)

    def is_not_null(self) -> Expr:
        """`IS NOT NULL`: the event has a value."""
        return build_term_predicate(self.term, "IS NOT NULL", None)

    # lists

    def has_any(self, values: Iterable[Any]) -> Expr:
        """`HAS ANY`: one of the values is among its own."""
        return build_has(self._name, "ANY", values)

    def has_all(self, values: Iterable[Any]) -> Expr:
        """`HAS ALL`: all of the values are among its own."""
        return build_has(self._name, "ALL", values)

    def has_none(self, values: Iterable[Any]) -> Expr:
        """`HAS NONE`: none of the values is among its own, of which there need not be any."""
        return build_has(self._name, "NONE", values)

    def any(self, expression: object) -> Expr:
        """`items[price > 5]`: some object in the list satisfies the expression, which is about its members."""
        return build_condition(Each(self._name, as_expr(expression)))

    @property
    def _name(self) -> str:
        if not isinstance(self.term, Name):
            raise ExpressionError(f"{self.term.text} is computed: this is for an attribute of the event")
        return self.term.name

    # computing

    def __add__(self, other: object) -> Column:
        return self._computed("+", other)

    def __radd__(self, other: object) -> Column:
        return self._computed("+", other, swapped=True)

    def __sub__(self, other: object) -> Column:
        return self._computed("-", other)

    def __rsub__(self, other: object) -> Column:
        return self._computed("-", other, swapped=True)

    def __mul__(self, other: object) -> Column:
        return self._computed("*", other)

    def __rmul__(self, other: object) -> Column:
        return self._computed("*", other, swapped=True)

    def __truediv__(self, other: object) -> Column:
        return self._computed("/", other)

    def __rtruediv__(self, other: object) -> Column:
        return self._computed("/", other, swapped=True)

    def __mod__(self, other: object) -> Column:
        return self._computed("%", other)

    def __rmod__(self, other: object) -> Column:
        return self._computed("%", other, swapped=True)

    def __neg__(self) -> Column:
        return Column(build_call("-", self.term))

    def __pos__(self) -> Column:
        return self

    def __abs__(self) -> Column:
        return self.abs()

    def _computed(self, function: str, other: object, swapped: bool = False) -> Column:
        args = self.term, self._other(other)
        return Column(build_call(function, *(reversed(args) if swapped else args)))

    def abs(self) -> Column:
        """The number without its sign."""
        return Column(build_call("abs", self.term))

    def round(self, digits: int = 0) -> Column:
        """The number, rounded to some digits behind the point; halves away from zero."""
        return Column(build_call("round", self.term, *([] if digits == 0 else [self._other(digits)])))

    def lower(self) -> Column:
        """The string in lower case."""
        return Column(build_call("lower", self.term))

    def upper(self) -> Column:
        """The string in upper case."""
        return Column(build_call("upper", self.term))

    def length(self) -> Column:
        """How many characters, or of a list, how many members."""
        return Column(build_call("length", self.term))

    def concat(self, other: object) -> Column:
        """The string, and another one behind it: `||`."""
        return self._computed("||", other)

    def substr(self, first: int, length: int | None = None) -> Column:
        """The characters from position `first` on, counted from 1, or if it is negative, from the end."""
        given = [first] if length is None else [first, length]
        return Column(build_call("substr", self.term, *(self._other(one) for one in given)))

    def date_part(self, part: str) -> Column:
        """The year, month, day, hour and so on of a time."""
        return Column(build_call("date_part", self._other(part), self.term))

    def cast(self, kind: str) -> Column:
        """As another type: int, float, string, bool, date or timestamp."""
        return Column(
            build_call(
                "cast", self.term, self._other(TYPE_BY_SQL_NAME.get(kind, kind) if isinstance(kind, str) else kind)
            )
        )

    # as a condition

    def as_predicate(self) -> Expr:
        """It is TRUE."""
        return build_condition(self.term)

    def __and__(self, other: object) -> Expr:
        return self.as_predicate() & other

    def __or__(self, other: object) -> Expr:
        return self.as_predicate() | other

    def __xor__(self, other: object) -> Expr:
        return self.as_predicate() ^ other

    def __invert__(self) -> Expr:
        return Not(self.as_predicate())

    def __rand__(self, other: object) -> Expr:
        return as_expr(other) & self

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value; combine with & | ^ ~, not and/or/not")

    def __repr__(self) -> str:
        return f"tellwhen.col({self.term.name!r})" if isinstance(self.term, Name) else f"<Column {self.term.text}>"


def col(attribute: str) -> Column:
    """The attribute of this name, to build expressions in Python.

    >>> import tellwhen as tw
    >>> print((tw.col("level") == "critical") & ~tw.col("muted"))
    level = 'critical' AND NOT muted = TRUE
    """
    return Column(Name(validate_name(attribute)))


def coalesce(*given: object) -> Column:
    """The first of them that has a value.

    >>> import tellwhen as tw
    >>> print(tw.coalesce(tw.col("nickname"), tw.col("name"), "nobody") == "Ada")
    coalesce(nickname, name, 'nobody') = 'Ada'
    """
    return Column(build_call("coalesce", *(as_term(one, "coalesce") for one in given)))


def as_term(given: Any, where: str) -> Term:
    """A column's term, or a constant."""
    return given.term if isinstance(given, Column) else Literal(normalize_constant(given, where))
