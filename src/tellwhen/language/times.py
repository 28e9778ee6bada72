"""Here is a date, a time, or ISO text of one: which moment is it?

Moments count from 1970 in UTC. A date is its first moment; a time without a zone is taken as UTC.
"""

from __future__ import annotations

import datetime as dt
import re

import numpy as np

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
"""The period of the Gregorian calendar."""

DAY_NANOSECONDS = 86_400 * 10**9
UNIT_NANOSECONDS = {
    "W": 7 * DAY_NANOSECONDS, "D": DAY_NANOSECONDS, "h": DAY_NANOSECONDS // 24, "m": 60 * 10**9,
    "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1,
}  # fmt: skip
"""NumPy's units of time that are a number of nanoseconds; months and years are not."""

UNITS_PER_NANOSECOND = {"ps": 10**3, "fs": 10**6, "as": 10**9}
"""NumPy's units below a nanosecond: how many make one."""

FRACTION_PATTERN = re.compile(r"[.,]([0-9]+)")


def to_microseconds(value: dt.date) -> int:
    """The moment of a date or a datetime, without the nanoseconds of a pandas Timestamp."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        offset = value.utcoffset() or dt.timedelta(0)
        # Not astimezone(): it overflows for moments near year 1 and year 9999.
        return (value.replace(tzinfo=None) - EPOCH) // MICROSECOND - offset // MICROSECOND
    return (value - EPOCH) // MICROSECOND


def to_nanoseconds(value: dt.date | np.datetime64) -> int:
    """The moment, rounded down to nanoseconds."""
    return split_nanoseconds(value)[0]


def split_nanoseconds(value: dt.date | np.datetime64) -> tuple[int, int]:
    """The moment of a date, a datetime, a pandas Timestamp or a datetime64; and a rest that is 0 when this is exact.

    NaT has none.
    """
    if not isinstance(value, np.datetime64):
        return to_microseconds(value) * 1000 + int(getattr(value, "nanosecond", 0)), 0
    # By Python's integers: a coarse unit reaches further than int64 nanoseconds, and astype() wraps round silently.
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
    """Days from 1970 to the first day of a month that is this many months after January 1970."""
    years, month = divmod(months, 12)
    cycles, year = divmod(1970 + years, CYCLE_YEARS)
    same_month = dt.datetime(CYCLE_YEARS + year, month + 1, 1)
    return (same_month - EPOCH).days + (cycles - 1) * CYCLE_DAYS


def has_day_unit(value: np.datetime64) -> bool:
    """Is its unit a day or longer?"""
    return np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")


class Moment(dt.datetime):
    """A time read from text, with the nanoseconds that a datetime has no room for."""

    nanosecond = 0


def parse_time(text: str) -> Moment:
    """ISO text as a time; ValueError for text that is none, or finer than nanoseconds."""
    found: Moment = Moment.fromisoformat(text)
    fractions = [digits.rstrip("0") for digits in FRACTION_PATTERN.findall(text)]
    if any([len(digits) > 9 for digits in fractions]) or any([len(digits) > 6 for digits in fractions[1:]]):
        raise ValueError("nanoseconds at most")
    if fractions:
        found.nanosecond = int(fractions[0].ljust(9, "0")[6:])
    return found


def parse_timestamp(text: str) -> dt.datetime:
    """ISO text as a constant of an expression; ValueError for text finer than microseconds."""
    found = parse_time(text)
    if found.nanosecond:
        raise ValueError("microseconds at most")
    return found


def format_time(value: dt.date | np.datetime64) -> str:
    """The date or time as a literal of the language."""
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
