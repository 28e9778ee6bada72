"""What would Elasticsearch answer? In another way: no expressions, one query and one document at a time."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from documents import as_event
from mapping import Fields, listed, words

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
                return bool(self.found(body["field"]))
            case "nested":
                inner = (Judge(self.fields, one, f"{body['path']}.") for one in self.found(body["path"]))
                return any(judge(body["query"]) for judge in inner)
            case "bool":
                return self.is_bool(body)
        name, given = next(iter(body.items()))
        if kind.startswith("match"):
            return self.is_text(kind, name, given if isinstance(given, dict) else {"query": given})
        return any(LEAVES[kind](value, given, self.fields.types[name]) for value in self.terms(name))

    def is_bool(self, body: Any) -> bool:
        needed = [*listed(body.get("must")), *listed(body.get("filter"))]
        should = [self(query) for query in listed(body.get("should"))]
        least = body.get("minimum_should_match", 1 if should and not needed else 0)
        excluded = any(self(query) for query in listed(body.get("must_not")))
        return all(self(query) for query in needed) and sum(should) >= least and not excluded

    def is_text(self, kind: str, name: str, given: Any) -> bool:
        asked, there = words(given["query"]), self.terms(name)
        if kind == "match_phrase":
            texts = [words(text) for text in self.found(name)]
            return any(text[at : at + len(asked)] == asked for text in texts for at in range(len(text)))
        return (all if given.get("operator") == "and" else any)(word in there for word in asked)

    def found(self, name: str) -> list[Any]:
        """The values of a field, or of the one that it is a copy of."""
        base = next((one for one, copies in self.fields.copies.items() if name in copies), name)
        return found_values(self.document, base.removeprefix(self.path).split("."))

    def terms(self, name: str) -> list[Any]:
        """What is indexed of a field."""
        if self.fields.types[name] == "text":
            return [word for text in self.found(name) for word in words(text)]
        return [ends(value, self.fields.types[name])[0] for value in self.found(name)]


def found_values(given: Any, names: list[str]) -> list[Any]:
    """All values of a path in a document."""
    if isinstance(given, list):
        return [value for one in given for value in found_values(one, names)]
    if not names:
        return [] if given is None else [given]
    return found_values(given.get(names[0]), names[1:]) if isinstance(given, dict) else []


def ends(given: Any, kind: str) -> tuple[Any, Any]:
    """The least and the greatest that a value stands for: of a date, all that its text leaves open."""
    if kind != "date":
        return given, given
    text = given.removesuffix("Z")
    return text + "0000-01-01T00:00:00.000"[len(text) :], text + "9999-12-31T23:59:59.999"[len(text) :]


def is_term(value: Any, given: Any, kind: str) -> bool:
    low, high = ends(given, kind)
    return bool(low <= value <= high)


def is_between(value: Any, given: Any, kind: str) -> bool:
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "gt": lambda low, high: value > high,
        "gte": lambda low, high: value >= low,
        "lt": lambda low, high: value < low,
        "lte": lambda low, high: value <= high,
    }
    return all(tests[key](*ends(one, kind)) for key, one in given.items())


LEAVES: dict[str, Callable[[Any, Any, str], bool]] = {
    "term": is_term,
    "terms": lambda value, given, kind: any(is_term(value, one, kind) for one in given),
    "range": is_between,
    "prefix": lambda value, given, kind: value.startswith(given),
    "wildcard": lambda value, given, kind: fnmatchcase(value, given),
    "regexp": lambda value, given, kind: bool(re.fullmatch(given, value)),
}
