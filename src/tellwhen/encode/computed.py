"""Values of computed attributes, for one event or for a table of events.

Each is computed once per event, whatever the number of subscriptions that use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes, ComputedAttribute
from tellwhen.encode.brackets import match_list, match_lists, select_objects
from tellwhen.encode.columns import Column, Values, extract_values, to_objects
from tellwhen.encode.vectors import compute_vector
from tellwhen.language.computation import compute_value
from tellwhen.language.functions import FUNCTIONS
from tellwhen.language.literals import COMPUTED_PREFIX
from tellwhen.language.schema import FAMILY_BY_TYPE, Schema, parse_value
from tellwhen.language.terms import LACKS, Call, Literal, Name, Term
from tellwhen.language.values import Family, is_list_like, is_present, iter_members, normalize_value


def find_computable(attributes: Attributes, names: Iterable[str]) -> list[ComputedAttribute]:
    """Return the computed attributes that may have a value in an event with these attributes."""
    by_operand = attributes.computed_by_operand
    found = [*by_operand.get("", ())]
    for name in names:
        found += by_operand.get(name, ())
    return found


# one event


def extend_event(event: Mapping[str, Any], attributes: Attributes, mismatched: list[str]) -> dict[str, Any]:
    """Return a flat event extended by its computed attributes.

    If a term has all operands but no value, append the attributes with a value of a wrong type to `mismatched`, each
    once.
    """
    # A name that is no string stays, so that the encoder refuses it.
    extended = {
        name: value for name, value in event.items() if not (isinstance(name, str) and name[:1] == COMPUTED_PREFIX)
    }
    causes: dict[str, None] = {}  # an ordered set
    for name, term in find_computable(attributes, extended):
        value = compute_value(term, extended)
        if value is not None:
            extended[name] = value
        elif all(is_present(extended.get(operand)) for operand in term.iter_names()):
            causes |= dict.fromkeys(find_mismatch_causes(term, extended, attributes))
    for name in attributes.brackets_by_list.keys() & extended.keys():
        objects = select_objects(extended[name])
        if objects:
            extended |= match_list(attributes, name, objects)
        elif is_present(extended[name]):
            causes[name] = None
    mismatched += causes
    return extended


def find_mismatch_causes(term: Term, event: Mapping[str, Any], attributes: Attributes) -> list[str]:
    """Return the names that explain why a term has no value on an event that has all its operands.

    These are the operands of a wrong type, except those that subscriptions also compare, which are counted already. If
    all operands are of the right type, it is the text of the term.
    """
    families = {
        name: {getattr(normalize_value(member), "family", None) for member in iter_members(event[name])}
        for name in term.iter_names()
    }
    wrong = [
        name
        for name, family in find_argument_families(term).items()
        if family is not None and family not in families[name]
    ]
    if not wrong:
        return [term.text]
    known = attributes.by_name
    return [name for name in wrong if name not in known or known[name].families & families[name]]


# a table of events


class ComputedColumns:
    """Computed attributes of the events in a table.

    With `is_text`, values are texts, which are parsed as the types that terms need.
    """

    def __init__(self, columns: list[Column], rows: int, attributes: Attributes, schema: Schema, is_text: bool) -> None:
        self._by_name: dict[str, list[Column]] = {}
        for column in columns:
            self._by_name.setdefault(column.name, []).append(column)
        self._rows, self._attributes, self._schema, self._is_text = rows, attributes, schema, is_text
        self._cache: dict[tuple[str, Family | None], list[Any]] = {}  # by attribute and family: its values by row
        self._mismatched: dict[str, NDArray[np.bool_]] = {}  # by name: which rows have no value because of it

    @property
    def mismatches(self) -> dict[str, int]:
        """Number of rows, by name, in which some term has all operands but no value because of the attribute."""
        return {name: int(rows.sum()) for name, rows in self._mismatched.items()}

    def compute(self) -> Iterator[tuple[str, Values]]:
        """Yield the names of computed attributes, each with its values of all rows."""
        for name, term in find_computable(self._attributes, self._by_name):
            found = None if self._is_text else compute_vector(term, self._by_name, self._rows)
            if found is None:
                found = _compute_by_row(term, self._rows, self._get_values)
            self._record_undefined(term, found)
            yield name, found
        for name in self._attributes.brackets_by_list.keys() & self._by_name.keys():
            yield from self._match_brackets(name)

    def _match_brackets(self, name: str) -> Iterator[tuple[str, Values]]:
        """Yield the brackets on the list attribute `name`, each with its values of all rows."""
        column = self._get_values(name, None)
        lists = [select_objects(value) for value in column]
        for result in match_lists(self._attributes, name, lists):
            rows = np.concatenate([result.true, result.false])
            yield result.name, Values([True] * len(result.true) + [False] * len(result.false), rows)
        for row, (objects, value) in enumerate(zip(lists, column, strict=True)):
            if not objects and is_present(value):
                self._record_mismatch(name, row)

    def _get_values(self, name: str, family: Family | None) -> list[Any]:
        """Return the values of an attribute by row, as Python objects. Text is parsed as the family."""
        if (name, family) not in self._cache:
            read = _make_reader(name, family, self._schema, self._is_text)
            self._cache[name, family] = _group_by_row(self._by_name.get(name, []), self._rows, read)
        return self._cache[name, family]

    def _record_undefined(self, term: Term, found: Values) -> None:
        """Record why a term has no value in the rows that have all its operands."""
        is_undefined = np.ones(self._rows, dtype=np.bool_)
        is_undefined[found.rows] = False
        for name in term.iter_names():
            if not is_undefined.any():
                return
            is_present_in_row = np.zeros(self._rows, dtype=np.bool_)
            for column in self._by_name.get(name, ()):
                is_present_in_row[extract_values(column).rows] = True
            is_undefined &= is_present_in_row
        families = find_argument_families(term)
        for row in np.flatnonzero(is_undefined).tolist():
            event = {operand: self._get_values(operand, families[operand])[row] for operand in families}
            for name in find_mismatch_causes(term, event, self._attributes):
                self._record_mismatch(name, row)

    def _record_mismatch(self, name: str, row: int) -> None:
        if name not in self._mismatched:
            self._mismatched[name] = np.zeros(self._rows, dtype=np.bool_)
        self._mismatched[name][row] = True


def _compute_by_row(term: Term, rows: int, get_values: Callable[[str, Family | None], list[Any]]) -> Values:
    families = find_argument_families(term)
    operands = [(name, get_values(name, families[name])) for name in dict.fromkeys(term.iter_names())]
    if len(operands) == 1:
        ((name, column),) = operands
        results = _compute_distinct_values(term, name, column)
    else:
        results = [compute_value(term, {name: column[row] for name, column in operands}) for row in range(rows)]
    found, found_rows = [], []
    for row, result in enumerate(results):
        for value in result if type(result) is list else () if result is None else (result,):
            found.append(value)
            found_rows.append(row)
    return Values(found, np.array(found_rows, dtype=np.int64))


def _compute_distinct_values(term: Term, name: str, column: list[Any]) -> list[Any]:
    """Compute a term of one attribute for a column of its values, but only once for equal values."""
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


def _group_by_row(columns: list[Column], rows: int, read: Callable[[Any], Any] | None) -> list[Any]:
    """Return the values of an attribute by row: a list if a row has several values, None if it has none."""
    found: list[Any] = [None] * rows
    for column in columns:
        all_valid = np.ones(len(column.rows), dtype=bool) if column.valid is None else column.valid
        objects = _to_objects_with_dicts(column.values)
        for value, row, is_valid in zip(objects, column.rows.tolist(), all_valid.tolist(), strict=True):
            if is_valid and value is not None:
                read_value = value if read is None else read(value)
                found[row] = read_value if found[row] is None else [*_to_list(found[row]), *_to_list(read_value)]
    return found


def _to_objects_with_dicts(values: Any) -> list[Any]:
    """Return values as Python objects, with dicts for maps, also inside lists."""
    if isinstance(values, list):
        return values
    try:
        found: list[Any] = values.to_pylist(maps_as_pydicts="lossy")
        return found
    except TypeError:  # before PyArrow 20
        return [_convert_maps(value, values.type) for value in to_objects(values)]
    except Exception:  # as in `to_objects`
        return to_objects(values)


def _convert_maps(value: Any, kind: pa.DataType) -> Any:
    """Convert the pairs of maps to dicts, recursively."""
    if value is None:
        return None
    if pt.is_map(kind):
        return {key: _convert_maps(item, kind.item_type) for key, item in value}
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        return [_convert_maps(member, kind.value_type) for member in value]
    if pt.is_struct(kind):
        return {
            kind.field(i).name: _convert_maps(value[kind.field(i).name], kind.field(i).type)
            for i in range(kind.num_fields)
        }
    return value


def _to_list(value: Any) -> list[Any]:
    return list(value) if is_list_like(value) else [value]


def _make_reader(name: str, family: Family | None, schema: Schema, is_text: bool) -> Callable[[Any], Any] | None:
    """Return a function that parses a value of an attribute, or None if values need no parsing."""
    declared = schema.types.get(name)
    if is_text:
        text_family = FAMILY_BY_TYPE[declared] if declared is not None else family

        def parse_text(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            if text_family is not None:
                return parse_value(value, text_family)
            number = parse_value(value, "number")
            return value if number is None else number

        return parse_text
    return partial(schema.read, name) if schema.has_times_at(name) else None


def _get_argument_family(call: Call) -> Any:
    """Return the family of a function's arguments, or None if it takes any. `lacks` names it as its last argument."""
    last = call.args[-1]
    return (
        last.value if call.function == LACKS and isinstance(last, Literal) else FUNCTIONS[call.function].argument_family
    )


def find_argument_families(term: Term) -> dict[str, Family | None]:
    """Return by attribute the family that the functions of a term take it as, or None if they take any."""
    families: dict[str, Family | None] = dict.fromkeys(term.iter_names())
    pending = [term]
    while pending:
        call = pending.pop()
        if not isinstance(call, Call):
            continue
        pending += call.args
        for arg in call.args:
            if isinstance(arg, Name) and families[arg.name] is None:
                families[arg.name] = _get_argument_family(call)
    return families
