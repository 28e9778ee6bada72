"""Predicate, or its negation -> literal: a domain, and a short sorted list of closed intervals on it.

The literals of a batch of subscriptions are collected in flat lists. Interval ends that are labels of strings are only
known when all constants of the batch are in the dictionaries: they are noted, and filled in by `resolve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.dictionary import Moved, successor
from tellwhen.compile.domains import complement, float_point, int_point
from tellwhen.compile.like_shapes import Shape, like_shape, quote
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.language.ast import LIKE_OPERATORS, Predicate
from tellwhen.language.schema import Schema
from tellwhen.language.times import to_microseconds
from tellwhen.language.values import can_be_float, can_be_int

Intervals = list[tuple[int, int]]
NOTHING = -1
"""Instead of the number of a literal: no event can satisfy it."""


class _End(NamedTuple):
    """An interval end that is the label of a string plus an offset, at a position of the batch's lows or highs."""

    domain: int
    text: str
    offset: int
    position: int
    is_high: bool


class Literals:
    """The literals of a batch of subscriptions, numbered from 0."""

    def __init__(self, attributes: Attributes, schema: Schema) -> None:
        self.attributes = attributes
        self.schema = schema
        self.domains: list[int] = []
        self.every: list[int] = []
        self.starts: list[int] = [0]
        self.lows: list[int] = []
        self.highs: list[int] = []
        self._ends: list[_End] = []  # not known yet

    def add(self, predicate: Predicate, negated: bool) -> int:
        """The number of the literal for a predicate, or for its negation."""
        attribute = self.attributes.of(predicate.attribute)
        operand = predicate.operand
        constants = operand if type(operand) is tuple else (operand,)
        kind = type(constants[0])
        if kind is int or kind is float:
            domain, point = self._number_domain(attribute, constants)
            return self._comparison(domain, predicate.operator, [point(c) for c in constants], negated)
        if kind is str:
            return self._string(attribute, predicate, negated)
        if operand is None:
            present = int((predicate.operator == "IS NOT NULL") != negated)
            return self._literal(self.attributes.domain(attribute, "presence"), [(present, present)], False)
        if kind is bool:
            domain, points = self.attributes.domain(attribute, "bool"), [int(c) for c in constants]
            if negated or predicate.operator != "=" or not operand:
                self.attributes.ask_false(attribute)
        else:
            domain, points = self.attributes.domain(attribute, "time"), [2 * to_microseconds(c) for c in constants]
        return self._comparison(domain, predicate.operator, points, negated)

    def _comparison(self, domain: int, operator: str, points: list[int], negated: bool) -> int:
        intervals = _intervals(operator, points)
        return self._literal(domain, complement(intervals) if negated else intervals, negated)

    def _number_domain(self, attribute: Attribute, constants: tuple[Any, ...]) -> tuple[int, Callable[[Any], int]]:
        """A domain for the constants, and how they become points on it."""
        # Once an attribute has fractions, keep its predicates together on the float domain.
        prefers_float = attribute.float >= 0 or self.schema.types.get(attribute.name) == "float"
        if not prefers_float and attribute.int >= 0 and all([type(c) is int for c in constants]):
            return attribute.int, _double
        whole, doubles = can_be_int(constants), can_be_float(constants)
        if whole and not (doubles and prefers_float):
            return self.attributes.domain(attribute, "int"), int_point
        assert doubles  # `build.predicate` refuses constants that fit neither
        return self.attributes.domain(attribute, "float"), float_point

    def _string(self, attribute: Attribute, predicate: Predicate, negated: bool) -> int:
        operator, operand = predicate.operator, predicate.operand
        if operator in LIKE_OPERATORS:
            shape, text = like_shape(*operand)
            negative = operator == "NOT LIKE"
            if shape is Shape.WILD:
                return self._pattern(attribute, text, negative, negated)
            if shape is Shape.EQUAL:
                return self._labelled(attribute, "<>" if negative else "=", [text], negated)
            return self._affix(attribute, text, shape is Shape.SUFFIX, negative, negated)
        if operator == "STARTS WITH" or operator == "ENDS WITH":
            return self._affix(attribute, operand, operator == "ENDS WITH", False, negated)
        if operator == "CONTAINS":
            return self._pattern(attribute, quote(operand), False, negated)
        if operator == "MATCHES":
            return self._pattern(attribute, operand, False, negated)
        texts = list(operand) if isinstance(operand, tuple) else [operand]
        if operator in ("BETWEEN", "NOT BETWEEN") and texts[0] > texts[1]:
            # Nothing is between them. Known from the strings; labels could not express it.
            return self._everything_or_nothing(attribute, (operator == "NOT BETWEEN") != negated, negated)
        return self._labelled(attribute, operator, texts, negated)

    def _pattern(self, attribute: Attribute, pattern: str, negative: bool, negated: bool) -> int:
        domain = self.attributes.pattern(attribute, pattern)
        if negative or negated:
            assert attribute.patterns is not None
            attribute.patterns.zeros.add(domain)
        point = int(negative == negated)
        return self._literal(domain, [(point, point)], negated)

    def _everything_or_nothing(self, attribute: Attribute, is_everything: bool, negated: bool) -> int:
        domain = self.attributes.domain(attribute, "string")
        return self._literal(domain, [(LOWEST, HIGHEST)], negated) if is_everything else NOTHING

    def _affix(self, attribute: Attribute, text: str, is_suffix: bool, negative: bool, negated: bool) -> int:
        """A prefix, or a suffix as a prefix of reversed strings: from the text up to its successor, or outside."""
        domain = self.attributes.domain(attribute, "reversed" if is_suffix else "string")
        is_outside = negative != negated
        if not text:
            return NOTHING if is_outside else self._literal(domain, [(LOWEST, HIGHEST)], negated)
        first = text[::-1] if is_suffix else text
        after = successor(first)
        base = len(self.lows)
        if is_outside:
            self._note_end(domain, first, -1, base, True)
            intervals = [(LOWEST, 0)]
            if after is not None:
                self._note_end(domain, after, 0, base + 1, False)
                intervals.append((0, HIGHEST))
        else:
            self._note_end(domain, first, 0, base, False)
            intervals = [(0, HIGHEST)]
            if after is not None:
                self._note_end(domain, after, -1, base, True)
        return self._literal(domain, intervals, negated)

    def _labelled(self, attribute: Attribute, operator: str, texts: list[str], negated: bool) -> int:
        """Intervals between labels that are not known yet: computed on ranks 2, 4, 6, ... in the same order."""
        domain = self.attributes.domain(attribute, "string")
        ordered = sorted(set(texts))
        rank = {text: 2 * i + 2 for i, text in enumerate(ordered)}
        intervals = _intervals(operator, [rank[text] for text in texts])
        if negated:
            intervals = complement(intervals)
        for i, interval in enumerate(intervals):
            for is_high, point in enumerate(interval):
                if point not in (LOWEST, HIGHEST):
                    text = ordered[(point + is_high) // 2 - 1]
                    self._note_end(domain, text, point - rank[text], len(self.lows) + i, bool(is_high))
        return self._literal(domain, intervals, negated)

    def _note_end(self, domain: int, text: str, offset: int, position: int, is_high: bool) -> None:
        self._ends.append(_End(domain, text, offset, position, is_high))

    def _literal(self, domain: int, intervals: Intervals, every: bool) -> int:
        if not intervals:
            return NOTHING
        self.domains.append(domain)
        self.every.append(every)
        lows, highs = self.lows, self.highs
        for low, high in intervals:
            lows.append(low)
            highs.append(high)
        self.starts.append(len(lows))
        return len(self.domains) - 1

    def resolve(self) -> tuple[Predicates, Attributes, list[tuple[int, Moved]]]:
        """Give every string a label.

        Returns the literals as arrays, the attributes to encode events with, and the domains whose points have moved.
        """
        texts: dict[int, set[str]] = {}
        for end in self._ends:
            texts.setdefault(end.domain, set()).add(end.text)
        moved = self._label(texts)
        labels: dict[int, dict[str, int]] = {}
        for domain, wanted in texts.items():
            found = list(wanted)
            labels[domain] = dict(zip(found, self.attributes.dictionary(domain).labels_of(found).tolist(), strict=True))
        for domain, text, offset, position, is_high in self._ends:
            (self.highs if is_high else self.lows)[position] = labels[domain][text] + offset
        arrays = Predicates(
            np.array(self.domains, dtype=np.int32),
            np.array(self.every, dtype=np.uint8),
            np.array(self.starts, dtype=np.int64),
            np.array(self.lows, dtype=np.int64),
            np.array(self.highs, dtype=np.int64),
        )
        return arrays, self.attributes, moved

    def _label(self, texts: dict[int, set[str]]) -> list[tuple[int, Moved]]:
        """Add the texts to the dictionaries of their domains; returns the domains that had to be relabelled."""
        moved = []
        for domain, wanted in texts.items():
            dictionary = self.attributes.dictionary(domain)
            new = dictionary.missing(wanted)
            if new and not dictionary.add(new):
                after, moves = dictionary.relabelled(new)
                self.attributes = self.attributes.with_dictionary(after)
                moved.append((domain, moves))
        return moved


def _double(value: int) -> int:
    """`int_point` of an integer in range."""
    return 2 * value


def _intervals(operator: str, points: list[int]) -> Intervals:
    """The intervals of an operator on the points of its constants. Between two of these there is always another."""
    p = points[0]
    if operator == "=":
        return [(p, p)]
    if operator == "<":
        return [(LOWEST, p - 1)]
    if operator == "<=":
        return [(LOWEST, p)]
    if operator == ">":
        return [(p + 1, HIGHEST)]
    if operator == ">=":
        return [(p, HIGHEST)]
    if operator == "BETWEEN":
        return [(p, points[1])] if p <= points[1] else []
    if operator == "IN":
        return [(p, p) for p in sorted(set(points))]
    if operator == "<>":
        return complement([(p, p)])
    if operator == "NOT IN":
        return complement([(p, p) for p in sorted(set(points))])
    assert operator == "NOT BETWEEN"
    return complement([(p, points[1])] if p <= points[1] else [])
