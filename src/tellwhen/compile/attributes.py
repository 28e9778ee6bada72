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

ROLES: dict[str, str] = {"string": "strings", "reversed": "reversed"}
"""Kinds of lines whose points are labels: where an attribute keeps their dictionary."""


class Line(NamedTuple):
    """Whose line it is, and how values become points on it."""

    attribute: str
    kind: LineKind


class LineKey(NamedTuple):
    """What a line is, whatever its number. `pattern` is empty for all other kinds."""

    attribute: str
    kind: LineKind
    pattern: str
    zero: bool  # some subscription asks for strings that do not match the pattern


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

    def rewind(self, lines: int) -> bool:
        """Forget the lines from that number on; False if none is left."""
        for kind in ("int", "float", "bool", "time", "presence"):
            if getattr(self, kind) >= lines:
                setattr(self, kind, -1)
        for role in ROLES.values():
            dictionary = getattr(self, role)
            if dictionary is not None:
                dictionary.mend()
                if dictionary.line >= lines:
                    setattr(self, role, None)
        if self.patterns is not None and not self.patterns.rewind(lines):
            self.patterns = None
        return bool(self.families) or self.presence >= 0


class Attributes:
    """All attributes by name, and all lines by number."""

    __slots__ = ("by_name", "lines", "watched")

    def __init__(self) -> None:
        self.by_name: dict[str, Attribute] = {}
        self.lines: list[Line] = []
        self.watched: dict[str, int] = {}  # the presence lines by name: an event must say 0 on them, too

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
        if kind in ROLES:
            dictionary: Dictionary | None = getattr(attribute, ROLES[kind])
            if dictionary is None:
                dictionary = Dictionary(self._new(attribute, kind))
                setattr(attribute, ROLES[kind], dictionary)
            return dictionary.line
        line: int = getattr(attribute, kind)
        if line < 0:
            line = self._new(attribute, kind)
            setattr(attribute, kind, line)
            if kind == "presence":
                self.watched[attribute.name] = line
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

    def line_keys(self) -> list[LineKey]:
        """What the lines are, by number."""
        patterns = {
            line: (pattern, line in attribute.patterns.zeros)
            for attribute in self.by_name.values()
            if attribute.patterns is not None
            for pattern, line in attribute.patterns.lines.items()
        }
        return [LineKey(*line, *patterns.get(number, ("", False))) for number, line in enumerate(self.lines)]

    def add(self, key: LineKey) -> int:
        """The line that is this, new if need be."""
        attribute = self.of(key.attribute)
        if key.kind != "pattern":
            return self.line(attribute, key.kind)
        line = self.pattern(attribute, key.pattern)
        if key.zero:
            assert attribute.patterns is not None
            attribute.patterns.zeros.add(line)
        return line

    def _new(self, attribute: Attribute, kind: LineKind) -> int:
        self.lines.append(Line(attribute.name, kind))
        return len(self.lines) - 1

    def dictionary(self, line: int) -> Dictionary:
        """The dictionary of a string line, or of a line of reversed strings."""
        name, kind = self.lines[line]
        attribute = self.by_name[name]
        found: Dictionary = getattr(attribute, ROLES[kind])
        return found

    def with_dictionary(self, dictionary: Dictionary) -> Attributes:
        """A copy in which one line has another dictionary; readers of this one are not disturbed."""
        name, kind = self.lines[dictionary.line]
        after = Attributes()
        after.lines = self.lines
        after.by_name = dict(self.by_name)
        changed = copy.copy(self.by_name[name])
        setattr(changed, ROLES[kind], dictionary)
        after.by_name[name] = changed
        after.watched = self.watched
        return after

    def trimmed(self, predicates: Predicates) -> tuple[Attributes, Predicates]:
        """A copy with only what the predicates use, lines numbered anew; and the predicates in those numbers."""
        used, line = np.unique(predicates.line, return_inverse=True)
        owner = np.repeat(line, np.diff(predicates.start))
        order = np.argsort(owner, kind="stable")
        begin = np.searchsorted(owner[order], np.arange(len(used) + 1))
        after, keys = Attributes(), self.line_keys()
        for number, old in enumerate(used.tolist()):
            key = keys[old]
            after.add(key)
            if key.kind in ROLES:
                mine = order[begin[number] : begin[number + 1]]
                ends = np.concatenate([predicates.low[mine], predicates.high[mine]])
                setattr(after.by_name[key.attribute], ROLES[key.kind], self.dictionary(old).trimmed(ends, number))
        return after, predicates._replace(line=line.astype(np.int32))

    def rewind(self, lines: int) -> None:
        """Forget the lines from that number on, and mend what an interrupt may have left half done."""
        for name, attribute in list(self.by_name.items()):
            if not attribute.rewind(lines):
                del self.by_name[name]
        self.watched = {name: a.presence for name, a in self.by_name.items() if a.presence >= 0}
        del self.lines[lines:]
