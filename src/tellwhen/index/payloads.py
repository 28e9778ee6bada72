"""What a user keeps with a subscription: its payload, a JSON object, which is returned with matches and filtered by.

By slot its text. Most indexes have none: slots beyond the last payload take no room. A filter needs a column: for one
key the values of all slots, by number. Columns are made when they are first asked for, and then grow.
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
from tellwhen.kernels.arrays import I32, Events, Matches

log = logging.getLogger("tellwhen.index.payloads")

Payload = Mapping[str, Any]

TOLD_MAX = 100
"""Names that no payload has, and that are told."""

PAYLOAD_MAX = 1 << 20
"""Bytes that the JSON of one payload may take."""

DEPTH_MAX = 64
"""How deep a payload may be nested."""

ABSENT = 0
"""The number of the value of a payload without the key, which is None."""


def payload_text(given: Any) -> str:
    """The JSON of a payload, empty for None; raises PayloadError for what is none."""
    if given is None:
        return ""
    if isinstance(given, str):
        given = _parsed(given)
    if not isinstance(given, Mapping):
        raise PayloadError(f"a payload is a mapping from names to values, or its JSON, not {abbreviate(given)}")
    for name in given:
        if not isinstance(name, str):
            raise PayloadError(f"the names in a payload are strings, not {abbreviate(name)}")
    if _depth(given) > DEPTH_MAX:
        raise PayloadError(f"a payload is nested at most {DEPTH_MAX} deep")
    try:
        text = json.dumps(dict(given), allow_nan=False, default=_plain, ensure_ascii=False, separators=(",", ":"))
        length = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(f"a payload holds what JSON can: {error}") from None
    if length > PAYLOAD_MAX:
        raise PayloadError(f"a payload has at most {PAYLOAD_MAX:,} bytes as JSON, not {length:,}")
    return text


def _depth(given: Any) -> int:
    """How deep it is nested, at most one more than allowed: it may hold itself."""
    level, depth = [given], 0
    while level and depth <= DEPTH_MAX:
        depth += 1
        inner = [one.values() if isinstance(one, Mapping) else one for one in level]
        level = [one for some in inner for one in some if isinstance(one, Mapping | list | tuple | set | frozenset)]
    return depth


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"a payload in text is a JSON object, unlike {abbreviate(text)}: {error}") from None


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no value in JSON")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | np.ndarray):
        return list(value)
    raise TypeError(f"{abbreviate(value)} is a {type(value).__name__}; make it text or a number")


class Payloads:
    """The payloads by slot."""

    def __init__(self, texts: Texts | None = None) -> None:
        self._texts = Texts() if texts is None else texts

    def __bool__(self) -> bool:
        """Has any slot one?"""
        return len(self._texts) > 0

    def text(self, slot: int) -> str:
        """The JSON of a slot, empty if it has no payload."""
        return self._texts[slot] if slot < len(self._texts) else ""

    def of(self, slot: int) -> dict[str, Any]:
        """The payload of a slot."""
        text = self.text(slot)
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    def extend(self, first: int, texts: Sequence[str]) -> None:
        """Those of new slots, the first of which is given."""
        if any(texts):
            self._texts.resize(first)
            self._texts.extend(texts)

    def align(self, count: int) -> None:
        """After an undone change: forget those of later slots."""
        self._texts.resize(min(count, len(self._texts)))

    def kept(self, slots: I32) -> Payloads:
        """Only those of some slots, which become slots 0, 1, 2, ..."""
        after = Payloads()
        after.adopt(self, 0, slots)
        return after

    def adopt(self, other: Payloads, first: int, slots: I32) -> None:
        """Append those of some slots of another, the first of which becomes slot `first`."""
        if other:
            self.extend(first, [other.text(slot) for slot in slots.tolist()])

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, to be saved."""
        start, text = self._texts.arrays()
        return {"start": start, "text": text}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray]) -> Payloads:
        """From saved arrays."""
        return cls(Texts(arrays["start"], arrays["text"]))


class _Column:
    """The values of one key: their numbers by slot."""

    def __init__(self) -> None:
        self.numbers = Growing(np.int32)
        self.values: list[Any] = [None]
        self.known = {_key(None): ABSENT}

    def number(self, value: Any) -> int:
        key = _key(value)
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.values)
            self.values.append(value)
        return number


