"""Compilation of predicates and their negations into literals.

A literal is a domain and a short sorted list of closed intervals on it. The literals of a batch of subscriptions are
collected in flat lists. An interval end that is the label of a string is known only when all constants of the batch are
in the dictionaries. Such ends are collected too, and `resolve` fills them in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attribute, Attributes
from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.domains import complement, to_float_point, to_int_point
from tellwhen.compile.like_shapes import LikeShape, classify_like, escape_regex
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.language.ast import LIKE_OPERATORS, Predicate
from tellwhen.language.schema import Schema
from tellwhen.language.times import to_microseconds
from tellwhen.language.values import can_be_float, can_be_int, find_successor

Intervals = list[tuple[int, int]]
UNSATISFIABLE = -1
"""Number of a literal that no event satisfies."""


class _PendingEnd(NamedTuple):
    """An interval end that is not known yet: the label of `text` plus `offset`.

    It is written to lows[position], or if `is_high` to highs[position].
    """

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
        self._pending_ends: list[_PendingEnd] = []

    def add(self, predicate: Predicate, is_negated: bool) -> int:
        """Add the literal of a predicate or of its negation, and return the number of the literal."""
        attribute = self.attributes.get_or_create(predicate.attribute)
        operand = predicate.operand
        constants = operand if type(operand) is tuple else (operand,)
        kind = type(constants[0])
        if kind is int or kind is float:
            domain, to_point = self._choose_number_domain(attribute, constants)
            return self._add_comparison(domain, predicate.operator, [to_point(c) for c in constants], is_negated)
        if kind is str:
            return self._add_string_predicate(attribute, predicate, is_negated)
        if operand is None:
            point = int((predicate.operator == "IS NOT NULL") != is_negated)
            return self._append(self.attributes.get_or_create_domain(attribute, "presence"), [(point, point)], False)
        if kind is bool:
            domain, points = self.attributes.get_or_create_domain(attribute, "bool"), [int(c) for c in constants]
            if is_negated or predicate.operator != "=" or not operand:
                self.attributes.require_false(attribute)
        else:
            domain = self.attributes.get_or_create_domain(attribute, "time")
            points = [2 * to_microseconds(c) for c in constants]
        return self._add_comparison(domain, predicate.operator, points, is_negated)

    def _add_comparison(self, domain: int, operator: str, points: list[int], is_negated: bool) -> int:
        intervals = _make_intervals(operator, points)
        return self._append(domain, complement(intervals) if is_negated else intervals, is_negated)

    def _choose_number_domain(
        self, attribute: Attribute, constants: tuple[Any, ...]
    ) -> tuple[int, Callable[[Any], int]]:
        """Return a domain for the numbers, and the function that converts them to points."""
        # Once an attribute has fractions, keep its predicates together on the float domain.
        prefers_float = attribute.float >= 0 or self.schema.types.get(attribute.name) == "float"
        if not prefers_float and attribute.int >= 0 and all([type(c) is int for c in constants]):
            return attribute.int, _to_exact_int_point
        is_int, is_float = can_be_int(constants), can_be_float(constants)
        if is_int and not (is_float and prefers_float):
            return self.attributes.get_or_create_domain(attribute, "int"), to_int_point
        assert is_float  # `build.predicate` refuses constants that fit neither
        return self.attributes.get_or_create_domain(attribute, "float"), to_float_point

    def _add_string_predicate(self, attribute: Attribute, predicate: Predicate, is_negated: bool) -> int:
        operator, operand = predicate.operator, predicate.operand
        if operator in LIKE_OPERATORS:
            shape, text = classify_like(*operand)
            is_not_like = operator == "NOT LIKE"
            if shape is LikeShape.WILD:
                return self._add_pattern(attribute, text, is_not_like, is_negated)
            if shape is LikeShape.EQUAL:
                return self._add_comparison_of_strings(attribute, "<>" if is_not_like else "=", [text], is_negated)
            return self._add_affix(attribute, text, shape is LikeShape.SUFFIX, is_not_like, is_negated)
        if operator == "STARTS WITH" or operator == "ENDS WITH":
            return self._add_affix(attribute, operand, operator == "ENDS WITH", False, is_negated)
        if operator == "CONTAINS":
            return self._add_pattern(attribute, escape_regex(operand), False, is_negated)
        if operator == "MATCHES":
            return self._add_pattern(attribute, operand, False, is_negated)
        texts = list(operand) if isinstance(operand, tuple) else [operand]
        if operator in ("BETWEEN", "NOT BETWEEN") and texts[0] > texts[1]:
            # No string is between them, so they need no labels.
            return self._add_constant(attribute, (operator == "NOT BETWEEN") != is_negated, is_negated)
        return self._add_comparison_of_strings(attribute, operator, texts, is_negated)

    def _add_pattern(self, attribute: Attribute, pattern: str, is_not_like: bool, is_negated: bool) -> int:
        """Add the literal that a string matches the regular expression, or with `is_not_like` that it does not."""
        domain = self.attributes.get_or_create_pattern(attribute, pattern)
        if is_not_like or is_negated:
            assert attribute.patterns is not None
            attribute.patterns.zeros.add(domain)
        point = int(is_not_like == is_negated)
        return self._append(domain, [(point, point)], is_negated)

    def _add_constant(self, attribute: Attribute, is_satisfied: bool, is_negated: bool) -> int:
        """Add the literal that every string of the attribute satisfies, or none."""
        domain = self.attributes.get_or_create_domain(attribute, "string")
        return self._append(domain, [(LOWEST, HIGHEST)], is_negated) if is_satisfied else UNSATISFIABLE

    def _add_affix(self, attribute: Attribute, text: str, is_suffix: bool, is_not_like: bool, is_negated: bool) -> int:
        """Add the literal that a string has a prefix or suffix, or with `is_not_like` that it has not.

        A prefix is the interval from the text up to its successor; a suffix is a prefix of the reversed strings.
        """
        domain = self.attributes.get_or_create_domain(attribute, "reversed" if is_suffix else "string")
        is_outside = is_not_like != is_negated
        if not text:
            return UNSATISFIABLE if is_outside else self._append(domain, [(LOWEST, HIGHEST)], is_negated)
        first = text[::-1] if is_suffix else text
        after = find_successor(first)
        base = len(self.lows)
        if is_outside:
            self._append_pending_end(domain, first, -1, base, True)
            intervals = [(LOWEST, 0)]
            if after is not None:
                self._append_pending_end(domain, after, 0, base + 1, False)
                intervals.append((0, HIGHEST))
        else:
            self._append_pending_end(domain, first, 0, base, False)
            intervals = [(0, HIGHEST)]
            if after is not None:
                self._append_pending_end(domain, after, -1, base, True)
        return self._append(domain, intervals, is_negated)

    def _add_comparison_of_strings(
        self, attribute: Attribute, operator: str, texts: list[str], is_negated: bool
    ) -> int:
        """Add the literal of a comparison with strings.

        Labels are not known yet, so the intervals are computed on ranks 2, 4, 6, ... of the strings.
        """
        domain = self.attributes.get_or_create_domain(attribute, "string")
        ordered = sorted(set(texts))
        rank = {text: 2 * i + 2 for i, text in enumerate(ordered)}
        intervals = _make_intervals(operator, [rank[text] for text in texts])
        if is_negated:
            intervals = complement(intervals)
        for i, interval in enumerate(intervals):
            for is_high, point in enumerate(interval):
                if point not in (LOWEST, HIGHEST):
                    text = ordered[(point + is_high) // 2 - 1]
                    self._append_pending_end(domain, text, point - rank[text], len(self.lows) + i, bool(is_high))
        return self._append(domain, intervals, is_negated)

    def _append_pending_end(self, domain: int, text: str, offset: int, position: int, is_high: bool) -> None:
        self._pending_ends.append(_PendingEnd(domain, text, offset, position, is_high))

    def _append(self, domain: int, intervals: Intervals, is_every: bool) -> int:
        """Append a literal. With `is_every`, all values of an attribute with several values must be inside."""
        if not intervals:
            return UNSATISFIABLE
        self.domains.append(domain)
        self.every.append(is_every)
        lows, highs = self.lows, self.highs
        for low, high in intervals:
            lows.append(low)
            highs.append(high)
        self.starts.append(len(lows))
        return len(self.domains) - 1

    def resolve(self) -> tuple[Predicates, Attributes, list[tuple[int, LabelMoves]]]:
        """Add all strings of the batch to the dictionaries, and fill in the interval ends that are labels.

        Return the literals as arrays, the attributes with which events are encoded, and the label moves of the domains
        that were relabelled.
        """
        texts: dict[int, set[str]] = {}
        for end in self._pending_ends:
            texts.setdefault(end.domain, set()).add(end.text)
        moves = self._label_texts(texts)
        labels: dict[int, dict[str, int]] = {}
        for domain, domain_texts in texts.items():
            keys = list(domain_texts)
            domain_labels = self.attributes.get_dictionary(domain).get_labels(keys)
            labels[domain] = dict(zip(keys, domain_labels.tolist(), strict=True))
        for domain, text, offset, position, is_high in self._pending_ends:
            (self.highs if is_high else self.lows)[position] = labels[domain][text] + offset
        arrays = Predicates(
            np.array(self.domains, dtype=np.int32),
            np.array(self.every, dtype=np.uint8),
            np.array(self.starts, dtype=np.int64),
            np.array(self.lows, dtype=np.int64),
            np.array(self.highs, dtype=np.int64),
        )
        return arrays, self.attributes, moves

    def _label_texts(self, texts: dict[int, set[str]]) -> list[tuple[int, LabelMoves]]:
        """Add the texts to the dictionaries of their domains. Return the label moves of the relabelled domains."""
        all_moves = []
        for domain, domain_texts in texts.items():
            self.attributes, moves = self.attributes.add_constants(domain, domain_texts)
            if moves is not None:
                all_moves.append((domain, moves))
        return all_moves


def _to_exact_int_point(value: int) -> int:
    """Return the point of an integer up to INTEGER_MAX on an int domain, faster than `to_int_point`."""
    return 2 * value


def _make_intervals(operator: str, points: list[int]) -> Intervals:
    """Return the intervals of a comparison with the points of its constants.

    Between the points of two constants there is always another point.
    """
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
