"""Attributes <-> what is saved of them: names and lines as JSON, the dictionaries' constants as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import ROLES, Attributes, Line
from tellwhen.compile.dictionary import Dictionary, Saved
from tellwhen.compile.patterns import Patterns
from tellwhen.compile.text import Texts


def attributes_meta(attributes: Attributes) -> dict[str, Any]:
    """Lines in their order, and the patterns of those that have one."""
    return {
        "lines": [list(line) for line in attributes.lines],
        "patterns": [
            [line, key.pattern, key.zero] for line, key in enumerate(attributes.line_keys()) if key.kind == "pattern"
        ],
    }


def dictionary_arrays(attributes: Attributes) -> dict[str, np.ndarray]:
    """The constants of all string lines, one line after the other, each in order."""
    lines = [line for line, (_, kind) in enumerate(attributes.lines) if kind in ROLES]
    parts = [attributes.dictionary(line).arrays() for line in lines]
    lengths = [np.diff(start) for start, _, _ in parts]
    return {
        "line": np.repeat(np.array(lines, np.int32), [len(length) for length in lengths]),
        "label": np.concatenate([np.zeros(0, np.int64), *(labels for _, _, labels in parts)]),
        "start": np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]),
        "text": np.concatenate([np.zeros(0, np.uint8), *(data for _, data, _ in parts)]),
    }


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
    begin, end = np.searchsorted(arrays["line"], [line, line + 1]).tolist()
    return Dictionary(line, saved=Saved(Texts(arrays["start"], arrays["text"]), arrays["label"], begin, end))
