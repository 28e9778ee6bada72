"""From an Elasticsearch percolator to tellwhen: what are its queries as expressions, and do they answer the same?

    python examples/percolator.py                                             a small export that is made up
    python examples/percolator.py export http://localhost:9200 alerts folder  mapping.json and queries.ndjson
    python examples/percolator.py convert folder                              subscriptions.jsonl and quarantine.jsonl

The guide to it is docs/howto/percolator.md.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import random
import re
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_, or_
from pathlib import Path
from typing import Any

import tellwhen as tw

Query = dict[str, Any]
Document = dict[str, Any]

INTEGERS, FLOATS = {"byte", "short", "integer", "long"}, {"half_float", "float", "double", "scaled_float"}
TYPES = {"boolean": "bool", "date": "timestamp", **dict.fromkeys(INTEGERS, "int"), **dict.fromkeys(FLOATS, "float")}
COMBINATIONS_MAX = 200
"""Limit on the ANDs that a `minimum_should_match` is written out to."""

ALWAYS, NEVER = tw.parse("TRUE"), tw.parse("FALSE")


class Unsupported(Exception):
    """A query that has no expression."""


# The mapping


@dataclass(frozen=True)
class Fields:
    """The fields of a mapping: their types by path, the nested ones, and the multi-fields of each."""

    types: dict[str, str]
    nested: frozenset[str]
    copies: dict[str, list[str]]

    @classmethod
    def of(cls, properties: dict[str, Any]) -> Fields:
        """Read the `properties` of a mapping."""
        types: dict[str, str] = {}
        nested: set[str] = set()
        copies: dict[str, list[str]] = {}

        def read(properties: dict[str, Any], prefix: str) -> None:
            for name, field in properties.items():
                path = prefix + name
                if "properties" in field:
                    nested.update([path] if field.get("type") == "nested" else [])
                    read(field["properties"], f"{path}.")
                else:
                    types[path] = field["type"]
                    copies[path] = [f"{path}.{copy}" for copy in field.get("fields", ())]
                    read(field.get("fields", {}), f"{path}.")

        read(properties, "")
        return cls(types, frozenset(nested), copies)

    def schema(self) -> tw.Schema:
        """The types for an index. It is strict, as a percolator is: an unknown field is an error."""
        types = {"_id": "string"}
        for path, kind in self.types.items():
            if kind == "text":
                types[f"{path}_words"] = types[f"{path}_phrase"] = "string"
            elif kind != "percolator":
                types[path] = TYPES.get(kind, "string")
        return tw.Schema(types, strict=True)


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


# Documents


def as_event(document: Document, fields: Fields, prefix: str = "") -> dict[str, Any]:
    """A document as an event: with the words of texts, with multi-fields, and objects in lists as the mapping says."""
    event: dict[str, Any] = {}
    for key, value in document.items():
        path, given = prefix + key, [one for one in listed(value) if one is not None]
        if path in fields.nested:
            event[key] = [as_event(one, fields, f"{path}.") for one in given]
        elif given and isinstance(given[0], dict):
            # Objects in lists that are not nested: Elasticsearch forgets which value belongs to which object.
            for one in given:
                for name, inner in as_event(one, fields, f"{path}.").items():
                    event.setdefault(f"{key}.{name}", []).extend(listed(inner))
        else:
            for copy in [path, *fields.copies.get(path, ())]:
                event |= attributes(copy.removeprefix(prefix), given, fields.types.get(copy, "keyword"))
    return event


def attributes(name: str, values: list[Any], kind: str) -> dict[str, Any]:
    """What an event has of a field."""
    if kind != "text":
        given = [as_value(value, kind) for value in values]
        return {name: given[0] if len(given) == 1 else given}
    split = [words(value) for value in values]
    return {
        f"{name}_words": [word for some in split for word in some],
        f"{name}_phrase": [f" {' '.join(some)} " for some in split],
    }


# Queries


@dataclass(frozen=True)
class Converter:
    """Queries to expressions. In a nested query, attributes are relative to its path.

    Under `must_not`, expressions are `sure`: false and not undefined for a document without the field.
    """

    fields: Fields
    path: str = ""
    sure: bool = False

    def __call__(self, query: Query) -> tw.Expr:
        kind, body = only(query)
        if kind not in CONVERTED:
            raise Unsupported(f"there is no expression for {kind}")
        return CONVERTED[kind](self, body)

    def kind(self, name: str) -> str:
        """The type of a field."""
        if name not in self.fields.types or not name.startswith(self.path):
            raise Unsupported(f"{name} is not a field of {self.path[:-1] or 'the mapping'}")
        return self.fields.types[name]

    def column(self, name: str) -> tw.Column:
        """The attribute that has the terms of a field."""
        suffix = "_words" if self.kind(name) == "text" else ""
        return tw.col(name.removeprefix(self.path) + suffix)

    def surely(self, column: tw.Column, expression: tw.Expr) -> tw.Expr:
        """The expression; if it must be sure, false without the attribute."""
        return column.is_not_null() & expression if self.sure else expression

    def one_of(self, name: str, values: Sequence[Any]) -> tw.Expr:
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

    def from_term(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "value")
        if given.get("case_insensitive"):
            column = self.column(name)
            return self.surely(column, column.lower() == given["value"].lower())
        return self.one_of(name, [given["value"]])

    def from_terms(self, body: Any) -> tw.Expr:
        name, values = only(without_boost(body))
        if not isinstance(values, list):
            raise Unsupported("terms that are looked up in another index")
        return self.one_of(name, values)

    def from_range(self, body: Any) -> tw.Expr:
        name, given = one_field(body, "")
        column, kind = self.column(name), self.kind(name)
        refuse_others(given, "range", ("gt", "gte", "lt", "lte"))
        bounds = {key: one for key, one in without_boost(given).items() if one is not None}
        if kind == "date":
            bounds = date_bounds(bounds)
        elif kind in INTEGERS:
            bounds = integer_bounds(bounds)
        else:
            bounds = {key: as_value(one, kind) for key, one in bounds.items()}
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
        refuse_others(given, "match", ("query", "operator", "minimum_should_match"))
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
        refuse_others(given, "match_phrase", ("query",))
        if self.kind(name) != "text":
            return self.one_of(name, [given["query"]])
        column = tw.col(f"{name.removeprefix(self.path)}_phrase")
        return self.surely(column, column.contains(f" {' '.join(words(given['query']))} "))

    def from_multi_match(self, body: Any) -> tw.Expr:
        if body.get("type", "best_fields") not in ("best_fields", "most_fields"):
            raise Unsupported(f"multi_match of type {body['type']}")
        options = {key: one for key, one in body.items() if key not in ("fields", "type")}
        return any_of(self.from_match({field.partition("^")[0]: options}) for field in body["fields"])

    def from_nested(self, body: Any) -> tw.Expr:
        path = body["path"]
        if path not in self.fields.nested or not path.startswith(self.path):
            raise Unsupported(f"{path} is not nested in {self.path[:-1] or 'the mapping'}")
        inner = Converter(self.fields, f"{path}.", self.sure)(body["query"])
        column = tw.col(path.removeprefix(self.path))
        return self.surely(column, column.any(inner))

    def from_ids(self, body: Any) -> tw.Expr:
        column = tw.col("_id")
        return self.surely(column, column.isin(body["values"])) if body["values"] else NEVER

    def from_bool(self, body: Any) -> tw.Expr:
        refuse_others(body, "bool", ("must", "filter", "should", "must_not", "minimum_should_match"))
        needed = [*listed(body.get("must")), *listed(body.get("filter"))]
        should = listed(body.get("should"))
        least = required(body.get("minimum_should_match", 0), len(should))
        parts = [self(query) for query in needed]
        if should and (least > 0 or not needed):  # beside others, `should` only adds to the score
            parts.append(at_least(max(1, least), [self(query) for query in should]))
        surely = Converter(self.fields, self.path, sure=True)
        return all_of([*parts, *(~surely(query) for query in listed(body.get("must_not")))])


CONVERTED: dict[str, Callable[[Converter, Any], tw.Expr]] = {
    "term": Converter.from_term,
    "terms": Converter.from_terms,
    "range": Converter.from_range,
    "exists": Converter.from_exists,
    "prefix": Converter.from_prefix,
    "wildcard": Converter.from_wildcard,
    "regexp": Converter.from_regexp,
    "match": Converter.from_match,
    "match_phrase": Converter.from_match_phrase,
    "multi_match": Converter.from_multi_match,
    "nested": Converter.from_nested,
    "ids": Converter.from_ids,
    "bool": Converter.from_bool,
    "match_all": lambda to, body: ALWAYS,
    "match_none": lambda to, body: NEVER,
    "constant_score": lambda to, body: to(body["filter"]),
    "dis_max": lambda to, body: any_of(map(to, body["queries"])),
}
COMPARED: dict[str, Callable[[tw.Column, Any], tw.Expr]] = {
    "gt": tw.Column.__gt__,
    "gte": tw.Column.__ge__,
    "lt": tw.Column.__lt__,
    "lte": tw.Column.__le__,
}


def only(given: dict[str, Any]) -> tuple[str, Any]:
    """The only member of an object."""
    if len(given) != 1:
        raise Unsupported(f"one member was expected, not {', '.join(given) or 'none'}")
    return next(iter(given.items()))


def without_boost(body: dict[str, Any]) -> dict[str, Any]:
    """Scores are not converted."""
    return {key: one for key, one in body.items() if key not in ("boost", "_name")}


def one_field(body: Any, short: str) -> tuple[str, dict[str, Any]]:
    """The field of a query, and its options; the short form has only a value."""
    name, given = only(without_boost(body))
    return name, given if isinstance(given, dict) else {short: given}


def refuse_others(body: dict[str, Any], query: str, known: Sequence[str]) -> None:
    """Raise an error for an option that would be ignored."""
    if unknown := without_boost(body).keys() - set(known):
        raise Unsupported(f"{query} with {min(unknown)}")


def listed(given: Any) -> list[Any]:
    """A list of one or several."""
    return given if isinstance(given, list) else [] if given is None else [given]


def all_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by AND."""
    return reduce(and_, list(parts) or [ALWAYS])


