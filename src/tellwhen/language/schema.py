"""Declared types of attributes.

Declarations are optional. Subscriptions that contradict a declaration are rejected. Text in events is read as a time
where a time is declared, and events that consist of text only are read as declared.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from tellwhen.deprecation import warn_deprecated
from tellwhen.errors import SchemaError, abbreviate, find_similar
from tellwhen.language.ast import Expr, Predicate
from tellwhen.language.computation import get_term, iter_input_paths
from tellwhen.language.formatting import format_predicate
from tellwhen.language.predicates import validate_name
from tellwhen.language.terms import AnyMember, is_computed
from tellwhen.language.times import parse_time
from tellwhen.language.values import Family, is_list_like

TypeName = Literal["bool", "int", "float", "string", "date", "timestamp"]

FAMILY_BY_TYPE: dict[str, Family] = {
    "bool": "bool", "int": "number", "float": "number", "string": "string", "date": "time", "timestamp": "time",
}  # fmt: skip

TYPE_NAME_BY_CLASS: dict[type, TypeName] = {
    bool: "bool", int: "int", float: "float", str: "string", dt.date: "date", dt.datetime: "timestamp",
}  # fmt: skip
"""Python's types, which callers may pass by mistake, and the types that they mean."""

CONSTANT_EXAMPLES = {"date": "DATE '2026-01-31'", "timestamp": "TIMESTAMP '2026-01-31 12:30:00'"}
"""Examples of constants for error messages. Without its keyword, 2026-01-31 is a subtraction."""


