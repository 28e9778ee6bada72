"""Computed attributes of an event, and of a table of events: each computed once, however many subscriptions use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes, Computed
from tellwhen.encode.brackets import answers, objects_of, truths
from tellwhen.encode.columns import Column, Values, objects, single_values
from tellwhen.encode.vectors import vector
from tellwhen.language.computation import compute_value
from tellwhen.language.functions import FUNCTIONS
from tellwhen.language.literals import COMPUTED_PREFIX
from tellwhen.language.schema import FAMILY_BY_TYPE, Schema, parse_value
from tellwhen.language.terms import LACKS, Call, Literal, Name, Term
from tellwhen.language.values import Family, is_list_like, is_present, iter_members, normalize_value


def computable(attributes: Attributes, names: Iterable[str]) -> list[Computed]:
    """The computed attributes that may have a value where these attributes are there."""
    by_need = attributes.computed
    found = [*by_need.get("", ())]
    for name in names:
        found += by_need.get(name, ())
    return found


# one event


def extended(event: Mapping[str, Any], attributes: Attributes, wrong: list[str]) -> dict[str, Any]:
    """A flat event with its computed attributes. To `wrong` comes what is to blame where one has all parts, but no
    value: each once."""
    # What is no name is kept, for the encoder to refuse.
    found = {
        name: value for name, value in event.items() if not (isinstance(name, str) and name[:1] == COMPUTED_PREFIX)
    }
    blamed: dict[str, None] = {}
    for name, term in computable(attributes, found):
        value = compute_value(term, found)
        if value is not None:
            found[name] = value
        elif all(is_present(found.get(part)) for part in term.iter_names()):
            blamed |= dict.fromkeys(to_blame(term, found, attributes))
    for name in attributes.brackets.keys() & found.keys():
        objects = objects_of(found[name])
        if objects:
            found |= truths(attributes, name, objects)
        elif is_present(found[name]):
            blamed[name] = None
    wrong += blamed
    return found


def to_blame(term: Term, event: Mapping[str, Any], attributes: Attributes) -> list[str]:
    """Why has a term no value on an event that has all its parts? The parts of a wrong type, but for those that are
    counted anyway, since subscriptions compare them as well; if all are of the right type, the term itself."""
    families = {
        name: {getattr(normalize_value(one), "family", None) for one in iter_members(event[name])}
        for name in term.iter_names()
    }
    wrong = [
        name for name, family in taken_families(term).items() if family is not None and family not in families[name]
    ]
    known = attributes.by_name
    return (
        [name for name in wrong if name not in known or known[name].families & families[name]] if wrong else [term.text]
    )


# a table of them


class ComputedTable:
    """What is computed of the columns of a table. Text is read if `is_text`."""

    def __init__(self, columns: list[Column], rows: int, attributes: Attributes, schema: Schema, is_text: bool) -> None:
        self._by_name: dict[str, list[Column]] = {}
        for column in columns:
            self._by_name.setdefault(column.name, []).append(column)
        self._rows, self._attributes, self._schema, self._is_text = rows, attributes, schema, is_text
        self._known: dict[tuple[str, Family | None], list[Any]] = {}
        self._blamed: dict[str, NDArray[np.bool_]] = {}

    @property
    def mismatches(self) -> dict[str, int]:
        """By what is to blame: in how many rows something has no value, although all its parts are there."""
        return {name: int(rows.sum()) for name, rows in self._blamed.items()}

    def columns(self) -> Iterator[tuple[str, Values]]:
        """The computed attributes of all rows, by name: those that have a value in any."""
        for name, term in computable(self._attributes, self._by_name):
            found = None if self._is_text else vector(term, self._by_name, self._rows)
            if found is None:
                found = _row_by_row(term, self._rows, self._values)
            self._blame(term, found)
            yield name, found
        for name in self._attributes.brackets.keys() & self._by_name.keys():
            yield from self._brackets(name)

    def _brackets(self, name: str) -> Iterator[tuple[str, Values]]:
        """What is asked of a list of objects."""
        column = self._values(name, None)
        lists = [objects_of(value) for value in column]
        for one in answers(self._attributes, name, lists):
            rows = np.concatenate([one.true, one.false])
            yield one.name, Values([True] * len(one.true) + [False] * len(one.false), rows)
        for row, (found, value) in enumerate(zip(lists, column, strict=True)):
            if not found and is_present(value):
                self._note(name, row)

    def _values(self, name: str, family: Family | None) -> list[Any]:
        """Of all rows, as Python objects."""
        if (name, family) not in self._known:
            read = _reader(name, family, self._schema, self._is_text)
            self._known[name, family] = _by_row(self._by_name.get(name, []), self._rows, read)
        return self._known[name, family]

    def _blame(self, term: Term, found: Values) -> None:
        """Note what is to blame in the rows without a result that have all parts."""
        is_undefined = np.ones(self._rows, dtype=np.bool_)
        is_undefined[found.rows] = False
        for name in term.iter_names():
            if not is_undefined.any():
                return
            is_given = np.zeros(self._rows, dtype=np.bool_)
            for column in self._by_name.get(name, ()):
                is_given[single_values(column).rows] = True
            is_undefined &= is_given
        families = taken_families(term)
        for row in np.flatnonzero(is_undefined).tolist():
            event = {part: self._values(part, families[part])[row] for part in families}
            for name in to_blame(term, event, self._attributes):
                self._note(name, row)

    def _note(self, name: str, row: int) -> None:
        if name not in self._blamed:
            self._blamed[name] = np.zeros(self._rows, dtype=np.bool_)
        self._blamed[name][row] = True


def _row_by_row(term: Term, rows: int, values: Callable[[str, Family | None], list[Any]]) -> Values:
    families = taken_families(term)
    parts = [(name, values(name, families[name])) for name in dict.fromkeys(term.iter_names())]
    if len(parts) == 1:
        ((name, column),) = parts
        results = _by_distinct(term, name, column)
    else:
        results = [compute_value(term, {name: column[row] for name, column in parts}) for row in range(rows)]
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
                known[key] = compute_value(term, {name: value})
            results.append(known[key])
        except TypeError:  # a list
            results.append(compute_value(term, {name: value}))
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
    return list(value) if is_list_like(value) else [value]


def _reader(name: str, family: Family | None, schema: Schema, is_text: bool) -> Callable[[Any], Any] | None:
    declared = schema.types.get(name)
    if is_text:
        known = FAMILY_BY_TYPE[declared] if declared is not None else family

        def read(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            if known is not None:
                return parse_value(value, known)
            number = parse_value(value, "number")
            return value if number is None else number

        return read
    if declared is None or FAMILY_BY_TYPE[declared] != "time":
        return None
    return lambda value: [schema.read(name, one) for one in value] if is_list_like(value) else schema.read(name, value)


def _taken(call: Call) -> Any:
    """The family that a function takes, if it takes one; `lacks` that for which it is asked."""
    last = call.args[-1]
    return (
        last.value if call.function == LACKS and isinstance(last, Literal) else FUNCTIONS[call.function].argument_family
    )


def taken_families(term: Term) -> dict[str, Family | None]:
    """By attribute: the family that the functions around it take, if they take one."""
    found: dict[str, Family | None] = dict.fromkeys(term.iter_names())
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call):
            waiting += one.args
            for arg in one.args:
                if isinstance(arg, Name) and found[arg.name] is None:
                    found[arg.name] = _taken(one)
    return found