def any_of(parts: Iterable[tw.Expr]) -> tw.Expr:
    """The parts joined by OR."""
    return reduce(or_, list(parts) or [NEVER])


def at_least(count: int, parts: list[tw.Expr]) -> tw.Expr:
    """So many of the parts are true: there is no operator for it, so all combinations are written out."""
    if math.comb(len(parts), count) > COMBINATIONS_MAX:
        raise Unsupported(f"{count} of {len(parts)} would be {math.comb(len(parts), count):,} combinations")
    return any_of(map(all_of, combinations(parts, count)))


def required(given: int | str, count: int) -> int:
    """`minimum_should_match` as a number: 2, -1, "75%" or "-25%"."""
    text = str(given)
    if not re.fullmatch(r"-?\d+%?", text):
        raise Unsupported(f"minimum_should_match {given}")
    share = abs(int(text[:-1])) * count // 100 if text.endswith("%") else abs(int(text))
    least = count - share if text.startswith("-") else share
    if least > count:
        raise Unsupported(f"minimum_should_match {given} of {count}")
    return least


def network(address: str) -> str:
    """An address, or a network, as a network."""
    return address if "/" in address else f"{address}/{128 if ':' in address else 32}"


def integer_bounds(bounds: dict[str, Any]) -> dict[str, int]:
    """Bounds of integers, all included."""
    found = {}
    for key, one in bounds.items():
        value = float(one) if isinstance(one, str) else one
        if key in ("gt", "gte"):
            found["gte"] = math.floor(value) + 1 if key == "gt" else math.ceil(value)
        else:
            found["lte"] = math.ceil(value) - 1 if key == "lt" else math.floor(value)
    return found


