"""Conjunctions over integers as arrays and as texts, which most generators of the papers make."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, U8, Predicates

EQ, NE, LT, LE, GT, GE, IN, NOT_IN, BETWEEN = range(9)
SIGNS = ("=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN")


class Conjunctions(NamedTuple):
    """Conjunctions as arrays.

    Subscription s has predicates start[s]:start[s+1]; predicate p has operands operand[first[p]:first[p+1]], ascending.
    """

    start: I64
    attribute: I32
    operator: U8
    first: I64
    operand: I64

    def format_texts(self, names: list[str]) -> list[str]:
        """Return the conjunctions as texts."""
        parts = [self._format_predicate(p, names) for p in range(len(self.attribute))]
        start = self.start.tolist()
        return [" AND ".join(parts[a:b]) for a, b in pairwise(start)]

    def _format_predicate(self, p: int, names: list[str]) -> str:
        operator = int(self.operator[p])
        values = [str(v) for v in self.operand[self.first[p] : self.first[p + 1]].tolist()]
        name = names[self.attribute[p]]
        if operator == BETWEEN:
            return f"{name} BETWEEN {values[0]} AND {values[1]}"
        if operator in (IN, NOT_IN):
            return f"{name} {SIGNS[operator]} ({', '.join(values)})"
        return f"{name} {SIGNS[operator]} {values[0]}"

    def to_predicates(self) -> Predicates:
        """Return the predicates in the form of a store: domain a for attribute a, point 2v for value v."""
        lengths = np.diff(self.first)
        outer = (self.operator == NOT_IN) | (self.operator == NE)
        # IN has a point per operand; NOT IN and <> have the gaps around the points; all others have one interval.
        counts = np.select([self.operator == IN, outer], [lengths, lengths + 1], 1)
        start = np.concatenate([[0], np.cumsum(counts)])
        low, high = np.full(start[-1], LOWEST), np.full(start[-1], HIGHEST)
        points = 2 * self.operand
        head = points[self.first[:-1]]
        for operator, below, above in (
            (EQ, 0, 0), (LT, None, -1), (LE, None, 0), (GT, 1, None), (GE, 0, None),
        ):  # fmt: skip
            mine = self.operator == operator
            if below is not None:
                low[start[:-1][mine]] = head[mine] + below
            if above is not None:
                high[start[:-1][mine]] = head[mine] + above
        mine = self.operator == BETWEEN
        low[start[:-1][mine]], high[start[:-1][mine]] = head[mine], points[self.first[:-1][mine] + 1]
        member = np.repeat(self.operator == IN, lengths)
        where = np.repeat(start[:-1] - self.first[:-1], lengths) + np.arange(len(points))
        low[where[member]] = high[where[member]] = points[member]
        outside = np.repeat(outer, lengths)
        high[where[outside]] = points[outside] - 1
        low[where[outside] + 1] = points[outside] + 1
        return Predicates(self.attribute, np.zeros(len(self.attribute), dtype=np.uint8), start, low, high)
