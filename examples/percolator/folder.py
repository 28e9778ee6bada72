"""What is in the folder of an export? mapping.json, and files with one object of JSON on each line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mapping import Fields

Rows = list[dict[str, Any]]


def read_fields(folder: Path) -> Fields:
    """The fields of the mapping. An alias of several indexes has several mappings, which must not contradict."""
    mappings = json.loads((folder / "mapping.json").read_text())
    together: dict[str, Any] = {}
    for index, mapping in mappings.items():
        for name, definition in mapping["mappings"].get("properties", {}).items():
            if together.setdefault(name, definition) != definition:
                raise ValueError(f"{name} of {index} is another field than in {next(iter(mappings))}: export one index")
    return Fields.from_properties(together)


def choose_field(fields: Fields, name: str = "") -> str:
    """Return the name of the field that has the queries."""
    found = fields.percolators()
    if name and name not in found:
        raise ValueError(f"{name} is not a percolator field; there is {', '.join(found) or 'none'}")
    if not name and len(found) != 1:
        raise ValueError(f"choose the percolator field by --field: {', '.join(found) or 'there is none'}")
    return name or found[0]


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place and the object of each line that is not empty."""
    with path.open() as lines:
        for number, line in enumerate(lines, 1):
            place = f"{path.name}, line {number}"
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{place}: {error}") from None
            if not isinstance(found, dict):
                raise ValueError(f"{place}: not an object")
            yield place, found


def read_hits(path: Path) -> Iterator[dict[str, Any]]:
    """The hits of a search. A line has one, or it is an answer with a page of them."""
    for place, found in read_lines(path):
        hits = found["hits"].get("hits", []) if isinstance(found.get("hits"), dict) else [found]
        for hit in hits:
            if not (isinstance(hit.get("_source"), dict) and "_id" in hit):
                raise ValueError(f"{place}: a hit should have _id and _source, not {', '.join(hit)}")
            yield hit


def write_rows(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def member(source: Any, path: str) -> Any:
    """What a document has at a path."""
    for name in path.split("."):
        source = source.get(name) if isinstance(source, dict) else None
    return source


def remove_member(source: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a document without the member at the path."""
    first, _, rest = path.partition(".")
    left = {key: one for key, one in source.items() if key != first}
    if rest and isinstance(source.get(first), dict):
        left |= {first: inner} if (inner := remove_member(source[first], rest)) else {}
    return left
