"""Payloads: a JSON object per subscription, which matches return and `where` filters by.

Payloads are stored as text by slot. Most indexes have none, so slots behind the last payload take no memory. To filter
by a key, the values of the key are numbered and the numbers stored in a column by slot. Columns are made at their first
use and extended at later ones.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.engines.base import Reader
from tellwhen.errors import ArgumentError, PayloadError, abbreviate, find_similar
from tellwhen.index.payload_expressions import ABSENT, ExpressionFilter
from tellwhen.kernels.arrays import I32, Events, Matches
from tellwhen.language.ast import Expr
from tellwhen.language.computation import iter_input_names
from tellwhen.language.reading import read_expression

log = logging.getLogger("tellwhen.index.payloads")

Payload = Mapping[str, Any]

Where = Mapping[str, Any] | str | Expr | None
"""Conditions on payloads: an expression, or by key a value, or a list of values of which the payload must have one."""

LOGGED_NAMES_MAX = 100
"""Log at most 100 different names that no payload has."""

PAYLOAD_BYTES_MAX = 1 << 20
"""The JSON of a payload has at most 1 MiB."""

PAYLOAD_DEPTH_MAX = 64
"""A payload has at most 64 levels of nesting."""


# Payloads from users


def encode_payload(payload: Any) -> str:
    """Return the JSON of a payload, empty for None.

    Raises
    ------
    PayloadError
        If the payload is not a JSON object, is too large or is nested too deep.
    """
    if payload is None:
        return ""
    if isinstance(payload, str):
        payload = _parse_json(payload)
    if not isinstance(payload, Mapping):
        raise PayloadError(_describe_wrong_payload(payload))
    for name in payload:
        if not isinstance(name, str):
            raise PayloadError(f"the names in a payload are strings, not {abbreviate(name)}")
    if _measure_depth(payload) > PAYLOAD_DEPTH_MAX:
        raise PayloadError(f"a payload is nested at most {PAYLOAD_DEPTH_MAX} deep")
    try:
        text = json.dumps(
            dict(payload), allow_nan=False, default=_convert_value, ensure_ascii=False, separators=(",", ":")
        )
        length = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(f"the payload has a value that JSON does not have: {error}") from None
    if length > PAYLOAD_BYTES_MAX:
        raise PayloadError(f"a payload has at most {PAYLOAD_BYTES_MAX:,} bytes as JSON, not {length:,}")
    return text


def _measure_depth(payload: Any) -> int:
    """Return the levels of nesting; stop one beyond the limit, since a payload may contain itself."""
    level, depth = [payload], 0
    while level and depth <= PAYLOAD_DEPTH_MAX:
        depth += 1
        members = (value.values() if isinstance(value, Mapping) else value for value in level)
        level = [
            value for some in members for value in some if isinstance(value, Mapping | list | tuple | set | frozenset)
        ]
    return depth


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        reason = f": {error}" if text.lstrip().startswith("{") else ""
        raise PayloadError(_describe_wrong_payload(text) + reason) from None


def _describe_wrong_payload(payload: Any) -> str:
    return f"the payload must be a mapping, or the text of a JSON object; found {abbreviate(payload)}"


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no value in JSON")


def _convert_value(value: Any) -> Any:
    """Convert a value that `json` does not know."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | np.ndarray):
        return list(value)
    raise TypeError(f"{abbreviate(value)} is a {type(value).__name__}; make it text or a number")


# Storage


