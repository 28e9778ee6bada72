"""How are the bounds, dates, networks and patterns of a query written in an expression?"""

import datetime as dt
import math
import re
from typing import Any

from mapping import INTEGERS, as_value

TICK = dt.timedelta(microseconds=1)
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3})?)?(?:Z|[+-]\d\d:\d\d)?)?")
LENGTHS = [dt.timedelta(**{unit: 1}) for unit in ("days", "minutes", "seconds", "milliseconds")]
"""How long a date is, by the number of groups that it has."""


def included(bounds: dict[str, Any], kind: str) -> dict[str, Any]:
    """The bounds of a range: of integers and dates, which have a next value, only `gte` and `lte`."""
    if kind not in INTEGERS and kind != "date":
        return {key: as_value(one, kind) for key, one in bounds.items()}
    nearest = date_bounds if kind == "date" else integer_bounds
    return {f"{key[:2]}e": nearest(one)[key] for key, one in bounds.items()}


def integer_bounds(given: Any) -> dict[str, Any]:
    """What each bound would be, were it included."""
    value = float(given) if isinstance(given, str) else given
    up, down = math.ceil(value), math.floor(value)
    return {"gt": down + 1, "gte": up, "lt": up - 1, "lte": down}


def date_bounds(given: Any) -> dict[str, Any]:
    """The same of a date. Elasticsearch takes its last moment for `gt` and `lte`, its first for `gte` and `lt`."""
    if isinstance(given, int):
        first, length = dt.datetime.fromtimestamp(given / 1000, dt.UTC), LENGTHS[-1]
    elif form := DATE.fullmatch(given):
        read, length = dt.datetime.fromisoformat(given), LENGTHS[sum(map(bool, form.groups()))]
        first = read if read.tzinfo else read.replace(tzinfo=dt.UTC)
    else:
        raise ValueError(f"the date {given!r}; there is no now, since an event carries its own time")
    after = first + length
    return {"gt": after, "gte": first, "lt": first - TICK, "lte": after - TICK}


def network(address: str) -> str:
    """An address, or a network, as a network."""
    return address if "/" in address else f"{address}/{128 if ':' in address else 32}"


def like(wildcard: str) -> str:
    """A wildcard as a pattern for LIKE, with ! to escape."""
    found = []
    for part in re.findall(r"\\.|.", wildcard, re.S):
        sign = part[-1]
        found.append({"*": "%", "?": "_"}.get(part, f"!{sign}" if sign in "%_!" else sign))
    return "".join(found)


def re2(lucene: str) -> str:
    """A regular expression of Lucene in RE2's syntax."""
    found = []
    for part in re.findall(r"\\.|\"[^\"]*\"|\[(?:\\.|[^\]])*\]|.", lucene, re.S):
        if part in ("~", "&", "@", "#", "<", ">"):
            raise ValueError(f"{part} in a regular expression")
        if part[0] == '"':
            found.append(re.escape(part[1:-1]))
        elif part[0] == "\\" and part[1] not in "dwsDWS":
            found.append(re.escape(part[1]))
        else:
            found.append(re.escape(part) if part in "^$" else part)
    return "".join(found)
