"""Attributes <-> what is saved of them: names and lines as JSON, the dictionaries' constants as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import ROLES, Attributes, Line
from tellwhen.compile.dictionary import Dictionary
from tellwhen.compile.patterns import Patterns
from tellwhen.compile.text import Texts


def attributes_meta(attributes: Attributes) -> dict[str, Any]:
    """Lines in their order, and the patterns of those that have one."""
    return {
        "lines": [list(line) for line in attributes.lines],
        "patterns": [
            [line, pattern, line in attribute.patterns.zeros]
            for attribute in attributes.by_name.values()
            if attribute.patterns is not None
            for pattern, line in attribute.patterns.lines.items()
        ],
    }


def dictionary_arrays(attributes: Attributes) -> dict[str, np.ndarray]:
    """The constants of all string lines, one line after the other, each in order."""
    texts = Texts()
    lines: list[int] = []
    labels: list[int] = []
    for line, (_, kind) in enumerate(attributes.lines):
        if kind in ROLES:
            dictionary = attributes.dictionary(line)
            texts.extend(dictionary.keys)
            lines += [line] * len(dictionary.keys)
            labels += [dictionary.labels[key] for key in dictionary.keys]
    start, data = texts.arrays()
    return {"line": np.array(lines, np.int32), "label": np.array(labels, np.int64), "start": start, "text": data}


def restored_attributes(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Attributes:
    """The attributes as they were."""
    attributes = Attributes()
    attributes.lines = [Line(name, kind) for name, kind in meta["lines"]]
    for number, (name, kind) in enumerate(attributes.lines):
        attribute = attributes.of(name)
        if kind in ROLES:
            setattr(attribute, ROLES[kind], _dictionary(number, arrays))
        elif kind != "pattern":
            setattr(attribute, kind, number)
            if kind == "presence":
                attributes.watched[name] = number
    for line, pattern, zero in meta["patterns"]:
        attribute = attributes.of(attributes.lines[line].attribute)
        if attribute.patterns is None:
            attribute.patterns = Patterns()
        attribute.patterns.lines[pattern] = line
        if zero:
            attribute.patterns.zeros.add(line)
    return attributes


def _dictionary(line: int, arrays: Mapping[str, np.ndarray]) -> Dictionary:
    texts = Texts(arrays["start"], arrays["text"])
    begin, end = np.searchsorted(arrays["line"], [line, line + 1])
    return Dictionary(line, [texts[i] for i in range(begin, end)], arrays["label"][begin:end].tolist())
