"""Which lines does an attribute have? They come into being as subscriptions ask for them.

A subscription that compares `x` with a string and another that compares it with a number use two lines: an event
value lands on the lines of its own family, so a value of the wrong type is undefined by construction.
"""

from __future__ import annotations

import copy
from typing import Literal, NamedTuple

import numpy as np

from tellwhen.compile.dictionary import Dictionary
from tellwhen.compile.patterns import Patterns
from tellwhen.kernels.arrays import Predicates
from tellwhen.lang.values import Family

LineKind = Literal["int", "float", "bool", "time", "string", "reversed", "pattern", "presence"]

FAMILY: dict[LineKind, Family | None] = {
    "int": "number", "float": "number", "bool": "bool", "time": "time",
    "string": "string", "reversed": "string", "pattern": "string", "presence": None,
}  # fmt: skip


class Line(NamedTuple):
    """Whose line it is, and how values become points on it."""

    attribute: str
    kind: LineKind


class Attribute:
    """The lines of one attribute, -1 or None where there is none yet."""

    __slots__ = ("bool", "float", "int", "name", "patterns", "presence", "reversed", "strings", "time")

    def __init__(self, name: str) -> None:
        self.name = name
        self.int = self.float = self.bool = self.time = self.presence = -1
        self.strings: Dictionary | None = None
        self.reversed: Dictionary | None = None
        self.patterns: Patterns | None = None

    @property
    def families(self) -> set[Family]:
        """The families its constants belong to."""
        found: set[Family] = set()
        if self.int >= 0 or self.float >= 0:
            found.add("number")
        if self.bool >= 0:
            found.add("bool")
        if self.time >= 0:
            found.add("time")
        if self.strings or self.reversed or self.patterns:
            found.add("string")
        return found


class Attributes:
    """All attributes by name, and all lines by number."""

    __slots__ = ("by_name", "lines", "watched")

    def __init__(self) -> None:
        self.by_name: dict[str, Attribute] = {}
        self.lines: list[Line] = []
        self.watched: list[Attribute] = []  # those with a presence line: an event must say 0 on it, too

    def of(self, name: str) -> Attribute:
        """The attribute of that name, new if need be."""
        attribute = self.by_name.get(name)
        if attribute is None:
            attribute = self.by_name[name] = Attribute(name)
        return attribute

    def line(self, attribute: Attribute, kind: LineKind) -> int:
        """The attribute's line of that kind, new if need be."""
        if kind == "pattern":
            raise ValueError("a pattern has a line of its own: use pattern()")
        if kind == "string":
            if attribute.strings is None:
                attribute.strings = Dictionary(self._new(attribute, kind))
            return attribute.strings.line
        if kind == "reversed":
            if attribute.reversed is None:
                attribute.reversed = Dictionary(self._new(attribute, kind))
            return attribute.reversed.line
        line: int = getattr(attribute, kind)
        if line < 0:
            line = self._new(attribute, kind)
            setattr(attribute, kind, line)
            if kind == "presence":
                self.watched.append(attribute)
        return line

    def pattern(self, attribute: Attribute, pattern: str) -> int:
        """The Boolean line of a pattern of the attribute, new if need be."""
        if attribute.patterns is None:
            attribute.patterns = Patterns()
        line = attribute.patterns.lines.get(pattern)
        if line is None:
            line = self._new(attribute, "pattern")
            attribute.patterns.lines[pattern] = line
        return line

    def _new(self, attribute: Attribute, kind: LineKind) -> int:
        self.lines.append(Line(attribute.name, kind))
        return len(self.lines) - 1

    def dictionary(self, line: int) -> Dictionary:
        """The dictionary of a string line, or of a line of reversed strings."""
        name, kind = self.lines[line]
        attribute = self.by_name[name]
        found = attribute.strings if kind == "string" else attribute.reversed
        assert found is not None
        return found

    def with_dictionary(self, dictionary: Dictionary) -> Attributes:
        """A copy in which one line has another dictionary; readers of this one are not disturbed."""
        name, kind = self.lines[dictionary.line]
        after = Attributes()
        after.lines = self.lines
        after.by_name = dict(self.by_name)
        changed = copy.copy(self.by_name[name])
        setattr(changed, "strings" if kind == "string" else "reversed", dictionary)
        after.by_name[name] = changed
        after.watched = [after.by_name[attribute.name] for attribute in self.watched]
        return after

    def trimmed(self, predicates: Predicates) -> Attributes:
        """A copy with only the constants and patterns that the predicates use. Lines keep their numbers."""
        after = self._copied()
        owner = np.repeat(predicates.line, np.diff(predicates.start))
        order = np.argsort(owner, kind="stable")
        used = set(predicates.line.tolist())

        def kept(dictionary: Dictionary | None) -> Dictionary | None:
            if dictionary is None:
                return None
            begin, end = np.searchsorted(owner[order], [dictionary.line, dictionary.line + 1])
            mine = order[begin:end]
            return dictionary.trimmed(np.concatenate([predicates.low[mine], predicates.high[mine]]))

        for attribute in after.by_name.values():
            attribute.strings, attribute.reversed = kept(attribute.strings), kept(attribute.reversed)
            if attribute.patterns is not None:
                attribute.patterns = attribute.patterns.trimmed(used)
        return after

    def _copied(self) -> Attributes:
        after = Attributes()
        after.lines = list(self.lines)
        after.by_name = {name: copy.copy(attribute) for name, attribute in self.by_name.items()}
        after.watched = [after.by_name[attribute.name] for attribute in self.watched]
        return after
