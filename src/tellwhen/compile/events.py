"""dict -> points: one event, or a list of them, as flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.lines import float_point, int_point, time_point
from tellwhen.errors import EventError, shown
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Events
from tellwhen.lang import limits
from tellwhen.lang.values import Interval, Value, flatten, is_missing, is_present, members, reduce
from tellwhen.schema import Schema

SINGLE = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)
"""`Events.plain` of a single event, ready made."""


class EventEncoder:
    """Collects events entry by entry; `finish` makes the arrays. Values of a wrong type are counted by attribute."""

    __slots__ = ("_attributes", "_highs", "_lines", "_lows", "_plain", "_schema", "_starts", "_wrong", "mismatches")

    def __init__(self, attributes: Attributes, schema: Schema) -> None:
        self._attributes = attributes
        self._schema = schema if schema.reads_times else None
        self._starts: list[int] = [0]
        self._lines: list[int] = []
        self._lows: list[int] = []
        self._highs: list[int] | None = None  # only once an interval has come
        self._plain: list[int] = []
        self._wrong: list[str] = []  # attributes of the current event with a value of a wrong type
        self.mismatches: dict[str, int] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Encode one event."""
        by_name = self._attributes.by_name
        lines, lows = self._lines, self._lows
        plain = True
        nested = False
        if type(event) is not dict and not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping from attribute names to values, not a {type(event).__name__}")
        items = event.items()
        if self._schema is not None:
            event = self._schema.read_event(flatten(event))
            items = event.items()
        for name, value in items:
            kind = type(value)
            if kind is dict or (kind is not str and isinstance(value, Mapping)):
                nested = True
                break
            attribute = by_name.get(name)
            if attribute is None:
                if type(name) is not str and not isinstance(name, str):
                    raise EventError(f"attribute names are strings, not {shown(name)}")
                continue
            # The plain cases first; whatever is left goes the long way.
            if kind is int and -limits.INTEGER <= value <= limits.INTEGER:
                # Each read once: another thread may take back a change, and its lines with it.
                whole, real = attribute.int, attribute.float
                if whole >= 0:
                    lines.append(whole)
                    lows.append(2 * value)
                if real >= 0:
                    lines.append(real)
                    lows.append(float_point(value))
                elif whole < 0:
                    self._mismatch(attribute)
            elif kind is str and value.isascii():
                self._string(attribute, value)
            else:
                plain &= self._any(attribute, value)
        if nested:
            # An object among the values: start over with dotted names.
            begin = self._starts[-1]
            del lines[begin:], lows[begin:]
            if self._highs is not None:
                del self._highs[begin:]
            self._wrong.clear()
            self.add(flatten(event))
            return
        if self._attributes.watched:
            self._presence(event)
        if self._wrong:
            for name in self._wrong:
                self.mismatches[name] = self.mismatches.get(name, 0) + 1
            self._wrong.clear()
        self._plain.append(plain)
        self._starts.append(len(lines))

    def _string(self, attribute: Attribute, value: str) -> None:
        # Read once: another thread may take back a change, and its lines with it.
        strings, reversed_, patterns = attribute.strings, attribute.reversed, attribute.patterns
        if strings is not None:
            self._lines.append(strings.line)
            self._lows.append(strings.point(value))
        if reversed_ is not None:
            self._lines.append(reversed_.line)
            self._lows.append(reversed_.point(value[::-1]))
        if patterns is not None:
            for line, point in patterns.points(value):
                self._lines.append(line)
                self._lows.append(point)
        elif strings is None and reversed_ is None:
            self._mismatch(attribute)

    def _any(self, attribute: Attribute, value: Any) -> bool:
        """Encode any value; False when the event is no longer plain."""
        if is_missing(value):
            return True
        entries: dict[int, list[tuple[int, int]]] = {}  # by line, so that those of one line are neighbours
        for member in members(value):
            if is_missing(member):
                continue
            if isinstance(member, Interval):
                found = interval_entries(attribute, member)
            else:
                reduced = reduce(member)
                found = [] if reduced is None else [(line, p, p) for line, p in entries_of(attribute, reduced)]
            if not found and not is_known(attribute, member):
                self._mismatch(attribute)
            for line, low, high in found:
                entries.setdefault(line, []).append((low, high))
        plain = True
        for line, ends in entries.items():
            plain &= len(ends) == 1 and ends[0][0] == ends[0][1]
            for low, high in ends:
                self._lines.append(line)
                self._lows.append(low)
                if high != low:
                    if self._highs is None:
                        self._highs = []
                    # Highs are kept only as far as needed; `finish` fills the gaps with lows.
                    self._highs.extend(self._lows[len(self._highs) : len(self._lows) - 1])
                    self._highs.append(high)
        return plain

    def _mismatch(self, attribute: Attribute) -> None:
        if attribute.families:
            self._wrong.append(attribute.name)

    def _presence(self, event: Mapping[str, Any]) -> None:
        # Written for many watched attributes: only those of the event cost more than a copy.
        watched = self._attributes.watched
        points = dict.fromkeys(watched.values(), 0)
        for name, value in event.items():
            line = watched.get(name)
            if line is not None and is_present(value):
                points[line] = 1
        self._lines.extend(points)
        self._lows.extend(points.values())

    def finish(self) -> Events:
        """The arrays of all events added."""
        low = np.array(self._lows, dtype=np.int64)
        high = low
        if self._highs is not None:
            high = low.copy()
            high[: len(self._highs)] = self._highs
        plain = SINGLE[self._plain[0]] if len(self._plain) == 1 else np.array(self._plain, dtype=np.uint8)
        return Events(np.array(self._starts), np.array(self._lines, dtype=np.int32), low, high, plain)