class Schema:
    """Declared types of attributes.

    Parameters
    ----------
    types
        Names of attributes and their types: bool, int, float, string, date or timestamp.
    strict
        Reject subscriptions with an attribute that is not declared. Without `strict` it may have any type.

    Raises
    ------
    SchemaError
        If a type is unknown or the arguments are no schema.

    Examples
    --------
    >>> import tellwhen as tw
    >>> index = tw.Index(schema=tw.Schema({"price": "float", "opened": "date"}))
    >>> _ = index.add("early", "opened < DATE '2000-01-01'")
    >>> index.match({"opened": "1999-12-31"})
    ['early']
    >>> _ = index.add("odd", "price = 'cheap'")
    Traceback (most recent call last):
    tellwhen.errors.SchemaError: subscription 'odd': price = 'cheap': price is declared float, but 'cheap' is a string
    >>> tw.Index(schema=tw.Schema({"price": "float"}, strict=True)).add("typo", "prise < 20")
    Traceback (most recent call last):
    tellwhen.errors.SchemaError: subscription 'typo': prise < 20: prise is not declared; did you mean price?
    """

    __slots__ = ("_paths_to_times", "reads_times", "strict", "types")

    def __init__(self, types: Mapping[str, str] | Iterable[tuple[str, str]] = (), *, strict: bool = False) -> None:
        if not isinstance(strict, bool):
            raise SchemaError(f"strict must be True or False, not {abbreviate(strict)}")
        self.strict = strict
        try:
            self.types: dict[str, TypeName] = dict(types)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SchemaError(f"a schema must be a mapping of names to types, not {abbreviate(types)}") from None
        for attribute, type_ in self.types.items():
            validate_name(attribute)
            if not isinstance(type_, str) or type_ not in FAMILY_BY_TYPE:
                name = TYPE_NAME_BY_CLASS.get(type_) if isinstance(type_, type) else None
                hint = f"write the type as text: {name!r}" if name else f"the types are {', '.join(FAMILY_BY_TYPE)}"
                raise SchemaError(f"{attribute}: unknown type {abbreviate(type_)}; {hint}")
        times = [attribute for attribute, type_ in self.types.items() if FAMILY_BY_TYPE[type_] == "time"]
        self.reads_times = len(times) > 0
        self._paths_to_times = frozenset(path for attribute in times for path in _list_parent_paths(attribute))

    @classmethod
    def coerce(cls, schema: Schema | Mapping[str, Any] | None) -> Schema:
        """Return a Schema as it is, make one from a mapping, and an empty one from None."""
        return schema if isinstance(schema, Schema) else cls({} if schema is None else schema)

    @classmethod
    def _coerce_and_warn(cls, schema: Schema | Mapping[str, Any] | None) -> Schema:
        """Call `Schema.coerce`. Deprecated."""
        warn_deprecated("Schema.of()", "Schema.coerce()")
        return cls.coerce(schema)

    of = _coerce_and_warn

    def as_json(self) -> dict[str, Any]:
        """Return the schema as a dict that JSON can store."""
        return {"types": self.types, "strict": self.strict}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Schema:
        """Make a schema from the dict that `as_json` returned."""
        return cls(form["types"], strict=form["strict"])

    def check(self, expression: Expr) -> None:
        """Raise SchemaError if an expression contradicts the schema.

        That is, if a predicate has constants of another family than its attribute is declared with or, in a strict
        schema, an attribute that is not declared.
        """
        if self.types or self.strict:
            for predicate in expression.predicates():
                for path, tested in _iter_tested_predicates(predicate):
                    self._check_family(path, tested)
                if self.strict:
                    self._check_declared(predicate)

    def _check_declared(self, predicate: Predicate) -> None:
        for attribute in iter_input_paths(predicate.attribute):
            is_object = any(validate_name.startswith(f"{attribute}.") for validate_name in self.types)
            if attribute not in self.types and not is_object:
                similar = find_similar(attribute, self.types)
                hint = (
                    f"; did you mean {similar}?"
                    if similar
                    else "; declare it in the schema, or make the schema with strict=False"
                )
                raise SchemaError(f"{format_predicate(predicate)}: {attribute} is not declared{hint}")

    def _check_family(self, path: str, predicate: Predicate) -> None:
        declared = self.types.get(path)
        family = predicate.family
        if declared is not None and family is not None and FAMILY_BY_TYPE[declared] != family:
            hint = f"; write a {declared} as {CONSTANT_EXAMPLES[declared]}" if declared in CONSTANT_EXAMPLES else ""
            raise SchemaError(
                f"{format_predicate(predicate)}: {path} is declared {declared}, "
                f"but {predicate.constants[0]!r} is a {family}{hint}"
            )

    def has_times_at(self, attribute: str) -> bool:
        """Return whether an attribute, or a member of objects in it, is declared as a date or timestamp."""
        return attribute in self._paths_to_times or FAMILY_BY_TYPE.get(self.types.get(attribute, "")) == "time"

    def read(self, attribute: str, value: Any) -> Any:
        """Return a value of an event as declared: text of a date or timestamp attribute becomes a time if it is one.

        The same holds for the members of lists and of objects.
        """
        if isinstance(value, str) and FAMILY_BY_TYPE.get(self.types.get(attribute, "")) == "time":
            time = parse_time_or_none(value)
            return value if time is None else time
        if is_list_like(value):
            return [self.read(attribute, member) for member in value]
        if attribute in self._paths_to_times and isinstance(value, Mapping):
            return {name: self.read(f"{attribute}.{name}", member) for name, member in value.items()}
        return value

    def read_event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return a flat event with every value as declared."""
        return {
            attribute: self.read(attribute, value) if self.has_times_at(attribute) else value
            for attribute, value in event.items()
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and (self.types, self.strict) == (other.types, other.strict)

    def __repr__(self) -> str:
        return f"Schema({self.types!r}{', strict=True' if self.strict else ''})"


def _list_parent_paths(attribute: str) -> Iterator[str]:
    """Yield a and a.b for a.b.c."""
    return (attribute[:i] for i, character in enumerate(attribute) if character == ".")


def _iter_tested_predicates(predicate: Predicate, prefix: str = "") -> Iterator[tuple[str, Predicate]]:
    """Yield a predicate with the path of its attribute; for `items[price > 5]`, yield price > 5 with items.price."""
    term = get_term(predicate.attribute) if is_computed(predicate.attribute) else None
    if isinstance(term, AnyMember):
        for tested in term.expression.predicates():
            yield from _iter_tested_predicates(tested, f"{prefix}{term.name}.")
    else:
        yield f"{prefix}{predicate.attribute}", predicate


def parse_time_or_none(text: str) -> dt.datetime | None:
    """Parse an ISO date or timestamp; return None for other text."""
    try:
        return parse_time(text.strip())
    except ValueError:
        return None


def parse_value(text: str, family: Family) -> Any:
    """Parse text as a value of a family; return None if it is none.

    This reads events that consist of text only, such as rows of CSV.
    """
    if family == "string":
        return text
    if family == "time":
        return parse_time_or_none(text)
    stripped = text.strip()
    if family == "bool":
        return {"true": True, "false": False}.get(stripped.lower())
    if len(stripped) >= 1000 or "_" in stripped:  # Python would read 1_000 as a number
        return None
    for number in (int, float):
        try:
            return number(stripped)
        except ValueError:
            continue
    return None
