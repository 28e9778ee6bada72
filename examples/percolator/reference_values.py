"""The values that Elasticsearch would index and look up, found in another way than in values.py and dates.py."""

import datetime as dt
import socket
from fractions import Fraction
from typing import Any

from mapping import DATES, FLOATS, INTEGERS


def index_value(given: Any, kind: str) -> Any:
    """Return a value of a document as indexed: dates are text of equal length, and addresses are bytes."""
    if kind in INTEGERS:
        return int(Fraction(str(given)))
    return expand_constant(given, kind)[0]


def expand_constant(given: Any, kind: str) -> tuple[Any, Any]:
    """Return the least and the greatest value that a constant of a query stands for."""
    if kind in DATES:
        return date_ends(str(given))
    if kind == "ip":
        return address_ends(given)
    if kind in INTEGERS:
        given = Fraction(str(given))
    if kind in FLOATS:
        given = float(given)
    if kind == "boolean":
        given = given in (True, "true")
    if kind in ("text", "keyword") and not isinstance(given, str):
        given = str(given).lower() if isinstance(given, bool) else str(given)
    return given, given


def date_ends(text: str) -> tuple[str, str]:
    if text.lstrip("-").isdigit() and len(text) != 4:
        text = dt.datetime.fromtimestamp(int(text) / 1000, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23]
    text = text.removesuffix("Z")
    return text + "0000-01-01T00:00:00.000"[len(text) :], text + "9999-12-31T23:59:59.999"[len(text) :]


def address_ends(text: str) -> tuple[bytes, bytes]:
    """The first and the last address of a network, with those of version 4 among those of version 6."""
    address, _, given = text.partition("/")
    is_old = ":" not in address
    packed = socket.inet_pton(socket.AF_INET if is_old else socket.AF_INET6, address)
    whole = bytes(10) + b"\xff\xff" + packed if is_old else packed
    fixed = (int(given) + 96 * is_old) if given else 128
    number, rest = int.from_bytes(whole), 128 - fixed
    low = number >> rest << rest
    return low.to_bytes(16), (low + (1 << rest) - 1).to_bytes(16)


def places(given: Any) -> list[tuple[float, float]]:
    """The latitudes and longitudes of a field."""
    match given:
        case None:
            return []
        case {"lat": lat, "lon": lon}:
            return [(lat, lon)]
        case [int() | float() as lon, int() | float() as lat]:
            return [(lat, lon)]
        case str():
            lat, lon = map(float, given.split(","))
            return [(lat, lon)]
        case _:
            return [place for one in given for place in places(one)]