def entries_of(attribute: Attribute, value: Value) -> list[tuple[int, int]]:
    """The points of one value, on every line of its family."""
    found = []
    if value.family == "number":
        lines: list[tuple[int, int]] = [
            (attribute.int, int_point(value.key)),
            (attribute.float, float_point(value.key)),
        ]
        found = [(line, point) for line, point in lines if line >= 0]
    elif value.family == "string":
        strings, reversed_, patterns = attribute.strings, attribute.reversed, attribute.patterns
        if strings is not None:
            found.append((strings.line, strings.point(value.key)))
        if reversed_ is not None:
            found.append((reversed_.line, reversed_.point(value.key[::-1])))
        if patterns is not None:
            found += patterns.points(value.key)
    else:
        line, point = (attribute.bool, value.key) if value.family == "bool" else (attribute.time, time_point(value.key))
        if line >= 0:
            found.append((line, point))
    return found


def interval_entries(attribute: Attribute, interval: Interval) -> list[tuple[int, int, int]]:
    """The same for an interval: its ends' points."""
    lines: list[tuple[int, Callable[[Any], int]]] = (
        [(attribute.int, int_point), (attribute.float, float_point)]
        if interval.family == "number"
        else [(attribute.time, time_point)]
    )
    return [
        (
            line,
            LOWEST if interval.low is None else point(interval.low_key),
            HIGHEST if interval.high is None else point(interval.high_key),
        )
        for line, point in lines
        if line >= 0
    ]


def is_known(attribute: Attribute, member: Any) -> bool:
    """Is the member of a family the attribute is compared with? (A string may match no pattern and have no entry.)"""
    family = member.family if isinstance(member, Interval) else getattr(reduce(member), "family", None)
    return family in attribute.families


def encode(
    events: Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema
) -> tuple[Events, dict[str, int]]:
    """Arrays for the events, and how many values of each attribute were of a wrong type."""
    encoder = EventEncoder(attributes, schema)
    for event in events:
        encoder.add(event)
    return encoder.finish(), encoder.mismatches