ZONE = r"(Z|[+-]\d\d:\d\d)?"
LENGTHS = {
    r"\d{4}-\d\d-\d\d": dt.timedelta(days=1),
    r"\d{4}-\d\d-\d\dT\d\d:\d\d" + ZONE: dt.timedelta(minutes=1),
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d" + ZONE: dt.timedelta(seconds=1),
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}" + ZONE: dt.timedelta(milliseconds=1),
}
"""The form of a date, and how long the time is that it stands for."""
TICK = dt.timedelta(microseconds=1)


def moments(given: Any) -> tuple[dt.datetime, dt.datetime]:
    """The first and the last moment of the time that a date stands for."""
    if isinstance(given, int):
        first, length = dt.datetime.fromtimestamp(given / 1000, dt.UTC), dt.timedelta(milliseconds=1)
    else:
        forms = [length for form, length in LENGTHS.items() if re.fullmatch(form, given)]
        if not forms:
            raise Unsupported(f"the date {given!r}; there is no now, since an event carries its own time")
        read, length = dt.datetime.fromisoformat(given), forms[0]
        first = read if read.tzinfo else read.replace(tzinfo=dt.UTC)
    return first, first + length - TICK


def date_bounds(bounds: dict[str, Any]) -> dict[str, dt.datetime]:
    """Bounds of dates, all included. Elasticsearch rounds those of `gt` and `lte` up, and of `gte` and `lt` down."""
    found = {}
    for key, one in bounds.items():
        first, last = moments(one)
        if key in ("gt", "gte"):
            found["gte"] = last + TICK if key == "gt" else first
        else:
            found["lte"] = first - TICK if key == "lt" else last
    return found


