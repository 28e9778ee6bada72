"""Computed attributes of an event, and of a table of events: each computed once, however many subscriptions use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import Attributes, Computed
from tellwhen.encode.columns import Column, Values, objects, single_values
from tellwhen.encode.vectors import vector
from tellwhen.lang.compute import computed
from tellwhen.lang.functions import FUNCTIONS
from tellwhen.lang.literals import MARK
from tellwhen.lang.terms import LACKS, Call, Literal, Name, Term
from tellwhen.lang.values import Family, is_present, is_several
from tellwhen.schema import FAMILIES, Schema, value_from_text


def computable(attributes: Attributes, names: Iterable[str]) -> list[Computed]:
    """The computed attributes that may have a value where these attributes are there."""
    by_need = attributes.computed
    found = [*by_need.get("", ())]
    for name in names:
        found += by_need.get(name, ())
    return found


# one event


def extended(event: Mapping[str, Any], attributes: Attributes, wrong: list[str]) -> dict[str, Any]:
    """A flat event with its computed attributes. Those of which all parts are there, but no value, are `wrong`."""
    # What is no name is kept, for the encoder to refuse.
    found = {name: value for name, value in event.items() if not (isinstance(name, str) and name[:1] == MARK)}
    for name, term in computable(attributes, found):
        value = computed(term, found)
        if value is not None:
            found[name] = value
        elif all(is_present(found.get(part)) for part in term.names()):
            wrong.append(term.text)
    return found


# a table of them


def computed_columns(
    columns: list[Column], rows: int, attributes: Attributes, schema: Schema, is_text: bool
) -> Iterator[tuple[str, Values, int]]:
    """The computed attributes of all rows, by name: those that have a value in any. And in how many rows there is none
    although all parts are there. Text is read if `is_text`."""
    by_name: dict[str, list[Column]] = {}
    for column in columns:
        by_name.setdefault(column.name, []).append(column)
    known: dict[tuple[str, Family | None], list[Any]] = {}

    def values(name: str, family: Family | None) -> list[Any]:
        """Of all rows, as Python objects."""
        if (name, family) not in known:
            known[name, family] = _by_row(by_name.get(name, []), rows, _reader(name, family, schema, is_text))
        return known[name, family]

    for name, term in computable(attributes, by_name):
        found = None if is_text else vector(term, by_name, rows)
        if found is None:
            found = _row_by_row(term, rows, values)
        yield name, found, _undefined(term, by_name, rows, found)


def _undefined(term: Term, by_name: Mapping[str, list[Column]], rows: int, found: Values) -> int:
    """The rows without a result that have all parts."""
    is_undefined = np.ones(rows, dtype=np.bool_)
    is_undefined[found.rows] = False
    for name in term.names():
        if not is_undefined.any():
            break
        is_present = np.zeros(rows, dtype=np.bool_)
        for column in by_name.get(name, ()):
            is_present[single_values(column).rows] = True
        is_undefined &= is_present
    return int(is_undefined.sum())


def _row_by_row(term: Term, rows: int, values: Callable[[str, Family | None], list[Any]]) -> Values:
    families = taken_families(term)
    parts = [(name, values(name, families[name])) for name in dict.fromkeys(term.names())]
    if len(parts) == 1:
        ((name, column),) = parts
        results = _by_distinct(term, name, column)
    else:
        results = [computed(term, {name: column[row] for name, column in parts}) for row in range(rows)]
    found, where = [], []
    for row, result in enumerate(results):
        for value in result if type(result) is list else () if result is None else (result,):
            found.append(value)
            where.append(row)
    return Values(found, np.array(where, dtype=np.int64))


def _by_distinct(term: Term, name: str, column: list[Any]) -> list[Any]:
    """Computed once for each distinct value."""
    known: dict[Any, Any] = {}
    results = []
    for value in column:
        try:
            key = type(value), value, value == 0 and str(value)  # 0.0 equals -0.0
            if key not in known:
                known[key] = computed(term, {name: value})
            results.append(known[key])
        except TypeError:  # a list
            results.append(computed(term, {name: value}))
    return results


def _by_row(columns: list[Column], rows: int, read: Callable[[Any], Any] | None) -> list[Any]:
    """The values of an attribute by row; a list where a row has several."""
    found: list[Any] = [None] * rows
    for column in columns:
        there = np.ones(len(column.rows), dtype=bool) if column.valid is None else column.valid
        for value, row, is_there in zip(_objects(column.values), column.rows.tolist(), there.tolist(), strict=True):
            if is_there and value is not None:
                read_value = value if read is None else read(value)
                found[row] = read_value if found[row] is None else [*_members(found[row]), *_members(read_value)]
    return found


def _objects(values: Any) -> list[Any]:
    """As Python objects, with dicts for maps, also inside lists."""
    if isinstance(values, list):
        return values
    try:
        found: list[Any] = values.to_pylist(maps_as_pydicts="lossy")
        return found
    except Exception:  # as in `columns.objects`
        return objects(values)


def _members(value: Any) -> list[Any]:
    return list(value) if is_several(value) else [value]


def _reader(name: str, family: Family | None, schema: Schema, is_text: bool) -> Callable[[Any], Any] | None:
    declared = schema.types.get(name)
    if is_text:
        known = FAMILIES[declared] if declared is not None else family

        def read(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            if known is not None:
                return value_from_text(value, known)
            number = value_from_text(value, "number")
            return value if number is None else number

        return read
    if declared is None or FAMILIES[declared] != "time":
        return None
    return lambda value: [schema.read(name, one) for one in value] if is_several(value) else schema.read(name, value)


def _taken(call: Call) -> Any:
    """The family that a function takes, if it takes one; `lacks` that for which it is asked."""
    last = call.args[-1]
    return last.value if call.function == LACKS and isinstance(last, Literal) else FUNCTIONS[call.function].takes


def taken_families(term: Term) -> dict[str, Family | None]:
    """By attribute: the family that the functions around it take, if they take one."""
    found: dict[str, Family | None] = dict.fromkeys(term.names())
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call):
            waiting += one.args
            for arg in one.args:
                if isinstance(arg, Name) and found[arg.name] is None:
                    found[arg.name] = _taken(one)
    return found
