"""Which moments does a date stand for? Of 2026-03, all of that month."""

import datetime as dt
import re
from typing import Any

TICK = dt.timedelta(microseconds=1)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
LAST = dt.datetime.max.replace(tzinfo=dt.UTC)
MILLISECONDS = re.compile(r"-?\d+(\.\d+)?")
ISO = re.compile(
    r"(?P<year>\d{4})(-(?P<month>\d\d)(-(?P<day>\d\d)"
    r"(T((?P<hour>\d\d)(:(?P<minute>\d\d)(:(?P<second>\d\d)([.,](?P<fraction>\d{1,9}))?)?)?)?"
    r"(?P<zone>Z|[+-]\d\d(:?\d\d)?)?)?)?)?"
)
LENGTHS = {"second": dt.timedelta(seconds=1), "minute": dt.timedelta(minutes=1), "hour": dt.timedelta(hours=1)}


def moments(given: Any, kind: str) -> tuple[dt.datetime, dt.datetime]:
    """The first moment of a date, and the first one after it.

    A field of type `date` has milliseconds. One of type `date_nanos` is read to the microsecond.
    """
    text = str(given)
    if found := ISO.fullmatch(text):
        return iso_moments(found, kind)
    if MILLISECONDS.fullmatch(text) and not isinstance(given, bool):
        first = EPOCH + dt.timedelta(milliseconds=int(text.partition(".")[0]))
        return first, first + dt.timedelta(milliseconds=1)
    if text.startswith("now"):
        raise ValueError(f"the date {text!r}; there is no now, since an event carries its own time")
    raise ValueError(f"the date {given!r}, which is {'computed' if '||' in text else 'not in ISO form'}")


def iso_moments(found: re.Match[str], kind: str) -> tuple[dt.datetime, dt.datetime]:
    """The same, of a date in ISO form that may be cut off anywhere."""
    part = found.groupdict()
    digits = 3 if kind == "date" else 6
    fraction = (part["fraction"] or "").ljust(6, "0")[:digits].ljust(6, "0")
    numbers = [int(part[name] or least) for name, least in LEAST.items()]
    first = dt.datetime(*numbers, int(fraction), tzinfo=zone_of(part["zone"]))  # type: ignore[misc,arg-type]
    return first, find_end(first, part, dt.timedelta(microseconds=10 ** (6 - digits)))


LEAST = {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}


def find_end(first: dt.datetime, part: dict[str, str | None], finest: dt.timedelta) -> dt.datetime:
    """Return the first moment after a date, by the parts that it has."""
    try:
        if not part["month"]:
            return first.replace(year=first.year + 1)
        if not part["day"]:
            return (first + dt.timedelta(days=31)).replace(day=1)
        if part["fraction"]:
            return first + finest
        return first + next((LENGTHS[name] for name in LENGTHS if part[name]), dt.timedelta(days=1))
    except (OverflowError, ValueError):  # the year 9999
        return LAST


def zone_of(text: str | None) -> dt.tzinfo:
    """A time zone: Z, +02:00, +0200 or +02."""
    if text is None or text == "Z":
        return dt.UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-offset if text[0] == "-" else offset)