def like(wildcard: str) -> str:
    """A wildcard as a pattern for LIKE, with ! to escape."""
    found = []
    for part in re.findall(r"\\.|.", wildcard, re.S):
        sign = part[-1]
        found.append({"*": "%", "?": "_"}.get(part, f"!{sign}" if sign in "%_!" else sign))
    return "".join(found)


def re2(lucene: str) -> str:
    """A regular expression of Lucene in RE2's syntax."""
    found = []
    for part in re.findall(r"\\.|\"[^\"]*\"|\[(?:\\.|[^\]])*\]|.", lucene, re.S):
        if part in ("~", "&", "@", "#", "<", ">"):
            raise Unsupported(f"{part} in a regular expression")
        if part[0] == '"':
            found.append(re.escape(part[1:-1]))
        elif part[0] == "\\" and part[1] not in "dwsDWS":
            found.append(re.escape(part[1]))
        else:
            found.append(re.escape(part) if part in "^$" else part)
    return "".join(found)


# Export and conversion of files


def exported(url: str, index: str) -> Iterator[dict[str, Any]]:
    """All documents of an index, a thousand at a time, by the scroll API."""

    def ask(path: str, body: dict[str, Any]) -> Any:
        asked = urllib.request.Request(
            f"{url.rstrip('/')}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked) as answer:
            return json.load(answer)

    page = ask(f"{index}/_search?scroll=5m", {"size": 1000, "sort": ["_doc"], "query": {"match_all": {}}})
    while page["hits"]["hits"]:
        yield from page["hits"]["hits"]
        page = ask("_search/scroll", {"scroll": "5m", "scroll_id": page["_scroll_id"]})


def export(url: str, index: str, folder: Path) -> None:
    """Write the mapping and the queries of an index."""
    folder.mkdir(parents=True, exist_ok=True)
    with urllib.request.urlopen(f"{url.rstrip('/')}/{index}/_mapping") as answer:
        (folder / "mapping.json").write_bytes(answer.read())
    with (folder / "queries.ndjson").open("w") as file:
        for count, hit in enumerate(exported(url, index), start=1):
            file.write(json.dumps({"_id": hit["_id"], "_source": hit["_source"]}) + "\n")
            print(f"\r{count:,} queries", end="")
    print()


@dataclass(frozen=True)
class Converted:
    """Subscriptions, and the queries that are none, each with the reason."""

    subscriptions: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]
    fields: Fields


