"""Encoding of events that are dicts, one or many, into points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.domains import to_float_point, to_int_point, to_time_point
from tellwhen.encode.computed import extend_event
from tellwhen.errors import EventError, abbreviate, describe_value
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Events
from tellwhen.language import limits
from tellwhen.language.schema import Schema
from tellwhen.language.values import Interval, Value, flatten, is_missing, is_present, iter_members, normalize_value

ONE_FLAG = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)
"""`Events.single_valued` of a batch of one event, by its value. Shared, so that a match of one event allocates less."""

PLAIN_TYPES = frozenset({int, str, float, list, bool, type(None)})
"""Types that are no mapping. `isinstance(value, Mapping)` takes as long as the rest of encoding an integer."""


class EventEncoder:
    """Encoder of events that are dicts: `add` encodes one event, `finish` returns the arrays of all.

    `mismatches` counts by attribute the values of a type that no subscription compares the attribute with.
    """

    __slots__ = (
        "_attributes",
        "_domains",
        "_highs",
        "_lows",
        "_mismatched",
        "_schema",
        "_single_valued",
        "_starts",
        "mismatches",
    )

    def __init__(self, attributes: Attributes, schema: Schema) -> None:
        self._attributes = attributes
        self._schema = schema if schema.reads_times else None
        self._starts: list[int] = [0]
        self._domains: list[int] = []
        self._lows: list[int] = []
        self._highs: list[int] | None = None  # None until some event has an interval
        self._single_valued: list[int] = []
        self._mismatched: list[str] = []  # attributes of the current event with a value of a wrong type
        self.mismatches: dict[str, int] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Encode one event."""
        if type(event) is not dict and not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping from attribute names to values, not {describe_value(event)}")
        attributes = self._attributes
        if self._schema is not None:
            event = self._schema.read_event(flatten(event))
        if attributes.computed_by_operand or attributes.brackets_by_list:
            is_flat = not any([type(value) not in PLAIN_TYPES for value in event.values()])
            event = extend_event(event if is_flat else flatten(event), attributes, self._mismatched)
        is_single_valued = self._add_values(event)
        if is_single_valued is None:
            self._drop_current_event()
            self.add(flatten(event))
            return
        if attributes.presence_domains:
            self._add_presence(event)
        if self._mismatched:
            self._count_mismatches()
        self._single_valued.append(is_single_valued)
        self._starts.append(len(self._domains))

    def _add_values(self, event: Mapping[str, Any]) -> bool | None:
        """Encode the values of an event. Return whether it is single-valued, or None if some value is an object."""
        by_name = self._attributes.by_name
        domains, lows = self._domains, self._lows
        is_single_valued = True
        for name, value in event.items():
            kind = type(value)
            if kind not in PLAIN_TYPES and isinstance(value, Mapping):
                return None
            attribute = by_name.get(name)
            if attribute is None:
                if type(name) is not str:
                    _validate_name(name)
            # The common cases first, and integers without a call.
            elif kind is int and -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX:
                # Each read once, since another thread may undo a change and drop its domains.
                int_domain, float_domain = attribute.int, attribute.float
                if int_domain >= 0:
                    domains.append(int_domain)
                    lows.append(2 * value)
                if float_domain >= 0:
                    domains.append(float_domain)
                    lows.append(to_float_point(value))
                elif int_domain < 0:
                    self._record_mismatch(attribute)
            elif kind is str and value.isascii():
                self._add_string(attribute, value)
            elif kind is float and value == value:
                self._add_float(attribute, value)
            elif kind is bool and (bool_domain := attribute.bool) >= 0:
                domains.append(bool_domain)
                lows.append(int(value))
            elif kind is list and self._add_plain_list(attribute, value):
                is_single_valued &= len(value) == 1
            else:
                is_single_valued &= self._add_any(attribute, value)
        return is_single_valued

    def _drop_current_event(self) -> None:
        """Drop the entries of the event that is being encoded, so that it can be encoded again."""
        begin = self._starts[-1]
        del self._domains[begin:], self._lows[begin:]
        if self._highs is not None:
            del self._highs[begin:]
        self._mismatched.clear()

    def _add_string(self, attribute: Attribute, value: str) -> None:
        # Each read once, since another thread may undo a change and drop its domains.
        string, reversed_, patterns = attribute.string, attribute.reversed, attribute.patterns
        if string is not None:
            self._domains.append(string.domain)
            self._lows.append(string.get_point(value))
        if reversed_ is not None:
            self._domains.append(reversed_.domain)
            self._lows.append(reversed_.get_point(value[::-1]))
        if patterns is not None:
            for domain, point in patterns.find_points(value):
                self._domains.append(domain)
                self._lows.append(point)
        elif string is None and reversed_ is None:
            self._record_mismatch(attribute)

    def _add_float(self, attribute: Attribute, value: float) -> None:
        int_domain, float_domain = attribute.int, attribute.float
        if int_domain >= 0:
            self._domains.append(int_domain)
            self._lows.append(to_int_point(value))
        if float_domain >= 0:
            self._domains.append(float_domain)
            self._lows.append(to_float_point(value))
        elif int_domain < 0:
            self._record_mismatch(attribute)

    def _add_plain_list(self, attribute: Attribute, values: list[Any]) -> bool:
        """Encode a list of ASCII strings, or of integers, if the attribute has a single domain for them.

        Return False, and encode nothing, for any other list. This takes a tenth of the time of `_add_any`.
        """
        types = set(map(type, values))
        if types == {str}:
            string = attribute.string
            if string is None or attribute.reversed is not None or attribute.patterns is not None:
                return False
            if not "".join(values).isascii():
                return False
            domain, points = string.domain, string.get_points(values)
        elif types == {int}:
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

    def _add_any(self, attribute: Attribute, value: Any) -> bool:
        """Encode any value. Return False if the event is not single-valued because of it."""
        if is_missing(value):
            return True
        entries: dict[int, list[tuple[int, int]]] = {}  # by domain, since entries of one domain must be adjacent
        for member in iter_members(value):
            if is_missing(member):
                continue
            if isinstance(member, Interval):
                found = find_interval_points(attribute, member)
            else:
                reduced = normalize_value(member)
                found = [] if reduced is None else [(domain, p, p) for domain, p in find_points(attribute, reduced)]
            if not found and not is_family_compared(attribute, member):
                self._record_mismatch(attribute)
            for domain, low, high in found:
                entries.setdefault(domain, []).append((low, high))
        is_single_valued = True
        for domain, ends in entries.items():
            is_single_valued &= len(ends) == 1 and ends[0][0] == ends[0][1]
            for low, high in ends:
                self._domains.append(domain)
                self._lows.append(low)
                if high != low:
                    if self._highs is None:
                        self._highs = []
                    # Entries before this one end where they begin.
                    self._highs.extend(self._lows[len(self._highs) : len(self._lows) - 1])
                    self._highs.append(high)
        return is_single_valued

    def _record_mismatch(self, attribute: Attribute) -> None:
        if attribute.families:
            self._mismatched.append(attribute.display_name)

    def _count_mismatches(self) -> None:
        for name in self._mismatched:
            self.mismatches[name] = self.mismatches.get(name, 0) + 1
        self._mismatched.clear()

    def _add_presence(self, event: Mapping[str, Any]) -> None:
        """Encode for each presence domain whether the event has its attribute."""
        # Fast for many domains: only those of the event cost more than a copy.
        domain_by_name = self._attributes.presence_domains
        points = dict.fromkeys(domain_by_name.values(), 0)
        for name, value in event.items():
            domain = domain_by_name.get(name)
            if domain is not None and is_present(value):
                points[domain] = 1
        self._domains.extend(points)
        self._lows.extend(points.values())

    def finish(self) -> Events:
        """Return the arrays of all events that were added."""
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


