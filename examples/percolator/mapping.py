"""What are the fields of an index, and which attributes do they become?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tellwhen as tw

INTEGERS = {"byte", "short", "integer", "long", "unsigned_long"}
FLOATS = {"half_float", "float", "double", "scaled_float"}
DATES = {"date", "date_nanos"}
TYPES = {
    "boolean": "bool",
    "ip": "string",
    "keyword": "string",
    "text": "string",
    "geo_point": "float",
    **dict.fromkeys(INTEGERS, "int"),
    **dict.fromkeys(FLOATS, "float"),
    **dict.fromkeys(DATES, "timestamp"),
}
"""The types that are converted, and what they are in a schema."""

SAME = {"match_only_text": "text", "wildcard": "keyword"}
ISO_FORMATS = {
    "strict_date_optional_time", "date_optional_time", "strict_date_optional_time_nanos", "epoch_millis",
    "strict_date", "date", "yyyy-MM-dd", "strict_date_time", "date_time", "strict_date_time_no_millis",
}  # fmt: skip
UNUSED_PARAMETERS = (
    "analyzer", "search_analyzer", "normalizer", "null_value", "copy_to", "scaling_factor", "ignore_above",
    "ignore_malformed",
)  # fmt: skip
"""Parameters of a field that this script applies neither to queries nor to events."""


@dataclass(frozen=True)
class Fields:
    """The fields of a mapping: their types by path, and what else a query must know of them."""

    types: dict[str, str] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    included_in_parents: frozenset[str] = frozenset()
    """The nested objects that are found without a nested query, too."""
    copies: dict[str, list[str]] = field(default_factory=dict)
    """The multi-fields of each."""
    aliases: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, list[str]] = field(default_factory=dict)
    """By path, the parameters that a person should look at."""

    @classmethod
    def from_properties(cls, properties: dict[str, Any]) -> Fields:
        """Return the fields of the `properties` of a mapping."""
        found = dict(iterate_definitions(properties))
        nested = {path: one for path, one in found.items() if one.get("type") == "nested"}
        doubts = {
            path: [f"{name} {one[name]}" for name in UNUSED_PARAMETERS if name in one] for path, one in found.items()
        }
        return cls(
            {path: type_of(one) for path, one in found.items() if is_leaf(one)},
            frozenset(nested),
            frozenset(
                path for path, one in nested.items() if one.get("include_in_parent") or one.get("include_in_root")
            ),
            {path: [f"{path}.{copy}" for copy in one["fields"]] for path, one in found.items() if one.get("fields")},
            {path: one["path"] for path, one in found.items() if one.get("type") == "alias"},
            {path: some for path, some in doubts.items() if some},
        )

    def resolve(self, name: str) -> str:
        """Return the path of a field or of an alias."""
        return self.aliases.get(name, name)

    def nest_of(self, path: str) -> str:
        """The nested object that a field belongs to; nothing if it is the document."""
        return max((one for one in self.nested if path.startswith(f"{one}.")), key=len, default="")

    def percolators(self) -> list[str]:
        """The fields that have queries."""
        return [path for path, kind in self.types.items() if kind == "percolator"]

    def schema(self) -> tw.Schema:
        """The types for an index. It is strict, as a percolator is: an unknown field is an error."""
        found = {"_id": "string"}
        for path, kind in self.types.items():
            for suffix in SUFFIXES.get(kind, ("",)) if kind in TYPES else ():
                found[path + suffix] = TYPES[kind]
        return tw.Schema(found, strict=True)


SUFFIXES = {"text": ("_words", "_phrase"), "geo_point": (".lat", ".lon")}
"""The attributes of types that have several."""


def iterate_definitions(properties: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the definition of every object and field."""
    for name, one in properties.items():
        yield prefix + name, one
        yield from iterate_definitions(one.get("properties") or one.get("fields") or {}, f"{prefix}{name}.")


def is_leaf(definition: dict[str, Any]) -> bool:
    """Not an object, and not another name of a field."""
    return "properties" not in definition and definition.get("type", "object") not in ("object", "nested", "alias")


def type_of(definition: dict[str, Any]) -> str:
    """The type of a field. Dates that are not in ISO form have a type of their own, which is not converted."""
    kind: str = definition["type"]
    form: str = definition.get("format", "")
    if kind in DATES and form and not ISO_FORMATS.issuperset(form.split("||")):
        return f"{kind} with format {form}"
    return SAME.get(kind, kind)
