"""Events as dicts -> points: one event, or many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.domains import float_point, int_point, time_point
from tellwhen.encode.computed import extended
from tellwhen.errors import EventError, abbreviate
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Events
from tellwhen.language import limits
from tellwhen.language.schema import Schema
from tellwhen.language.values import Interval, Value, flatten, is_missing, is_present, iter_members, normalize_value

ONE_FLAG = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)
"""`Events.single_valued` of a batch of one event, by its value: a match of one event allocates less."""


PLAIN = frozenset({int, str, float, list, bool, type(None)})
"""Types that are no mapping: asking takes as long as all the rest of encoding an integer."""


class EventEncoder:
    """Collects events entry by entry, for `finish` to turn into arrays. Counts values of a wrong type by attribute."""

    __slots__ = (
        "_attributes",
        "_domains",
        "_highs",
        "_lows",
        "_schema",
        "_single_valued",
        "_starts",
        "_wrong",
        "mismatches",
    )

    def __init__(self, attributes: Attributes, schema: Schema) -> None:
        self._attributes = attributes
        self._schema = schema if schema.reads_times else None
        self._starts: list[int] = [0]
        self._domains: list[int] = []
        self._lows: list[int] = []
        self._highs: list[int] | None = None  # only once there is an interval
        self._single_valued: list[int] = []
        self._wrong: list[str] = []  # attributes of the current event with a value of a wrong type
        self.mismatches: dict[str, int] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Encode one event."""
        by_name = self._attributes.by_name
        domains, lows = self._domains, self._lows
        single_valued = True
        nested = False
        if type(event) is not dict and not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping from attribute names to values, not a {type(event).__name__}")
        items = event.items()
        if self._schema is not None:
            event = self._schema.read_event(flatten(event))
            items = event.items()
        if self._attributes.computed or self._attributes.brackets:
            is_flat = not any([type(value) not in PLAIN for value in event.values()])
            event = extended(event if is_flat else flatten(event), self._attributes, self._wrong)
            items = event.items()
        for name, value in items:
            kind = type(value)
            if kind not in PLAIN and isinstance(value, Mapping):
                nested = True
                break
            attribute = by_name.get(name)
            if attribute is None:
                if type(name) is not str and not isinstance(name, str):
                    raise EventError(f"the name of an attribute is a string, not {abbreviate(name)}")
                continue
            # The common cases first; all else takes the slow path.
            if kind is int and -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX:
                # Each read once: another thread may undo a change, and drop its domains.
                whole, real = attribute.int, attribute.float
                if whole >= 0:
                    domains.append(whole)
                    lows.append(2 * value)
                if real >= 0:
                    domains.append(real)
                    lows.append(float_point(value))
                elif whole < 0:
                    self._mismatch(attribute)
            elif kind is str and value.isascii():
                self._string(attribute, value)
            elif kind is float and value == value:
                self._float(attribute, value)
            elif kind is bool and (flag := attribute.bool) >= 0:
                domains.append(flag)
                lows.append(int(value))
            elif kind is list and self._plain_list(attribute, value):
                single_valued &= len(value) == 1
            else:
                single_valued &= self._any(attribute, value)
        if nested:
            # A value is an object: start again, with dotted names.
            begin = self._starts[-1]
            del domains[begin:], lows[begin:]
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
        self._single_valued.append(single_valued)
        self._starts.append(len(domains))

    def _string(self, attribute: Attribute, value: str) -> None:
        # Each read once: another thread may undo a change, and drop its domains.
        string, reversed_, patterns = attribute.string, attribute.reversed, attribute.patterns
        if string is not None:
            self._domains.append(string.domain)
            self._lows.append(string.point(value))
        if reversed_ is not None:
            self._domains.append(reversed_.domain)
            self._lows.append(reversed_.point(value[::-1]))
        if patterns is not None:
            for domain, point in patterns.points(value):
                self._domains.append(domain)
                self._lows.append(point)
        elif string is None and reversed_ is None:
            self._mismatch(attribute)

    def _float(self, attribute: Attribute, value: float) -> None:
        whole, real = attribute.int, attribute.float
        if whole >= 0:
            self._domains.append(whole)
            self._lows.append(int_point(value))
        if real >= 0:
            self._domains.append(real)
            self._lows.append(float_point(value))
        elif whole < 0:
            self._mismatch(attribute)

    def _plain_list(self, attribute: Attribute, values: list[Any]) -> bool:
        """Encode a list of only ASCII strings, or of only integers, on the only domain of its family.

        Returns False, with nothing done, if it is neither: the common case takes a tenth of the time of any other.
        """
        kinds = set(map(type, values))
        if kinds == {str}:
            string = attribute.string
            if string is None or attribute.reversed is not None or attribute.patterns is not None:
                return False
            if not "".join(values).isascii():
                return False
            domain, points = string.domain, string.points(values)
        elif kinds == {int}:
            domain = attribute.int
            if (
                domain < 0
                or attribute.float >= 0
                or not -limits.INTEGER_MAX <= min(values) <= max(values) <= limits.INTEGER_MAX
            ):
                return False
            points = [2 * value for value in values]
        else:
            return False
        self._domains.extend([domain] * len(points))
        self._lows.extend(points)
        return True

    def _any(self, attribute: Attribute, value: Any) -> bool:
        """Encode any value; False when the event is no longer single-valued."""
        if is_missing(value):
            return True
        entries: dict[int, list[tuple[int, int]]] = {}  # by domain: those of one domain must be neighbours
        for member in iter_members(value):
            if is_missing(member):
                continue
            if isinstance(member, Interval):
                found = interval_entries(attribute, member)
            else:
                reduced = normalize_value(member)
                found = [] if reduced is None else [(domain, p, p) for domain, p in entries_of(attribute, reduced)]
            if not found and not is_known(attribute, member):
                self._mismatch(attribute)
            for domain, low, high in found:
                entries.setdefault(domain, []).append((low, high))
        single_valued = True
        for domain, ends in entries.items():
            single_valued &= len(ends) == 1 and ends[0][0] == ends[0][1]
            for low, high in ends:
                self._domains.append(domain)
                self._lows.append(low)
                if high != low:
                    if self._highs is None:
                        self._highs = []
                    # Highs are filled up with lows, as far as needed.
                    self._highs.extend(self._lows[len(self._highs) : len(self._lows) - 1])
                    self._highs.append(high)
        return single_valued

    def _mismatch(self, attribute: Attribute) -> None:
        if attribute.families:
            self._wrong.append(attribute.shown)

    def _presence(self, event: Mapping[str, Any]) -> None:
        # Fast for many watched attributes: only those of the event cost more than a copy.
        watched = self._attributes.watched
        points = dict.fromkeys(watched.values(), 0)
        for name, value in event.items():
            domain = watched.get(name)
            if domain is not None and is_present(value):
                points[domain] = 1
        self._domains.extend(points)
        self._lows.extend(points.values())

    def finish(self) -> Events:
        """The arrays of all events added."""
        low = np.array(self._lows, dtype=np.int64)
        high = low
        if self._highs is not None:
            high = low.copy()
            high[: len(self._highs)] = self._highs
        single_valued = (
            ONE_FLAG[self._single_valued[0]]
            if len(self._single_valued) == 1
            else np.array(self._single_valued, dtype=np.uint8)
        )
        return Events(np.array(self._starts), np.array(self._domains, dtype=np.int32), low, high, single_valued)