def convert(properties: dict[str, Any], hits: Iterable[dict[str, Any]]) -> Converted:
    """Convert an export. What else a document has beside its query becomes the payload."""
    fields = Fields.of(properties)
    (name,) = [path for path, kind in fields.types.items() if kind == "percolator"]
    done = Converted([], [], fields)
    for hit in hits:
        payload = {key: one for key, one in hit["_source"].items() if key != name}
        try:
            expression = str(Converter(fields)(hit["_source"][name]))
            done.subscriptions.append({"id": hit["_id"], "expression": expression, "payload": payload})
        except (Unsupported, tw.TellwhenError, KeyError, ValueError) as error:
            done.quarantined.append({"id": hit["_id"], "query": hit["_source"].get(name), "reason": str(error)})
    return done


def convert_folder(folder: Path) -> None:
    """Convert what `export` has written."""
    (mapping,) = json.loads((folder / "mapping.json").read_text()).values()
    with (folder / "queries.ndjson").open() as lines:
        done = convert(mapping["mappings"]["properties"], map(json.loads, lines))
    for name, rows in (("subscriptions", done.subscriptions), ("quarantine", done.quarantined)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "schema.json").write_text(json.dumps(done.fields.schema().types, indent=1))
    print(f"{len(done.subscriptions):,} converted, {len(done.quarantined):,} in quarantine; next:")
    print(f"  tellwhen validate {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict")
    print(f"  tellwhen build {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict -o {folder}/index")


# What Elasticsearch answers, in another way: no expressions, one query and one document at a time


@dataclass(frozen=True)
class Judge:
    """Is a query true of a document? In two-valued logic, as Elasticsearch has it."""

    fields: Fields
    document: Document
    path: str = ""

    def __call__(self, query: Query) -> bool:
        kind, body = only(query)
        if kind in ("match_all", "ids", "exists", "nested", "bool"):
            return bool(getattr(self, f"is_{kind}")(body))
        name, given = next(iter(body.items()))
        if kind.startswith("match"):
            return self.is_text(kind, name, given)
        return any(LEAVES[kind](value, given, self.fields.types[name]) for value in self.terms(name))

    def found(self, name: str) -> list[Any]:
        """The values of a field, or of the one that it is a copy of."""
        base = next((one for one, copies in self.fields.copies.items() if name in copies), name)
        return found_values(self.document, base.removeprefix(self.path).split("."))

    def terms(self, name: str) -> list[Any]:
        """What is indexed of a field."""
        if self.fields.types[name] == "text":
            return [word for text in self.found(name) for word in words(text)]
        return [ends(value, self.fields.types[name])[0] for value in self.found(name)]

    def is_match_all(self, body: Any) -> bool:
        return True

    def is_ids(self, body: Any) -> bool:
        return self.document["_id"] in body["values"]

    def is_exists(self, body: Any) -> bool:
        return bool(self.found(body["field"]))

    def is_nested(self, body: Any) -> bool:
        return any(Judge(self.fields, one, f"{body['path']}.")(body["query"]) for one in self.found(body["path"]))

    def is_bool(self, body: Any) -> bool:
        needed = [*listed(body.get("must")), *listed(body.get("filter"))]
        should = [self(query) for query in listed(body.get("should"))]
        least = body.get("minimum_should_match", 1 if should and not needed else 0)
        excluded = any(self(query) for query in listed(body.get("must_not")))
        return all(self(query) for query in needed) and sum(should) >= least and not excluded

    def is_text(self, kind: str, name: str, given: Any) -> bool:
        asked, there = words(given["query"] if isinstance(given, dict) else given), self.terms(name)
        if kind == "match_phrase":
            texts = [words(text) for text in self.found(name)]
            return any(text[at : at + len(asked)] == asked for text in texts for at in range(len(text)))
        is_and = isinstance(given, dict) and given.get("operator") == "and"
        return (all if is_and else any)(word in there for word in asked)


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
    "wildcard": lambda value, given, kind: bool(
        re.fullmatch(re.escape(given).replace(r"\*", ".*").replace(r"\?", "."), value)
    ),
    "regexp": lambda value, given, kind: bool(re.fullmatch(given, value)),
}


