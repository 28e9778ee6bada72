"""How does a document become an event?"""

from typing import Any

from mapping import Fields, as_value, listed, words


def as_event(document: dict[str, Any], fields: Fields, prefix: str = "") -> dict[str, Any]:
    """A document as an event: with the words of texts, with multi-fields, and objects in lists as the mapping says."""
    event: dict[str, Any] = {}
    for key, value in document.items():
        path, given = prefix + key, [one for one in listed(value) if one is not None]
        if path in fields.nested:
            event[key] = [as_event(one, fields, f"{path}.") for one in given]
        elif given and isinstance(given[0], dict):
            # Objects in lists that are not nested: Elasticsearch forgets which value belongs to which object.
            for one in given:
                for name, inner in as_event(one, fields, f"{path}.").items():
                    event.setdefault(f"{key}.{name}", []).extend(listed(inner))
        else:
            for copy in [path, *fields.copies.get(path, ())]:
                event |= attributes(copy.removeprefix(prefix), given, fields.types.get(copy, "keyword"))
    return event


def attributes(name: str, values: list[Any], kind: str) -> dict[str, Any]:
    """What an event has of a field."""
    if kind != "text":
        given = [as_value(value, kind) for value in values]
        return {name: given[0] if len(given) == 1 else given}
    split = [words(value) for value in values]
    return {
        f"{name}_words": [word for some in split for word in some],
        f"{name}_phrase": [f" {' '.join(some)} " for some in split],
    }
