"""How does a query of one field become an expression? What has none raises an error that says why."""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any

from addresses import network_ends, ranges
from expressions import ALWAYS, NEVER, all_of, any_of, list_combinations
from geo import box
from mapping import DATES, INTEGERS, TYPES, Fields
from options import count_required, field_value, get_only_member, get_required, one_field, without_score
from ranges import NAMES, address_bounds, ends, make_bounds
from values import as_list, as_text, as_value, number, words
from wildcards import like, re2

import tellwhen as tw

COMPARED: dict[str, Callable[[tw.Column, Any], tw.Expr]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
STRINGS = ("keyword", "text")
COMPARABLE = TYPES.keys() - {"geo_point"}
TWO_VALUES = "{}: of several values, one may be above the lower bound, and another one below the upper"


class NotHere(Exception):
    """A field of another nested object. Elasticsearch finds nothing, and says nothing."""


@dataclass(frozen=True)
class Leaves:
    """Queries of one field: `from_term` converts the body of a `term`, and so on.

    In a nested query, attributes are relative to its path. Under `must_not`, expressions are `sure`: false and not
    undefined for a document without the field.
    """

    fields: Fields
    path: str = ""
    sure: bool = False
    remarks: list[str] = field(default_factory=list)
    """What a person should look at."""

    def from_term(self, body: Any) -> tw.Expr:
        name, value, given = field_value("term", body, "value", "case_insensitive")
        if not given.get("case_insensitive"):
            return self.one_of(name, [value])
        column = self.column(name, *STRINGS)
        return self.require_attribute(column, column.lower() == fold_case(value))

    def from_terms(self, body: Any) -> tw.Expr:
        name, values = get_only_member(without_score(body))
        if not isinstance(values, list):
            raise ValueError("terms that are looked up in another index")
        return self.one_of(name, values)

    def from_range(self, body: Any) -> tw.Expr:
        name, given = one_field("range", body, *NAMES)
        column, kind, (low, high) = self.column(name, *COMPARABLE), self.kind(name), ends(given)
        if low is None and high is None:
            return column.is_not_null()
        if kind == "ip":
            return self.in_addresses(column, *address_bounds(low, high))
        bounds = make_bounds(low, high, kind)
        if not bounds:
            return column.is_not_null()
        if bounds.keys() == {"gte", "lte"}:  # one predicate: of several values, the same one is in between
            return self.require_attribute(column, column.between(bounds["gte"], bounds["lte"]))
        if len(bounds) == 2:
            self.remarks.append(TWO_VALUES.format(name))
        return self.require_attribute(column, all_of(COMPARED[key](column, one) for key, one in bounds.items()))

    def from_exists(self, body: Any) -> tw.Expr:
        name = self.fields.resolve(get_required("exists", body, "field"))
        inner = [path for path in self.fields.types if path.startswith(f"{name}.")]
        if name not in self.fields.types and not inner:
            raise ValueError(f"{name} is not a field of the mapping")
        paths = [name] if name in self.fields.types else inner
        found = [self.column(path, words_of="_phrase") for path in paths if self.is_here(path)]
        return any_of(column.is_not_null() for column in found)

    def from_prefix(self, body: Any) -> tw.Expr:
        name, start, given = field_value("prefix", body, "value", "case_insensitive")
        column = self.column(name, *STRINGS)
        is_folded = given.get("case_insensitive", False)
        return self.require_attribute(
            column, column.lower().startswith(fold_case(start)) if is_folded else column.startswith(as_text(start))
        )

    def from_wildcard(self, body: Any) -> tw.Expr:
        name, pattern, given = field_value("wildcard", body, "value", "case_insensitive")
        column = self.column(name, *STRINGS)
        is_folded = given.get("case_insensitive", False)
        written = like(fold_case(pattern) if is_folded else as_text(pattern))
        return self.require_attribute(column, column.ilike(written, "!") if is_folded else column.like(written, "!"))

    def from_regexp(self, body: Any) -> tw.Expr:
        name, pattern, given = field_value("regexp", body, "value", "flags", "flags_value", "case_insensitive")
        column = self.column(name, *STRINGS)
        is_folded = given.get("case_insensitive", False)
        flags = "is" if is_folded and fold_case(pattern) else "s"
        return self.require_attribute(
            column, column.matches(f"(?{flags})^(?:{re2(as_text(pattern), given.get('flags', 'ALL'))})$")
        )

    def from_match(self, body: Any) -> tw.Expr:
        name, asked, given = field_value(
            "match", body, "query", "operator", "minimum_should_match", "zero_terms_query", "lenient"
        )
        if self.kind(name) != "text":
            return self.match_unanalyzed(name, asked, given)
        found = words(as_text(asked))
        if not found:
            return without_words(given)
        is_and = str(given.get("operator", "or")).lower() == "and"
        least = len(found) if is_and else count_required(given.get("minimum_should_match", 1), len(found))
        if least <= 1 or len(found) == 1:
            return self.one_of(name, found)
        column = self.column(name)
        return any_of(column.has_all(some) for some in dict.fromkeys(map(distinct, list_combinations(least, found))))

    def from_match_phrase(self, body: Any, end: str = " ", query: str = "match_phrase") -> tw.Expr:
        name, asked, given = field_value(query, body, "query", "zero_terms_query", "lenient")
        if self.kind(name) != "text":
            return self.match_unanalyzed(name, asked, given)
        found = words(as_text(asked))
        if not found:
            return without_words(given)
        column = self.column(name, words_of="_phrase")
        return self.require_attribute(column, column.contains(f" {' '.join(found)}{end}"))

    def from_match_phrase_prefix(self, body: Any) -> tw.Expr:
        return self.from_match_phrase(body, "", "match_phrase_prefix")

    def from_geo_bounding_box(self, body: Any) -> tw.Expr:
        name, given = get_only_member(without_score(body))
        column, sides = self.column(name, "geo_point"), box(given)
        left, right, lon = sides["left"], sides["right"], tw.col("lon")
        across = lon.between(left, right) if left <= right else (lon >= left) | (lon <= right)
        return self.require_attribute(column, column.any(tw.col("lat").between(sides["bottom"], sides["top"]) & across))

    def from_ids(self, body: Any) -> tw.Expr:
        values = [as_text(one) for one in as_list(get_required("ids", body, "values"))]
        if self.path:
            raise ValueError(f"ids in nested {self.path[:-1]}")
        column = tw.col("_id")
        return NEVER if not values else column.has_any(values) if self.sure else column.isin(values)

    # What they have in common

    def kind(self, name: str) -> str:
        """The type of a field."""
        kind = self.fields.types.get(self.fields.resolve(name))
        if kind is None:
            raise ValueError(f"{name} is not a field of the mapping")
        if kind not in TYPES:
            raise ValueError(f"{name} is of type {kind}, which is not converted")
        return kind

    def is_here(self, path: str) -> bool:
        """Whether a field belongs to the documents that are asked: nested objects are documents of their own."""
        nest = self.fields.nest_of(path)
        if nest != self.path[:-1] and nest in self.fields.included_in_parents:
            raise ValueError(f"{path}, whose nested object is included in others, outside of a nested query")
        return nest == self.path[:-1]

    def column(self, name: str, *kinds: str, words_of: str = "_words") -> tw.Column:
        """The attribute that has the terms of a field, which must be of one of the types."""
        kind, path = self.kind(name), self.fields.resolve(name)
        if kinds and kind not in kinds:
            raise ValueError(f"{name} is of type {kind}, which this query is not for")
        if not self.is_here(path):
            raise NotHere
        return tw.col(path.removeprefix(self.path) + (words_of if kind == "text" else ""))

    def require_attribute(self, column: tw.Column, expression: tw.Expr) -> tw.Expr:
        """Return the expression; if it must be sure, make it false without the attribute."""
        return column.is_not_null() & expression if self.sure else expression

    def one_of(self, name: str, values: list[Any]) -> tw.Expr:
        """One of the values is among the terms of the field."""
        kind = self.kind(name)
        column = self.column(name, *COMPARABLE)
        if kind in DATES:
            return any_of(self.from_range({name: {"gte": value, "lte": value}}) for value in values)
        if kind == "ip":
            return any_of(self.in_addresses(column, *network_ends(value)) for value in values)
        whole = [one for one in values if kind not in INTEGERS or number(one) % 1 == 0]
        given = list(dict.fromkeys(as_value(value, kind) for value in whole))
        if not given:
            return NEVER
        if self.sure:
            return column.has_any(given)
        return column == given[0] if len(given) == 1 else column.isin(given)

    def match_unanalyzed(self, name: str, asked: Any, given: dict[str, Any]) -> tw.Expr:
        """Convert a `match` of a field that is not analysed. A lenient one finds nothing by a value of another type."""
        try:
            return self.one_of(name, [asked])
        except ValueError:
            if given.get("lenient"):
                return NEVER
            raise

    def in_addresses(self, column: tw.Column, low: int, high: int) -> tw.Expr:
        """An address is between two places."""
        name = column.term.text
        found = [
            f"address({name}) BETWEEN address('{first}') AND address('{last}')" for first, last in ranges(low, high)
        ]
        return self.require_attribute(column, any_of(map(tw.parse, found)))


def distinct(found: tuple[str, ...]) -> tuple[str, ...]:
    """Each word once."""
    return tuple(dict.fromkeys(found))


def fold_case(given: Any) -> str:
    """Return text in lower case. Elasticsearch folds the letters of ASCII only."""
    text = as_text(given)
    if not text.isascii():
        raise ValueError(f"{text!r} without regard to case, which Elasticsearch has for ASCII only")
    return text.lower()


def without_words(given: dict[str, Any]) -> tw.Expr:
    """A query of text that has no words."""
    return ALWAYS if given.get("zero_terms_query", "none").lower() == "all" else NEVER
