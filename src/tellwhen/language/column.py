"""Python -> Expr: `col("price") < 20`, `col("a") + col("b") > 3`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellwhen.errors import ExpressionError, abbreviate
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
from tellwhen.language.terms import AnyMember, Literal, Name, Term
from tellwhen.language.values import normalize_constant


class Column:
    """An attribute or a computed value, from which Python's operators build expressions.

    Comparisons return expressions, arithmetic returns columns. In place of an expression, a column means
    that it is TRUE.

    Examples
    --------
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

    # comparisons

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._compare("<>", other)

    def __lt__(self, other: object) -> Expr:
        return self._compare("<", other)

    def __le__(self, other: object) -> Expr:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Expr:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Expr:
        return self._compare(">=", other)

    def _compare(self, operator: str, other: object) -> Expr:
        return build_comparison(self.term, operator, self._to_term(other))

    def _to_term(self, value: Any) -> Term:
        return as_term(value, self.term.text)

    def isin(self, values: Iterable[Any]) -> Expr:
        """Return the expression `IN`: the value equals one of `values`."""
        return self._build_in("IN", values)

    def not_in(self, values: Iterable[Any]) -> Expr:
        """Return the expression `NOT IN`: the value equals none of `values`."""
        return self._build_in("NOT IN", values)

    def _build_in(self, operator: str, values: Any) -> Expr:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ExpressionError(f"{self.term.text}: {operator} takes a list of constants, not {abbreviate(values)}")
        items = tuple(values)
        if items and not any([isinstance(item, Column) for item in items]):
            # No term for each constant: there may be a million.
            return build_term_predicate(self.term, operator, items)
        return build_in(self.term, operator == "NOT IN", [self._to_term(item) for item in items])

    def between(self, low: Any, high: Any) -> Expr:
        """Return the expression `BETWEEN`: the value is at least `low` and at most `high`."""
        return build_between(self.term, False, self._to_term(low), self._to_term(high))

    def not_between(self, low: Any, high: Any) -> Expr:
        """Return the expression `NOT BETWEEN`: the value is less than `low` or greater than `high`."""
        return build_between(self.term, True, self._to_term(low), self._to_term(high))

    def like(self, pattern: str, escape: str | None = None) -> Expr:
        """Return the expression `LIKE`: the whole string matches the pattern.

        In the pattern, `%` stands for any characters and `_` for one character.
        """
        return build_term_predicate(self.term, "LIKE", (pattern, escape))

    def not_like(self, pattern: str, escape: str | None = None) -> Expr:
        """Return the expression `NOT LIKE`: the string does not match the pattern."""
        return build_term_predicate(self.term, "NOT LIKE", (pattern, escape))

    def ilike(self, pattern: str, escape: str | None = None) -> Expr:
        """Return the expression `ILIKE`: LIKE that ignores case."""
        return build_ilike(self.term, "LIKE", pattern, escape)

    def in_cidr(self, *networks: str) -> Expr:
        """Return the expression `IN CIDR`: the string is an IP address in one of the networks, such as '10.0.0.0/8'."""
        return build_in_networks(self.term, False, networks)

    def startswith(self, prefix: str) -> Expr:
        """Return the expression `STARTS WITH`: the string starts with a prefix."""
        return build_term_predicate(self.term, "STARTS WITH", prefix)

    def endswith(self, suffix: str) -> Expr:
        """Return the expression `ENDS WITH`: the string ends with a suffix."""
        return build_term_predicate(self.term, "ENDS WITH", suffix)

    def contains(self, part: str) -> Expr:
        """Return the expression `CONTAINS`: the string contains another string."""
        return build_term_predicate(self.term, "CONTAINS", part)

    def matches(self, pattern: str) -> Expr:
        """Return the expression `MATCHES`: a regular expression in RE2's syntax matches somewhere in the string."""
        return build_term_predicate(self.term, "MATCHES", pattern)

    def is_null(self) -> Expr:
        """Return the expression `IS NULL`: the event has no value."""
        return build_term_predicate(self.term, "IS NULL", None)

    def is_not_null(self) -> Expr:
        """Return the expression `IS NOT NULL`: the event has a value."""
        return build_term_predicate(self.term, "IS NOT NULL", None)

    # lists

    def has_any(self, values: Iterable[Any]) -> Expr:
        """Return the expression `HAS ANY`: the attribute has at least one of the values."""
        return build_has(self._name, "ANY", values)

    def has_all(self, values: Iterable[Any]) -> Expr:
        """Return the expression `HAS ALL`: the attribute has all of the values."""
        return build_has(self._name, "ALL", values)

    def has_none(self, values: Iterable[Any]) -> Expr:
        """Return the expression `HAS NONE`: the attribute has none of the values, or is missing."""
        return build_has(self._name, "NONE", values)

    def any(self, expression: object) -> Expr:
        """Return an expression such as `items[price > 5]`: some object in the list satisfies `expression`.

        The attributes in `expression` are members of the object.
        """
        return build_condition(AnyMember(self._name, as_expr(expression)))

    @property
    def _name(self) -> str:
        if not isinstance(self.term, Name):
            raise ExpressionError(f"expected an attribute of the event, {self.term.text} is computed")
        return self.term.name

    # computed columns

    def __add__(self, other: object) -> Column:
        return self._compute("+", other)

    def __radd__(self, other: object) -> Column:
        return self._compute("+", other, is_reversed=True)

    def __sub__(self, other: object) -> Column:
        return self._compute("-", other)

    def __rsub__(self, other: object) -> Column:
        return self._compute("-", other, is_reversed=True)

    def __mul__(self, other: object) -> Column:
        return self._compute("*", other)

    def __rmul__(self, other: object) -> Column:
        return self._compute("*", other, is_reversed=True)

    def __truediv__(self, other: object) -> Column:
        return self._compute("/", other)

    def __rtruediv__(self, other: object) -> Column:
        return self._compute("/", other, is_reversed=True)

    def __mod__(self, other: object) -> Column:
        return self._compute("%", other)

    def __rmod__(self, other: object) -> Column:
        return self._compute("%", other, is_reversed=True)

    def __neg__(self) -> Column:
        return Column(build_call("-", self.term))

    def __pos__(self) -> Column:
        return self

    def __abs__(self) -> Column:
        return self.abs()

    def _compute(self, function: str, other: object, is_reversed: bool = False) -> Column:
        args = self.term, self._to_term(other)
        return Column(build_call(function, *(reversed(args) if is_reversed else args)))

    def abs(self) -> Column:
        """Return the absolute value as a column."""
        return Column(build_call("abs", self.term))

    def round(self, digits: int = 0) -> Column:
        """Return the number rounded to `digits` after the decimal point, halves away from zero, as a column."""
        return Column(build_call("round", self.term, *([] if digits == 0 else [self._to_term(digits)])))

    def lower(self) -> Column:
        """Return the string in lower case as a column."""
        return Column(build_call("lower", self.term))

    def upper(self) -> Column:
        """Return the string in upper case as a column."""
        return Column(build_call("upper", self.term))

    def length(self) -> Column:
        """Return the number of characters of a string, or of members of a list, as a column."""
        return Column(build_call("length", self.term))

    def concat(self, other: object) -> Column:
        """Return the string followed by another one (`||`) as a column."""
        return self._compute("||", other)

    def substr(self, first: int, length: int | None = None) -> Column:
        """Return the characters from position `first` as a column.

        The first character has position 1, the last one -1. `length` limits the number of characters.
        """
        args = [first] if length is None else [first, length]
        return Column(build_call("substr", self.term, *(self._to_term(arg) for arg in args)))

    def date_part(self, part: str) -> Column:
        """Return a part of a time, such as "year", "month" or "hour", as a column."""
        return Column(build_call("date_part", self._to_term(part), self.term))

    def cast(self, kind: str) -> Column:
        """Return the value converted to a type as a column: int, float, string, bool, date or timestamp."""
        return Column(
            build_call(
                "cast", self.term, self._to_term(TYPE_BY_SQL_NAME.get(kind, kind) if isinstance(kind, str) else kind)
            )
        )

    # as a condition

    def as_predicate(self) -> Expr:
        """Return the expression that the column is TRUE."""
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
        raise TypeError("a column has no truth value; combine columns with & | ^ ~, not and/or/not")

    def __repr__(self) -> str:
        return f"tellwhen.col({self.term.name!r})" if isinstance(self.term, Name) else f"<Column {self.term.text}>"


def col(attribute: str) -> Column:
    """Return the column of an attribute, to build expressions in Python.

    Parameters
    ----------
    attribute
        Name of the attribute; a dotted name for a member of an object.

    Returns
    -------
    Column
        The column.

    Raises
    ------
    ExpressionError
        If the name is empty, too long or no str.

    Examples
    --------
    >>> import tellwhen as tw
    >>> print((tw.col("level") == "critical") & ~tw.col("muted"))
    level = 'critical' AND NOT muted = TRUE
    """
    return Column(Name(validate_name(attribute)))


def coalesce(*values: object) -> Column:
    """Return the first of several columns or constants that has a value, as a column.

    Examples
    --------
    >>> import tellwhen as tw
    >>> print(tw.coalesce(tw.col("nickname"), tw.col("name"), "nobody") == "Ada")
    coalesce(nickname, name, 'nobody') = 'Ada'
    """
    return Column(build_call("coalesce", *(as_term(value, "coalesce") for value in values)))


def as_term(value: Any, label: str) -> Term:
    """Return the term of a column, or a constant as a term. Errors begin with `label`."""
    return value.term if isinstance(value, Column) else Literal(normalize_constant(value, label))