def entries_of(attribute: Attribute, value: Value) -> list[tuple[int, int]]:
    """The domain and the point of a value, on every domain of its family."""
    found = []
    if value.family == "number":
        domains: list[tuple[int, int]] = [
            (attribute.int, int_point(value.key)),
            (attribute.float, float_point(value.key)),
        ]
        found = [(domain, point) for domain, point in domains if domain >= 0]
    elif value.family == "string":
        string, reversed_, patterns = attribute.string, attribute.reversed, attribute.patterns
        if string is not None:
            found.append((string.domain, string.point(value.key)))
        if reversed_ is not None:
            found.append((reversed_.domain, reversed_.point(value.key[::-1])))
        if patterns is not None:
            found += patterns.points(value.key)
    else:
        domain, point = (
            (attribute.bool, value.key) if value.family == "bool" else (attribute.time, time_point(value.key))
        )
        if domain >= 0:
            found.append((domain, point))
    return found


def interval_entries(attribute: Attribute, interval: Interval) -> list[tuple[int, int, int]]:
    """The domain and the points of both ends of an interval, on every domain of its family."""
    domains: list[tuple[int, Callable[[Any], int]]] = (
        [(attribute.int, int_point), (attribute.float, float_point)]
        if interval.family == "number"
        else [(attribute.time, time_point)]
    )
    return [
        (
            domain,
            LOWEST if interval.low is None else point(interval.low_key),
            HIGHEST if interval.high is None else point(interval.high_key),
        )
        for domain, point in domains
        if domain >= 0
    ]


def is_known(attribute: Attribute, member: Any) -> bool:
    """Is the attribute compared with the family of the member? (A string that matches no pattern has no entries.)"""
    family = member.family if isinstance(member, Interval) else getattr(normalize_value(member), "family", None)
    return family in attribute.families


def encode(
    events: Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema, first: int = 0
) -> tuple[Events, dict[str, int]]:
    """The events as arrays, and how many values of each attribute were of a wrong type.

    An error names the event by its position, counted from `first`.
    """
    encoder = EventEncoder(attributes, schema)
    for position, event in enumerate(events, first):
        try:
            encoder.add(event)
        except EventError as error:
            raise EventError(f"event {position}: {error}") from None
    return encoder.finish(), encoder.mismatches
