"""What would Elasticsearch answer? In another way: no expressions, one query and one document at a time."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from documents import as_event
from mapping import Fields
from reference_values import expand_constant, index_value, places
from values import as_list, words

import tellwhen as tw

Query = dict[str, Any]
Document = dict[str, Any]


def differences(
    index: tw.Index, fields: Fields, queries: dict[str, Query], documents: list[Document]
) -> list[tuple[str, str, bool]]:
    """Where both disagree: the query, the document, and what Elasticsearch says."""
    found = []
    for document in documents:
        matched, judge = set(index.match(as_event(document, fields))), Judge(fields, document)
        for name in map(str, index):
            expected = judge(queries[name])
            if expected != (name in matched):
                found.append((name, json.dumps(document), expected))
    return found


@dataclass(frozen=True)
class Judge:
    """Is a query true of a document? In two-valued logic, as Elasticsearch has it."""

    fields: Fields
    document: Document
    path: str = ""

    def __call__(self, query: Query) -> bool:
        ((kind, body),) = query.items()
        match kind:
            case "match_all":
                return True
            case "ids":
                return self.document["_id"] in body["values"]
            case "exists":
                inner = [
                    path
                    for path in self.fields.types
                    if path.startswith(f"{body['field']}.") and body["field"] not in self.fields.types
                ]
                return any(self.find(path) for path in inner or [body["field"]])
            case "nested":
                some = find_values(self.document, self.names(body["path"]))
                return any(Judge(self.fields, one, f"{body['path']}.")(body["query"]) for one in some)
            case "bool":
                return self.is_bool(body)
            case "dis_max":
                return any(map(self, body["queries"]))
            case "constant_score" | "boosting" | "function_score":
                return self(body.get("filter") or body.get("positive") or body["query"])
            case "multi_match":
                leaf = "match_phrase" if body.get("type") == "phrase" else "match"
                options = {key: one for key, one in body.items() if key not in ("fields", "type")}
                return any(self({leaf: {name.split("^")[0]: options}}) for name in body["fields"])
            case "geo_bounding_box":
                return self.is_in_box(*next(iter(body.items())))
        name, given = next(iter(body.items()))
        name = self.fields.aliases.get(name, name)
        if kind.startswith("match"):
            return self.is_text(kind, name, given if isinstance(given, dict) else {"query": given})
        return any(LEAVES[kind](value, given, self.fields.types[name]) for value in self.terms(name))

    def is_bool(self, body: Any) -> bool:
        needed = [*as_list(body.get("must")), *as_list(body.get("filter"))]
        should = [self(query) for query in as_list(body.get("should"))]
        least = body.get("minimum_should_match", 1 if should and not needed else 0)
        excluded = any(self(query) for query in as_list(body.get("must_not")))
        return all(self(query) for query in needed) and sum(should) >= least and not excluded

    def is_text(self, kind: str, name: str, given: Any) -> bool:
        if self.fields.types[name] != "text":
            return self({"term": {name: given["query"]}})
        asked_words, there = words(str(given["query"])), self.terms(name)
        if not asked_words:
            return False
        if kind == "match_phrase":
            texts = [words(str(text)) for text in self.find(name)]
            size = len(asked_words)
            return any(text[at : at + size] == asked_words for text in texts for at in range(len(text)))
        return (all if given.get("operator") == "and" else any)(word in there for word in asked_words)

    def is_in_box(self, name: str, box: Any) -> bool:
        (top, left), (bottom, right) = (places(box[corner])[0] for corner in ("top_left", "bottom_right"))
        there = places(self.document.get(name))
        width = (right - left) % 360  # a box may cross the date line
        return any(bottom <= lat <= top and (lon - left) % 360 <= width for lat, lon in there)

    def names(self, path: str) -> list[str]:
        return path.removeprefix(self.path).split(".")

    def find(self, name: str) -> list[Any]:
        """Return the values of a field, or of the one that it is a copy of; none of other nested objects."""
        inside = [one for one in self.fields.nested if name.startswith(f"{one}.") or name == one]
        if max(inside, key=len, default="") != self.path[:-1]:
            return []
        base = next((one for one, copies in self.fields.copies.items() if name in copies), name)
        return find_values(self.document, self.names(self.fields.aliases.get(base, base)))

    def terms(self, name: str) -> list[Any]:
        """What is indexed of a field."""
        kind = self.fields.types[name]
        if kind == "text":
            return [word for text in self.find(name) for word in words(str(text))]
        return [index_value(value, kind) for value in self.find(name)]


def find_values(given: Any, names: list[str]) -> list[Any]:
    """Return all values of a path in a document."""
    if isinstance(given, list):
        return [value for one in given for value in find_values(one, names)]
    if not names:
        return [] if given is None else [given]
    return find_values(given.get(names[0]), names[1:]) if isinstance(given, dict) else []


def is_term(value: Any, given: Any, kind: str) -> bool:
    low, high = expand_constant(given, kind)
    return bool(low <= value <= high)


def is_between(value: Any, given: Any, kind: str) -> bool:
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "gt": lambda low, high: value > high,
        "gte": lambda low, high: value >= low,
        "lt": lambda low, high: value < low,
        "lte": lambda low, high: value <= high,
    }
    other_names = {
        "from": "gte" if given.get("include_lower", True) else "gt",
        "to": "lte" if given.get("include_upper", True) else "lt",
    }
    bounds = {other_names.get(key, key): one for key, one in given.items() if one is not None}
    return all(tests[key](*expand_constant(one, kind)) for key, one in bounds.items() if key in tests)


LEAVES: dict[str, Callable[[Any, Any, str], bool]] = {
    "term": is_term,
    "terms": lambda value, given, kind: any(is_term(value, one, kind) for one in given),
    "range": is_between,
    "prefix": lambda value, given, kind: value.startswith(given),
    "wildcard": lambda value, given, kind: fnmatchcase(value, given),
    "regexp": lambda value, given, kind: bool(re.fullmatch(given, value)),
}
