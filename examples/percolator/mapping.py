"""What are the fields of an index, and what do they make of a value?"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tellwhen as tw

INTEGERS, FLOATS = {"byte", "short", "integer", "long"}, {"half_float", "float", "double", "scaled_float"}
TYPES = {"boolean": "bool", "date": "timestamp", **dict.fromkeys(INTEGERS, "int"), **dict.fromkeys(FLOATS, "float")}


@dataclass(frozen=True)
class Fields:
    """The fields of a mapping: their types by path, the nested ones, and the multi-fields of each."""

    types: dict[str, str]
    nested: frozenset[str]
    copies: dict[str, list[str]]

    @classmethod
    def of(cls, properties: dict[str, Any]) -> Fields:
        """Read the `properties` of a mapping."""
        found = dict(defined(properties))
        return cls(
            {path: field["type"] for path, field in found.items() if "properties" not in field},
            frozenset(path for path, field in found.items() if field.get("type") == "nested"),
            {path: [f"{path}.{copy}" for copy in field.get("fields", ())] for path, field in found.items()},
        )

    def schema(self) -> tw.Schema:
        """The types for an index. It is strict, as a percolator is: an unknown field is an error."""
        types = {"_id": "string"}
        for path, kind in self.types.items():
            if kind == "text":
                types[f"{path}_words"] = types[f"{path}_phrase"] = "string"
            elif kind != "percolator":
                types[path] = TYPES.get(kind, "string")
        return tw.Schema(types, strict=True)


def defined(properties: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The path and the definition of every object and field."""
    for name, field in properties.items():
        yield prefix + name, field
        yield from defined(field.get("properties") or field.get("fields", {}), f"{prefix}{name}.")


def words(text: str) -> list[str]:
    """Nearly what the standard analyzer does. Put your own analyzer here."""
    return re.findall(r"\w+", text.lower())


def as_value(value: Any, kind: str) -> Any:
    """A value as a field of this type indexes it."""
    if kind in INTEGERS or kind in FLOATS:
        return (int if kind in INTEGERS else float)(value)
    if kind == "boolean":
        return value if isinstance(value, bool) else {"true": True, "false": False}[value]
    if kind == "date":
        return dt.datetime.fromtimestamp(value / 1000, dt.UTC) if isinstance(value, int) else value
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def listed(given: Any) -> list[Any]:
    """A list of one, several or none."""
    return given if isinstance(given, list) else [] if given is None else [given]