class Payloads:
    """The payloads by slot, as JSON. Slots behind the last payload are not stored."""

    def __init__(self, texts: Texts | None = None) -> None:
        self._texts = Texts() if texts is None else texts

    def __bool__(self) -> bool:
        """Return whether any slot has a payload."""
        return len(self._texts) > 0

    def get_text(self, slot: int) -> str:
        """Return the JSON of a slot, empty if the slot has no payload."""
        return self._texts[slot] if slot < len(self._texts) else ""

    def get(self, slot: int) -> dict[str, Any]:
        """Return the payload of a slot, {} if the slot has none."""
        text = self.get_text(slot)
        payload: dict[str, Any] = json.loads(text) if text else {}
        return payload

    def extend(self, first: int, texts: Sequence[str]) -> None:
        """Append the JSON of new slots, from slot `first` on; empty for a slot without a payload."""
        if any(texts):
            self._texts.resize(first)
            self._texts.extend(texts)

    def align(self, count: int) -> None:
        """Drop the payloads of slots from `count` on, after an undone change."""
        self._texts.resize(min(count, len(self._texts)))

    def select(self, slots: I32) -> Payloads:
        """Return the payloads of these slots, which become slots 0, 1, 2, ..."""
        selected = Payloads()
        selected.adopt(self, 0, slots)
        return selected

    def adopt(self, other: Payloads, first: int, slots: I32) -> None:
        """Append the payloads of some slots of `other`, which become slots `first`, `first + 1`, ..."""
        if other:
            self.extend(first, [other.get_text(slot) for slot in slots.tolist()])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to save, by name."""
        start, text = self._texts.arrays()
        return {"start": start, "text": text}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Payloads:
        """Return the payloads of saved arrays."""
        return cls(Texts(arrays["start"], arrays["text"]))


# Columns


class _Column:
    """The values of one key: a number for each different value, and the numbers by slot."""

    def __init__(self) -> None:
        self.numbers = Growing(np.int32)
        self.values: list[Any] = [None]
        self.number_by_text: dict[tuple[type, str], int] = {}
        self.numbers_by_key: dict[Any, list[int]] = {_make_key(None): [ABSENT]}

    def intern(self, value: Any) -> int:
        """Return the number of a value; give a new value the next number.

        1 and 1.0 are equal, but have different texts, which an expression may compare: each has its own number.
        """
        text = type(value), value if isinstance(value, str) else json.dumps(value)
        number = self.number_by_text.get(text)
        if number is None:
            number = self.number_by_text[text] = len(self.values)
            self.values.append(value)
            self.numbers_by_key.setdefault(_make_key(value), []).append(number)
        return number


def _make_key(value: Any) -> Any:
    """Return a dict key that is equal for equal values: 1 equals 1.0, and differs from True."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else (type(value) is bool, value)


class PayloadColumns:
    """The values of payloads by key, for filters and tables. Any number of threads may read.

    In all methods, `slot_count` is the number of slots in the caller's state: payloads of later slots are ignored.
    """

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._columns: dict[str, _Column] = {}
        self._names: set[str] = set()  # all keys of the first _named_slots payloads
        self._named_slots = 0
        self._logged_names: set[str] = set()
        self._lock = threading.Lock()  # held by the thread that extends a column

    @property
    def bytes(self) -> int:
        """The size of the numbers of all columns."""
        return sum(column.numbers.data.nbytes for column in list(self._columns.values()))

    def _get_column(self, name: str, slot_count: int) -> _Column | None:
        """Return the column of a key, extended to `slot_count` slots; None if no payload has the key."""
        with self._lock:
            column = self._columns.get(name)
            if column is None:
                if not self._has_key(name, slot_count):
                    return None
                column = self._columns[name] = _Column()
            first = column.numbers.count
            if first < slot_count:
                number_by_text: dict[str, int] = {"": ABSENT}  # many payloads are equal
                numbers = np.empty(slot_count - first, dtype=np.int32)
                for slot in range(first, slot_count):
                    text = self._payloads.get_text(slot)
                    number = number_by_text.get(text)
                    if number is None:
                        payload = json.loads(text)
                        number = number_by_text[text] = column.intern(payload[name]) if name in payload else ABSENT
                    numbers[slot - first] = number
                column.numbers.extend(numbers)
            return column

    def _has_key(self, name: str, slot_count: int) -> bool:
        """Return whether any payload has the key. All keys are collected, so that unknown names make no column."""
        if name not in self._names and self._named_slots < slot_count:
            texts = {""}
            for slot in range(self._named_slots, slot_count):
                text = self._payloads.get_text(slot)
                if text not in texts:
                    texts.add(text)
                    self._names.update(json.loads(text))
            self._named_slots = slot_count
        return name in self._names

    def build_filter(self, where: Mapping[str, Any] | Expr, slot_count: int) -> SlotFilter:
        """Return a filter of the slots whose payloads satisfy `where`."""
        if isinstance(where, Expr):
            return self._build_expression_filter(where, slot_count)
        tests = []
        for name, condition in where.items():
            column = self._get_column(name, slot_count)
            is_list = isinstance(condition, list | tuple | set | frozenset)
            values = [_validate_scalar(name, value) for value in (condition if is_list else [condition])]
            if column is None:
                if None not in values:
                    self._warn_once(name, "")
                accepted = [ABSENT] if None in values else []
                tests.append((np.zeros(slot_count, dtype=np.int32), np.array(accepted, np.int32)))
                continue
            numbers = [number for value in values for number in column.numbers_by_key.get(_make_key(value), [])]
            if values and not numbers:
                self._warn_once(name, f" = {abbreviate(values[0])}", column.values[-1])
            tests.append((column.numbers.data, np.array(numbers, dtype=np.int32)))
        return PayloadFilter(tests)

    def _build_expression_filter(self, expression: Expr, slot_count: int) -> ExpressionFilter:
        columns: dict[str, _Column] = {}
        for path in dict.fromkeys(
            name for predicate in expression.predicates() for name in iter_input_names(predicate.attribute)
        ):
            # `bid.max` is a key of the payload, or a member of the object of the key `bid`.
            keys = [path[:end] for end, sign in enumerate(path) if sign == "."] + [path]
            found = {key: column for key in keys if (column := self._get_column(key, slot_count)) is not None}
            if not found:
                self._warn_once(path, "")
            columns |= found
        return ExpressionFilter(
            expression, {key: (column.values, column.numbers.data) for key, column in columns.items()}
        )

    def _warn_once(self, name: str, value: str, example: Any = None) -> None:
        """Log a name, or a value of it, that no payload has: it may be a mistake."""
        name = abbreviate(name)[1:-1]  # one short line: the name may come from a stranger
        if name not in self._logged_names and len(self._logged_names) < LOGGED_NAMES_MAX:
            self._logged_names.add(name)
            hint = f", but for example {abbreviate(example)}" if value else ""
            if not value and (similar := find_similar(name, self._names)) is not None:
                hint = f"; did you mean {similar}?"
            log.warning("tellwhen: where= asks for %s%s, which no payload has%s; logged once", name, value, hint)

    def get_values(self, name: str, slots: list[int | None], slot_count: int) -> list[Any]:
        """Return the values of a key for some slots; None for a slot that is None or not below `slot_count`."""
        column = self._get_column(name, slot_count)
        if column is None:
            return [None] * len(slots)
        known_slots = [slot if slot is not None and slot < slot_count else -1 for slot in slots]
        numbers = column.numbers.data[np.array(known_slots, dtype=np.int64)].tolist()
        values = column.values
        return [None if slot < 0 else values[number] for slot, number in zip(known_slots, numbers, strict=True)]

    def read_column(self, name: str, slot_count: int) -> tuple[pa.Array, I32]:
        """Return the values of a key by number, and the numbers by slot. Values of several types become JSON."""
        column = self._get_column(name, slot_count)
        if column is None:
            return pa.nulls(1), np.zeros(slot_count, dtype=np.int32)
        values = list(column.values)
        try:
            array = pa.array(values)
            return array.cast(pa.large_string()) if pt.is_string(array.type) else array, column.numbers.data
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            texts = [None if value is None else json.dumps(value) for value in values]
            return pa.array(texts, pa.large_string()), column.numbers.data


