"""How does a document become an event?"""

from collections.abc import Iterable
from typing import Any

from geo import points
from mapping import TYPES, Fields
from values import as_list, as_text, as_value, flat, is_missing, words

Document = dict[str, Any]


def as_events(documents: Iterable[Document], fields: Fields) -> tuple[list[Document], list[Document]]:
    """The events, and the documents that are none, each with the reason. Elasticsearch takes no such document."""
    events, quarantined = [], []
    for document in documents:
        try:
            events.append(as_event(document, fields))
        except ValueError as error:
            quarantined.append({"document": document, "reason": str(error)})
    return events, quarantined


def as_event(document: Document, fields: Fields, prefix: str = "") -> Document:
    """A document as an event: with the words of texts, with multi-fields, and objects in lists as the mapping says.

    What is not in the mapping, or of a type that is not converted, is left out.
    """
    if not isinstance(document, dict):
        raise ValueError(f"{prefix[:-1] or 'the document'}: {document!r} in place of an object")
    event: Document = {}
    for key, value in document.items():
        path = prefix + key
        if path == "_id":
            event["_id"] = as_text(value)
        elif path in fields.nested:
            event[key] = [as_event(one, fields, f"{path}.") for one in flat(value)]
        elif path in fields.types:
            for copy in [path, *fields.copies.get(path, ())]:
                event |= attributes(copy, copy.removeprefix(prefix), value, fields.types[copy])
        else:
            # Objects in lists that are not nested: Elasticsearch forgets which value belongs to which object.
            for one in flat(value):
                for name, inner in as_event(one, fields, f"{path}.").items() if isinstance(one, dict) else ():
                    event.setdefault(f"{key}.{name}", []).extend(as_list(inner))
    return event


def attributes(path: str, name: str, value: Any, kind: str) -> dict[str, Any]:
    """What an event has of a field."""
    try:
        if kind not in TYPES:
            return {}
        if kind == "geo_point":
            return {name: points(value)}
        given = [one for one in flat(value) if not is_missing(one, kind)]
        values = [as_value(one, kind) for one in given]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if kind == "text":
        return text_attributes(name, values)
    return {name: values[0] if len(values) == 1 else values}


def text_attributes(name: str, texts: list[str]) -> dict[str, list[str]]:
    """The words of all texts; and of each text, its words in order."""
    split = [words(text) for text in texts]
    return {
        f"{name}_words": [word for some in split for word in some],
        f"{name}_phrase": [f" {' '.join(some)} " for some in split],
    }