def _key(value: Any) -> Any:
    """Equal for equal values: 1 and 1.0 are, 1 and True are not."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else (type(value) is bool, value)


class Columns:
    """Payloads by key, for filters and tables. Any thread may ask."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._columns: dict[str, _Column] = {}
        self._names: set[str] = set()  # of the first so many slots
        self._named = 0
        self._told: set[str] = set()
        self._lock = threading.Lock()  # one thread extends

    @property
    def bytes(self) -> int:
        """What the numbers of all columns take."""
        return sum(column.numbers.data.nbytes for column in list(self._columns.values()))

    def _column(self, name: str, slots: int) -> _Column | None:
        """The column of a key, for at least so many slots; None if no payload of these has the key."""
        with self._lock:
            column = self._columns.get(name)
            if column is None:
                if not self._has(name, slots):
                    return None
                column = self._columns[name] = _Column()
            count = column.numbers.count
            if count < slots:
                read: dict[str, int] = {"": ABSENT}  # many payloads are equal
                numbers = np.empty(slots - count, dtype=np.int32)
                for slot in range(count, slots):
                    text = self._payloads.text(slot)
                    number = read.get(text)
                    if number is None:
                        number = read[text] = column.number(json.loads(text).get(name))
                    numbers[slot - count] = number
                column.numbers.extend(numbers)
            return column

    def _has(self, name: str, slots: int) -> bool:
        """Has any payload this key? All keys are read at once: names that nobody has leave no column behind."""
        if name not in self._names and self._named < slots:
            read = {""}
            for slot in range(self._named, slots):
                text = self._payloads.text(slot)
                if text not in read:
                    read.add(text)
                    self._names.update(json.loads(text))
            self._named = slots
        return name in self._names

    def filter(self, where: Mapping[str, Any], slots: int) -> Filter:
        """What keeps the slots whose payload has these values; of a list, any of them."""
        tests = []
        for name, wanted in where.items():
            column = self._column(name, slots)
            several = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            values = [_scalar(name, value) for value in several]
            if column is None:
                if None not in values:
                    self._tell(name, "")
                tests.append((np.zeros(slots, dtype=np.int32), np.array([ABSENT] if None in values else [], np.int32)))
                continue
            numbers = [number for value in values if (number := column.known.get(_key(value))) is not None]
            if values and not numbers:
                self._tell(name, f" = {abbreviate(values[0])}", column.values[-1])
            tests.append((column.numbers.data, np.array(numbers, dtype=np.int32)))
        return Filter(tests)

    def _tell(self, name: str, value: str, example: Any = None) -> None:
        """Once: a name or a value that no payload has may be a mistake."""
        name = abbreviate(name)[1:-1]  # on one line, and not too long: it may come from anybody
        if name not in self._told and len(self._told) < TOLD_MAX:
            self._told.add(name)
            hint = f", but for example {abbreviate(example)}" if value else ""
            if not value and (similar := find_similar(name, self._names)) is not None:
                hint = f"; did you mean {similar}?"
            log.warning("tellwhen: where= asks for %s%s, which no payload has%s; told once", name, value, hint)

    def some(self, name: str, wanted: list[int | None], slots: int) -> list[Any]:
        """The values of a key for the `wanted` slots; None for a slot that is missing, or beyond `slots`."""
        column = self._column(name, slots)
        if column is None:
            return [None] * len(wanted)
        known = [slot if slot is not None and slot < slots else -1 for slot in wanted]
        numbers = column.numbers.data[np.array(known, dtype=np.int64)].tolist()
        values = column.values
        return [None if slot < 0 else values[number] for slot, number in zip(known, numbers, strict=True)]

    def values(self, name: str, slots: int) -> tuple[pa.Array, I32]:
        """The values of a key, as JSON if they are of several types; and by slot the number of its value."""
        column = self._column(name, slots)
        if column is None:
            return pa.nulls(1), np.zeros(slots, dtype=np.int32)
        values = list(column.values)
        try:
            found = pa.array(values)
            return found.cast(pa.large_string()) if pt.is_string(found.type) else found, column.numbers.data
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            texts = [None if value is None else json.dumps(value) for value in values]
            return pa.array(texts, pa.large_string()), column.numbers.data


def _scalar(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float | bool | type(None)):
        raise ArgumentError(f"where takes for {name} a value that JSON has, or a list of some, not {abbreviate(value)}")
    return value


def checked_where(where: Any) -> Mapping[str, Any] | None:
    """What a user wants of the payloads."""
    if where is not None and (not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where)):
        raise ArgumentError(f"where is a mapping from names in payloads to values, not {abbreviate(where)}")
    return where or None


class Filter:
    """Which slots have the payloads that are wanted?"""

    def __init__(self, tests: Iterable[tuple[I32, I32]]) -> None:
        self._tests = list(tests)  # values by slot, and those that are wanted

    def keeps(self, slots: I32) -> np.ndarray:
        """By slot: is it wanted?"""
        kept = np.ones(len(slots), dtype=np.bool_)
        for numbers, wanted in self._tests:
            kept &= numbers[slots] == wanted[0] if len(wanted) == 1 else np.isin(numbers[slots], wanted)
        return kept


class Filtered(Reader):
    """A reader that finds only the slots that a filter keeps."""

    def __init__(self, reader: Reader, filter_: Filter) -> None:
        self._reader, self.filter = reader, filter_

    def match(self, events: Events) -> Matches:
        start, slot = self._reader.match(events)
        kept = self.filter.keeps(slot)
        before = np.concatenate([[0], np.cumsum(kept)])
        return Matches(before[start], slot[kept])

    def count_candidates(self, events: Events) -> int:
        return self._reader.count_candidates(events)

    def list_tiers(self, changes: int) -> list[Any]:
        return [tier._replace(reader=Filtered(tier.reader, self.filter)) for tier in self._reader.list_tiers(changes)]
