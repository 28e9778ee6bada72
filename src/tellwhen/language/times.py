"""Conversions between dates, times, ISO text, and microseconds or nanoseconds since 1970 in UTC.

A date stands for its first instant. A time without a zone is in UTC.
"""

from __future__ import annotations

import datetime as dt
import re

import numpy as np

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
"""The period after which the Gregorian calendar repeats."""

DAY_NANOSECONDS = 86_400 * 10**9
UNIT_NANOSECONDS = {
    "W": 7 * DAY_NANOSECONDS, "D": DAY_NANOSECONDS, "h": DAY_NANOSECONDS // 24, "m": 60 * 10**9,
    "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1,
}  # fmt: skip
"""Nanoseconds per unit of NumPy. Months and years have no fixed length."""

UNITS_PER_NANOSECOND = {"ps": 10**3, "fs": 10**6, "as": 10**9}
"""NumPy's units below a nanosecond: the number of them in a nanosecond."""

FRACTION_PATTERN = re.compile(r"[.,]([0-9]+)")


def to_microseconds(value: dt.date) -> int:
    """Return microseconds since 1970 in UTC. The nanoseconds of a pandas Timestamp are dropped."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        offset = value.utcoffset() or dt.timedelta(0)
        # Not astimezone(): it overflows for moments near year 1 and year 9999.
        return (value.replace(tzinfo=None) - EPOCH) // MICROSECOND - offset // MICROSECOND
    return (value - EPOCH) // MICROSECOND


def to_nanoseconds(value: dt.date | np.datetime64) -> int:
    """Return nanoseconds since 1970 in UTC, rounded down."""
    return split_nanoseconds(value)[0]


def split_nanoseconds(value: dt.date | np.datetime64) -> tuple[int, int]:
    """Return (nanoseconds, remainder) since 1970 in UTC; the remainder is 0 if the nanoseconds are exact.

    `value` is a date, a datetime, a pandas Timestamp or a datetime64, and not NaT.
    """
    if not isinstance(value, np.datetime64):
        return to_microseconds(value) * 1000 + int(getattr(value, "nanosecond", 0)), 0
    # Python integers, because a coarse unit exceeds the range of int64 nanoseconds and astype() overflows silently.
    unit, size = np.datetime_data(value.dtype)
    count = int(value.astype(np.int64)) * size
    if unit in ("Y", "M"):
        return _count_days_before_month(count * 12 if unit == "Y" else count) * DAY_NANOSECONDS, 0
    return (
        divmod(count, UNITS_PER_NANOSECOND[unit])
        if unit in UNITS_PER_NANOSECOND
        else (count * UNIT_NANOSECONDS[unit], 0)
    )


def _count_days_before_month(months: int) -> int:
    """Return the days from 1970-01-01 to the first day of the month that is `months` after January 1970."""
    years, month = divmod(months, 12)
    cycles, year = divmod(1970 + years, CYCLE_YEARS)
    same_month = dt.datetime(CYCLE_YEARS + year, month + 1, 1)
    return (same_month - EPOCH).days + (cycles - 1) * CYCLE_DAYS


def has_day_unit(value: np.datetime64) -> bool:
    """Return whether the unit of a datetime64 is a day or longer."""
    return np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")


class Moment(dt.datetime):
    """A datetime with nanoseconds, parsed from text."""

    nanosecond = 0


def parse_time(text: str) -> Moment:
    """Parse ISO text; raise ValueError if it is not a time, or finer than nanoseconds."""
    found: Moment = Moment.fromisoformat(text)
    fractions = [digits.rstrip("0") for digits in FRACTION_PATTERN.findall(text)]
    if any([len(digits) > 9 for digits in fractions]) or any([len(digits) > 6 for digits in fractions[1:]]):
        raise ValueError("expected at most 9 digits after the second")
    if fractions:
        found.nanosecond = int(fractions[0].ljust(9, "0")[6:])
    return found


def parse_timestamp(text: str) -> dt.datetime:
    """Parse the ISO text of a constant; raise ValueError if it is finer than microseconds."""
    found = parse_time(text)
    if found.nanosecond:
        raise ValueError("expected at most 6 digits after the second")
    return found


def format_time(value: dt.date | np.datetime64) -> str:
    """Return a date or time as a literal of the language."""
    if isinstance(value, np.datetime64):
        if has_day_unit(value):
            return f"DATE '{value.astype('datetime64[D]')}'"
        return f"TIMESTAMP '{str(value).replace('T', ' ')}'"
    if not isinstance(value, dt.datetime):
        return f"DATE '{value.isoformat()}'"
    text = value.isoformat(" ")
    if isinstance(value, Moment) and value.nanosecond:
        local = value.replace(tzinfo=None)
        zone = text[len(local.isoformat()) :]
        text = f"{local.isoformat(' ', 'microseconds')}{value.nanosecond:03}{zone}"
    return f"TIMESTAMP '{text}'"
