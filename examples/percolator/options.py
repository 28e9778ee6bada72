"""What is written in the body of a query? What would be ignored, and changes answers, is refused."""

import re
from typing import Any

ANYTHING: tuple[Any, ...] = ()
HARMLESS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["boost", "_name", "tie_breaker", "score_mode", "inner_hits", "rewrite"], ANYTHING),
    **dict.fromkeys(["prefix_length", "max_expansions", "fuzzy_transpositions", "fuzzy_rewrite"], ANYTHING),
    **dict.fromkeys(["auto_generate_synonyms_phrase_query", "max_determinized_states"], ANYTHING),
    **dict.fromkeys(["ignore_unmapped", "validation_method"], ANYTHING),
    "adjust_pure_negative": (True,),
    "fuzziness": (0, "0"),
    "slop": (0,),
    "time_zone": ("Z", "UTC", "+00:00"),
}
"""Options that change scores or speed, and values of others that are the default. Java clients write them all."""


def get_only_member(given: Any) -> tuple[str, Any]:
    """Return the only member of an object; raise ValueError if it has none or several."""
    if not isinstance(given, dict):
        raise ValueError(f"an object was expected, not {given!r}")
    if len(given) != 1:
        raise ValueError(f"one member was expected, not {', '.join(given) or 'none'}")
    return next(iter(given.items()))


def members(query: str, body: Any, *known: str) -> dict[str, Any]:
    """The known members of an object. Others must be harmless."""
    if not isinstance(body, dict):
        raise ValueError(f"{query} of {body!r}, which should be an object")
    found = {name: one for name, one in body.items() if one is not None}
    for name, one in found.items():
        if name not in known and (name not in HARMLESS or (HARMLESS[name] and one not in HARMLESS[name])):
            raise ValueError(f"{query} with {name} {one!r}")
    return {name: found[name] for name in known if name in found}


def get_required(query: str, body: Any, name: str, *known: str) -> Any:
    """Return a member; raise ValueError if it is missing."""
    found = members(query, body, name, *known)
    if name not in found:
        raise ValueError(f"{query} without {name}")
    return found[name]


def one_field(query: str, body: Any, *known: str) -> tuple[str, dict[str, Any]]:
    """The field of a query and its options, of which the first known one has a short form without a name.

    The value of a wildcard may have the name `wildcard`, and so on.
    """
    name, given = get_only_member(without_score(body))
    if not isinstance(given, dict):
        if query == "range":
            raise ValueError(f"range of {given!r}, which should be an object")
        given = {known[0]: given}
    elif query in given:
        given = {known[0] if key == query else key: one for key, one in given.items()}
    return name, members(query, given, *known)


def field_value(query: str, body: Any, *known: str) -> tuple[str, Any, dict[str, Any]]:
    """The field, the value that must be there, and all options."""
    name, given = one_field(query, body, *known)
    if given.get(known[0]) is None:
        raise ValueError(f"{query} on {name} without {known[0]}")
    return name, given[known[0]], given


def without_score(body: Any) -> Any:
    """A body without what may stand beside its field."""
    if not isinstance(body, dict) or len(body) == 1:
        return body
    beside = ("boost", "_name", "ignore_unmapped", "validation_method", "type")
    return {key: one for key, one in body.items() if key not in beside}


def count_required(given: int | str, count: int) -> int:
    """Return `minimum_should_match` of `count` clauses as a number; it is given as 2, -1, "75%" or "-25%"."""
    text = str(given)
    if not re.fullmatch(r"-?\d+%?", text):
        raise ValueError(f"minimum_should_match {given}")
    number = int(text.removesuffix("%"))
    share = int(number * count / 100) if text.endswith("%") else number
    return count + share if number < 0 else share
