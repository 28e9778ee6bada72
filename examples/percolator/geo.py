"""Which forms may a place or a box have?"""

import re
from typing import Any

NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
PAIR = re.compile(f"{NUMBER},{NUMBER}")
WKT_POINT = re.compile(rf"POINT\s*\({NUMBER}\s{NUMBER}\)", re.I)
WKT_BOX = re.compile(rf"BBOX\s*\({NUMBER},{NUMBER},{NUMBER},{NUMBER}\)", re.I)


def points(given: Any) -> list[dict[str, float]]:
    """The places of a document: one, several or none. Two numbers are one place, and its longitude is first."""
    if isinstance(given, list) and not (given and is_number(given[0])):
        return [place for one in given for place in points(one)]
    return [] if given is None else [point(given)]


def point(given: Any) -> dict[str, float]:
    """A place, from one of the forms of Elasticsearch. Geohashes are not read."""
    if isinstance(given, dict) and "coordinates" in given:
        given = given["coordinates"]
    if isinstance(given, dict) and given.keys() >= {"lat", "lon"}:
        return {"lat": float(given["lat"]), "lon": float(given["lon"])}
    if isinstance(given, list) and len(given) in (2, 3) and all(map(is_number, given)):
        return {"lat": float(given[1]), "lon": float(given[0])}
    if isinstance(given, str) and (pair := PAIR.fullmatch(given)):
        return {"lat": float(pair[1]), "lon": float(pair[2])}
    if isinstance(given, str) and (pair := WKT_POINT.fullmatch(given)):
        return {"lat": float(pair[2]), "lon": float(pair[1])}
    raise ValueError(f"the place {given!r}, which has no latitude and longitude")


def is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def box(given: Any) -> dict[str, float]:
    """The top, left, bottom and right of a box."""
    if not isinstance(given, dict):
        raise ValueError(f"the box {given!r}")
    if found := WKT_BOX.fullmatch(str(given.get("wkt", ""))):
        left, right, top, bottom = map(float, found.groups())
        return {"top": top, "left": left, "bottom": bottom, "right": right}
    if given.keys() == {"top", "left", "bottom", "right"}:
        return {side: float(one) for side, one in given.items()}
    corners = {name: point(one) for name, one in given.items()}
    sides: dict[str, float] = {}
    for name, place in corners.items():
        vertical, _, horizontal = name.partition("_")
        sides |= {vertical: place["lat"], horizontal: place["lon"]}
    if sides.keys() != {"top", "left", "bottom", "right"}:
        raise ValueError(f"a box of {', '.join(given)}")
    return sides