# A small export that is made up

PROPERTIES: dict[str, Any] = {
    "query": {"type": "percolator"},
    "owner": {"type": "keyword"},
    "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
    "city": {"type": "keyword"},
    "tags": {"type": "keyword"},
    "price": {"type": "double"},
    "rooms": {"type": "integer"},
    "pets": {"type": "boolean"},
    "added": {"type": "date"},
    "seller": {"properties": {"name": {"type": "keyword"}, "rating": {"type": "float"}}},
    "photos": {"type": "nested", "properties": {"kind": {"type": "keyword"}, "width": {"type": "integer"}}},
    "place": {"type": "geo_point"},
}

QUERIES: dict[str, Query] = {
    "term": {"term": {"city": "Rome"}},
    "terms": {"terms": {"tags": ["lift", "balcony"], "boost": 2}},
    "range": {"range": {"rooms": {"gt": 1, "lt": 4}}},
    "price": {"range": {"price": {"gte": 500, "lte": 1500}}},
    "dates": {"range": {"added": {"gte": "2026-01-10", "lte": "2026-01-20"}}},
    "after": {"range": {"added": {"gt": "2026-01-15"}}},
    "day": {"term": {"added": "2026-01-15"}},
    "exists": {"exists": {"field": "pets"}},
    "prefix": {"prefix": {"title.keyword": "Big"}},
    "wildcard": {"wildcard": {"seller.name": "a*n?"}},
    "regexp": {"regexp": {"seller.name": "[ab].*|eva"}},
    "any word": {"match": {"title": "garden flat"}},
    "all words": {"match": {"title": {"query": "Flat garden", "operator": "and"}}},
    "phrase": {"match_phrase": {"title": "big flat"}},
    "nested": {
        "nested": {
            "path": "photos",
            "query": {"bool": {"must": [{"term": {"photos.kind": "plan"}}, {"range": {"photos.width": {"gte": 800}}}]}},
        }
    },
    "ids": {"ids": {"values": ["3", "5"]}},
    "not city": {"bool": {"must_not": {"term": {"city": "Rome"}}}},
    "not cheap": {"bool": {"must_not": [{"range": {"price": {"lt": 900}}}, {"terms": {"tags": ["cellar"]}}]}},
    "no plan": {"bool": {"must_not": {"nested": {"path": "photos", "query": {"term": {"photos.kind": "plan"}}}}}},
    "optional": {"bool": {"filter": {"term": {"pets": True}}, "should": [{"term": {"city": "Oslo"}}]}},
    "two of three": {
        "bool": {
            "should": [{"term": {"tags": "lift"}}, {"term": {"city": "Oslo"}}, {"range": {"price": {"lt": 1000}}}],
            "minimum_should_match": 2,
        }
    },
    "deep": {
        "bool": {
            "must": {"match": {"title": "garden"}},
            "must_not": {"bool": {"should": [{"exists": {"field": "pets"}}, {"prefix": {"seller.name": "b"}}]}},
        }
    },
    "near": {"geo_distance": {"distance": "5km", "place": {"lat": 41.9, "lon": 12.5}}},
    "fuzzy": {"match": {"title": {"query": "gardn", "fuzziness": "AUTO"}}},
    "new": {"range": {"added": {"gte": "now-1d/d"}}},
}


