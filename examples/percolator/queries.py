"""How does a query become an expression? What has none raises an error that says why."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import and_, ge, gt, le, lt, or_
from typing import Any

from constants import included, like, network, re2
from mapping import Fields, as_value, listed, words

import tellwhen as tw

COMBINATIONS_MAX = 200
"""Limit on the ANDs that a `minimum_should_match` is written out to."""

ALWAYS, NEVER = tw.parse("TRUE"), tw.parse("FALSE")
COMPARED: dict[str, Callable[[tw.Column, Any], tw.Expr]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


@dataclass(frozen=True)
class Converter:
    """Queries to expressions: `from_term` converts the body of a `term`, and so on.

    In a nested query, attributes are relative to its path. Under `must_not`, expressions are `sure`: false and not
    undefined for a document without the field.
    """

    fields: Fields
    path: str = ""
    sure: bool = False

    def __call__(self, query: dict[str, Any]) -> tw.Expr:
        kind, body = only(query)
        converted: Callable[[Any], tw.Expr] | None = getattr(self, f"from_{kind}", None)
        if converted is None:
            raise ValueError(f"there is no expression for {kind}")
        return converted(body)

    # Queries of a field

    def from_term(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "value")
        if not given.get("case_insensitive"):
            return self.one_of(name, [given["value"]])
        column = self.column(name)
        return self.surely(column, column.lower() == given["value"].lower())

    def from_terms(self, body: Any) -> tw.Expr:
        name, values = only(without_boost(body))
        if not isinstance(values, list):
            raise ValueError("terms that are looked up in another index")
        return self.one_of(name, values)

    def from_range(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "")
        refuse_others("range", given, *COMPARED)
        column = self.column(name)
        bounds = included({key: one for key, one in given.items() if one is not None}, self.kind(name))
        if bounds.keys() == {"gte", "lte"}:  # one predicate: of several values, the same one is in between
            return self.surely(column, column.between(bounds["gte"], bounds["lte"]))
        return self.surely(column, all_of(COMPARED[key](column, one) for key, one in bounds.items()))

    def from_exists(self, body: Any) -> tw.Expr:
        name = body["field"]
        inner = [path for path in self.fields.types if path.startswith(f"{name}.")]
        return any_of(self.column(path).is_not_null() for path in inner or [name])

    def from_prefix(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "value")
        column, start = self.column(name), given["value"]
        is_folded = given.get("case_insensitive", False)
        found = column.lower().startswith(start.lower()) if is_folded else column.startswith(start)
        return self.surely(column, found)

    def from_wildcard(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "value")
        column, pattern = self.column(name), like(given["value"])
        is_folded = given.get("case_insensitive", False)
        return self.surely(column, column.ilike(pattern, "!") if is_folded else column.like(pattern, "!"))

    def from_regexp(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "value")
        column, flags = self.column(name), "is" if given.get("case_insensitive") else "s"
        return self.surely(column, column.matches(f"(?{flags})^(?:{re2(given['value'])})$"))

    def from_match(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "query")
        refuse_others("match", given, "query", "operator", "minimum_should_match")
        if self.kind(name) != "text":
            return self.one_of(name, [given["query"]])
        asked = list(dict.fromkeys(words(str(given["query"]))))
        is_and = given.get("operator", "or").lower() == "and"
        least = len(asked) if is_and else required(given.get("minimum_should_match", 1), len(asked))
        if least <= 1:
            return self.one_of(name, asked)
        return at_least(least, [self.one_of(name, [word]) for word in asked])

    def from_match_phrase(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "query")
        refuse_others("match_phrase", given, "query")
        if self.kind(name) != "text":
            return self.one_of(name, [given["query"]])
        column = tw.col(f"{name.removeprefix(self.path)}_phrase")
        return self.surely(column, column.contains(f" {' '.join(words(given['query']))} "))

    def from_multi_match(self, body: Any) -> tw.Expr:
        if body.get("type", "best_fields") not in ("best_fields", "most_fields"):
            raise ValueError(f"multi_match of type {body['type']}")
        options = {key: one for key, one in body.items() if key not in ("fields", "type")}
        return any_of(self.from_match({field.partition("^")[0]: options}) for field in body["fields"])

    def from_ids(self, body: Any) -> tw.Expr:
        column = tw.col("_id")
        return self.surely(column, column.isin(body["values"])) if body["values"] else NEVER

    # Queries of queries

    def from_bool(self, body: Any) -> tw.Expr:
        refuse_others("bool", body, "must", "filter", "should", "must_not", "minimum_should_match")
        needed = [*listed(body.get("must")), *listed(body.get("filter"))]
        should = listed(body.get("should"))
        least = required(body.get("minimum_should_match", 0), len(should))
        parts = [self(query) for query in needed]
        if should and (least > 0 or not needed):  # beside others, `should` only adds to the score
            parts.append(at_least(max(1, least), [self(query) for query in should]))
        surely = replace(self, sure=True)
        return all_of([*parts, *(~surely(query) for query in listed(body.get("must_not")))])

    def from_nested(self, body: Any) -> tw.Expr:
        path = body["path"]
        if path not in self.fields.nested or not path.startswith(self.path):
            raise ValueError(f"{path} is not nested in {self.path[:-1] or 'the mapping'}")
        column = tw.col(path.removeprefix(self.path))
        return self.surely(column, column.any(replace(self, path=f"{path}.")(body["query"])))

    def from_constant_score(self, body: Any) -> tw.Expr:
        return self(body["filter"])

    def from_dis_max(self, body: Any) -> tw.Expr:
        return any_of(map(self, body["queries"]))

    def from_match_all(self, body: Any) -> tw.Expr:
        return ALWAYS

    def from_match_none(self, body: Any) -> tw.Expr:
        return NEVER

    # What they have in common

    def kind(self, name: str) -> str:
        """The type of a field."""
        if name not in self.fields.types or not name.startswith(self.path):
            raise ValueError(f"{name} is not a field of {self.path[:-1] or 'the mapping'}")
        return self.fields.types[name]

    def column(self, name: str) -> tw.Column:
        """The attribute that has the terms of a field."""
        suffix = "_words" if self.kind(name) == "text" else ""
        return tw.col(name.removeprefix(self.path) + suffix)

    def surely(self, column: tw.Column, expression: tw.Expr) -> tw.Expr:
        """The expression; if it must be sure, false without the attribute."""
        return column.is_not_null() & expression if self.sure else expression

    def one_of(self, name: str, values: list[Any]) -> tw.Expr:
        """One of the values is among the terms of the field."""
        column, kind = self.column(name), self.kind(name)
        if not values:
            return NEVER
        if kind == "date":
            return any_of(self.from_range({name: {"gte": value, "lte": value}}) for value in values)
        if kind == "ip":
            return self.surely(column, column.in_cidr(*map(network, values)))
        given = [as_value(value, kind) for value in values]
        if self.sure:
            return column.has_any(given)
        return column == given[0] if len(given) == 1 else column.isin(given)


# The parts of a query


def only(given: dict[str, Any]) -> tuple[str, Any]:
    """The only member of an object."""
    if len(given) != 1:
        raise ValueError(f"one member was expected, not {', '.join(given) or 'none'}")
    return next(iter(given.items()))


def without_boost(body: dict[str, Any]) -> dict[str, Any]:
    """Scores are not converted."""
    return {key: one for key, one in body.items() if key not in ("boost", "_name")}


def one_field(body: Any, short: str) -> tuple[str, dict[str, Any]]:
    """The field of a query, and its options; the short form has only a value."""
    name, given = only(without_boost(body))
    return name, without_boost(given) if isinstance(given, dict) else {short: given}


def refuse_others(query: str, options: dict[str, Any], *known: str) -> None:
    """Raise an error for an option that would be ignored."""
    if unknown := without_boost(options).keys() - set(known):
        raise ValueError(f"{query} with {min(unknown)}")


def required(given: int | str, count: int) -> int:
    """`minimum_should_match` as a number: 2, -1, "75%" or "-25%"."""
    text = str(given)
    if not re.fullmatch(r"-?\d+%?", text):
        raise ValueError(f"minimum_should_match {given}")
    number = int(text.removesuffix("%"))
    share = int(number * count / 100) if text.endswith("%") else number
    least = count + share if number < 0 else share
    if least > count:
        raise ValueError(f"minimum_should_match {given} of {count}")
    return least


# Expressions of expressions


def all_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by AND."""
    return reduce(and_, list(parts) or [ALWAYS])


def any_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by OR."""
    return reduce(or_, list(parts) or [NEVER])


def at_least(count: int, parts: list[tw.Expr]) -> tw.Expr:
    """At least `count` of the parts are true: there is no operator for it, so all combinations are written out."""
    if math.comb(len(parts), count) > COMBINATIONS_MAX:
        raise ValueError(f"{count} of {len(parts)} would be {math.comb(len(parts), count):,} combinations")
    return any_of(map(all_of, combinations(parts, count)))
