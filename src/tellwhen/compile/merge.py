"""Attributes of several stores -> one: what is a line, or a label, of one of them in the numbers of another?

Subscriptions compiled in many places each have lines and labels of their own. All are brought under one set of
attributes, so that an event is read once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.attributes import ROLES, Attributes, LineKind
from tellwhen.compile.dictionary import Moved
from tellwhen.kernels.arrays import Predicates


class LineKey(NamedTuple):
    """What a line is, whatever its number. `pattern` is empty for all other kinds."""

    attribute: str
    kind: LineKind
    pattern: str
    zero: bool  # some subscription asks for strings that do not match the pattern


def line_keys(attributes: Attributes) -> list[LineKey]:
    """The lines by number."""
    patterns = {
        line: (pattern, line in attribute.patterns.zeros)
        for attribute in attributes.by_name.values()
        if attribute.patterns is not None
        for pattern, line in attribute.patterns.lines.items()
    }
    return [LineKey(*line, *patterns.get(number, ("", False))) for number, line in enumerate(attributes.lines)]


def add_line(attributes: Attributes, key: LineKey) -> int:
    """The line that is this, new if need be."""
    attribute = attributes.of(key.attribute)
    if key.kind != "pattern":
        return attributes.line(attribute, key.kind)
    line = attributes.pattern(attribute, key.pattern)
    if key.zero:
        assert attribute.patterns is not None
        attribute.patterns.zeros.add(line)
    return line


def translated(literals: Predicates, own: Attributes, shared: Attributes) -> Predicates:
    """The literals in the numbers of the shared attributes, which have all their lines and constants."""
    lines = np.array([add_line(shared, key) for key in line_keys(own)], dtype=np.int32)
    low, high = literals.low.copy(), literals.high.copy()
    owner = np.repeat(literals.line, np.diff(literals.start))
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(len(own.lines) + 1))
    for line, (_, kind) in enumerate(own.lines):
        mine = order[begin[line] : begin[line + 1]]
        if kind in ROLES and len(mine):
            keys = own.dictionary(line).keys
            if keys:
                moved = Moved(own.dictionary(line).labels_of(keys), shared.dictionary(int(lines[line])).labels_of(keys))
                low[mine], high[mine] = moved(low[mine]), moved(high[mine])
    return Predicates(lines[literals.line], literals.every, literals.start, low, high)