def find_points(attribute: Attribute, value: Value) -> list[tuple[int, int]]:
    """Return (domain, point) of a value for every domain that the attribute has for the value's family."""
    found = []
    if value.family == "number":
        domains: list[tuple[int, int]] = [
            (attribute.int, to_int_point(value.key)),
            (attribute.float, to_float_point(value.key)),
        ]
        found = [(domain, point) for domain, point in domains if domain >= 0]
    elif value.family == "string":
        string, reversed_, patterns = attribute.string, attribute.reversed, attribute.patterns
        if string is not None:
            found.append((string.domain, string.get_point(value.key)))
        if reversed_ is not None:
            found.append((reversed_.domain, reversed_.get_point(value.key[::-1])))
        if patterns is not None:
            found += patterns.find_points(value.key)
    else:
        is_bool = value.family == "bool"
        domain, point = (attribute.bool, value.key) if is_bool else (attribute.time, to_time_point(value.key))
        if domain >= 0:
            found.append((domain, point))
    return found


def find_interval_points(attribute: Attribute, interval: Interval) -> list[tuple[int, int, int]]:
    """Return (domain, low, high) of an interval for every domain that the attribute has for its family."""
    if interval.family == "string":
        return _find_string_interval_points(attribute, interval)
    domains: list[tuple[int, Callable[[Any], int]]] = (
        [(attribute.int, to_int_point), (attribute.float, to_float_point)]
        if interval.family == "number"
        else [(attribute.time, to_time_point)]
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


def _find_string_interval_points(attribute: Attribute, interval: Interval) -> list[tuple[int, int, int]]:
    """Return (domain, low, high) of an interval of strings; nothing for a suffix or a pattern, which are undefined."""
    string = attribute.string
    if string is None:
        return []
    low, high = string.get_point(interval.low_key), HIGHEST
    behind = interval.high_key
    if behind is not None:
        if behind.endswith("\0"):  # the last string inside has one NUL less
            high = string.get_point(behind[:-1])
        else:
            # Below a constant lies the gap before its label. Any other string has the same point as those next to it.
            point = string.get_point(behind)
            high = point - (point != string.get_point(behind + "\0"))
    return [(string.domain, low, high)]


def is_family_compared(attribute: Attribute, member: Any) -> bool:
    """Return whether some subscription compares the attribute with constants of the same family as this value.

    `member` is a single value, or a member of a list. It may have no points nevertheless, such as a string that matches
    no pattern.
    """
    family = member.family if isinstance(member, Interval) else getattr(normalize_value(member), "family", None)
    return family in attribute.families


def encode(
    events: Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema, first_position: int = 0
) -> tuple[Events, dict[str, int]]:
    """Encode events that are dicts.

    Parameters
    ----------
    first_position
        The position of the first event, for error messages.

    Returns
    -------
    Events
        The events as arrays.
    dict
        By attribute, how many values were of a wrong type.
    """
    encoder = EventEncoder(attributes, schema)
    for position, event in enumerate(events, first_position):
        try:
            encoder.add(event)
        except EventError as error:
            raise EventError(f"event {position}: {error}") from None
    return encoder.finish(), encoder.mismatches


def _validate_name(name: Any) -> None:
    if not isinstance(name, str):
        raise EventError(f"the name of an attribute is a string, not {abbreviate(name)}")