def hits() -> list[dict[str, Any]]:
    """The lines of an export."""
    return [
        {"_id": name, "_source": {"owner": f"user {at}", "query": query}}
        for at, (name, query) in enumerate(QUERIES.items())
    ]


def documents(count: int, rng: random.Random) -> Iterator[Document]:
    """Listings with one value, several, or none in every field."""
    pools: dict[str, list[Any]] = {
        "title": ["Big flat with garden", "A garden", "Small FLAT, no lift", "big flat"],
        "city": ["Rome", "Oslo", "Lima"],
        "tags": ["lift", "balcony", "cellar"],
        "price": [400, 900, 999.5, 1000, 1500, 2000],
        "rooms": [1, 2, 3, 4],
        "pets": [True, False],
        "added": ["2026-01-09T23:59:59Z", "2026-01-10", "2026-01-15T12:30:00Z", "2026-01-20T18:00:00Z", "2026-01-21"],
    }
    sellers, kinds = ["anna", "arno", "bob", "eva"], ["plan", "kitchen"]
    for number in range(count):
        document: Document = {"_id": str(number)}
        for name, pool in pools.items():
            some = rng.sample(pool, rng.choice([0, 1, 1, 1, 2]))
            if some or rng.random() < 0.5:
                document[name] = some[0] if len(some) == 1 else some or None
        if rng.random() < 0.7:
            document["seller"] = {"name": rng.choice(sellers), "rating": rng.random() * 5}
        if rng.random() < 0.7:
            photos = [{"kind": rng.choice(kinds), "width": rng.choice([640, 800])} for _ in range(rng.randint(0, 3))]
            document["photos"] = photos[0] if len(photos) == 1 else photos
        yield document


def differences(index: tw.Index, fields: Fields, given: list[Document]) -> list[tuple[str, str, bool]]:
    """Where both disagree: the query, the document, and what Elasticsearch says."""
    found = []
    for document in given:
        matched = set(index.match(as_event(document, fields)))
        for name in index:
            expected = Judge(fields, document)(QUERIES[str(name)])
            if expected != (name in matched):
                found.append((str(name), json.dumps(document), expected))
    return found


def demo() -> None:
    """Convert the small export, compare the answers, and show what is different."""
    done = convert(PROPERTIES, hits())
    print(f"{len(done.subscriptions)} of {len(QUERIES)} queries are converted:")
    for row in done.subscriptions:
        print(f"  {row['id']:<13} {row['expression']}")
    print("the others:")
    for row in done.quarantined:
        print(f"  {row['id']:<13} {row['reason']}")

    index = tw.Index(schema=done.fields.schema())
    index.add_many([(row["id"], row["expression"], None, None, row["payload"]) for row in done.subscriptions])
    given = list(documents(500, random.Random(4)))
    wrong = differences(index, done.fields, given)
    print(f"{len(given)} documents, {len(index)} queries: {len(wrong) or 'no'} answers are different")
    for name, document, expected in wrong[:5]:
        print(f"  {name} should be {expected} of {document}")

    naive = tw.Index().add("not city", "NOT city = 'Rome'")
    events = [as_event(document, done.fields) for document in given]
    right, few = (sum("not city" in one.match(event) for event in events) for one in (index, naive))
    print(f"'not city' matches {right} documents; NOT city = 'Rome' only {few}, being undefined without a city")

    print("why does 'two of three' not match a document?")
    print(index.explain("two of three", as_event({"tags": ["balcony"], "city": "Oslo", "price": 1200}, done.fields)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    exporting = commands.add_parser("export", help="write the mapping and the queries of an index to a folder")
    exporting.add_argument("url")
    exporting.add_argument("index")
    exporting.add_argument("folder", type=Path)
    commands.add_parser("convert", help="convert an exported folder").add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "export":
        export(given.url, given.index, given.folder)
    elif given.command == "convert":
        convert_folder(given.folder)
    else:
        demo()


if __name__ == "__main__":
    main()