# Filters


def validate_where(where: Any) -> Mapping[str, Any] | Expr | None:
    """Return `where` with text as an expression, None if there are no conditions; raise an error for anything else."""
    if isinstance(where, Expr):
        return where
    if isinstance(where, str) or hasattr(where, "as_predicate"):  # text, or a column
        return read_expression(where)[0]
    if where is not None and (not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where)):
        raise ArgumentError(
            f"where must be an expression, or a mapping from names in payloads to values, not {abbreviate(where)}"
        )
    return where or None


def _validate_scalar(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float | bool | type(None)):
        raise ArgumentError(
            f"where must have a string, number, bool or None for {name}, or a list of these, not {abbreviate(value)}"
        )
    return value


class PayloadFilter:
    """A test whether the payloads of slots have the accepted values."""

    def __init__(self, tests: Iterable[tuple[I32, I32]]) -> None:
        self._tests = list(tests)  # for each key: the numbers of the values by slot, and the accepted numbers

    def mask_slots(self, slots: I32) -> np.ndarray:
        """Return for each of the slots whether its payload passes."""
        mask = np.ones(len(slots), dtype=np.bool_)
        for numbers, accepted in self._tests:
            mask &= numbers[slots] == accepted[0] if len(accepted) == 1 else np.isin(numbers[slots], accepted)
        return mask


SlotFilter = PayloadFilter | ExpressionFilter


class FilteredReader(Reader):
    """A reader that finds only the slots that pass a filter."""

    def __init__(self, reader: Reader, payload_filter: SlotFilter) -> None:
        self._reader, self.filter = reader, payload_filter

    def match(self, events: Events) -> Matches:
        start, slot = self._reader.match(events)
        mask = self.filter.mask_slots(slot)
        passed_before = np.concatenate([[0], np.cumsum(mask)])
        return Matches(passed_before[start], slot[mask])

    def count_candidates(self, events: Events) -> int:
        return self._reader.count_candidates(events)

    def list_tiers(self, changes: int) -> list[Any]:
        return [
            tier._replace(reader=FilteredReader(tier.reader, self.filter)) for tier in self._reader.list_tiers(changes)
        ]
