"""Counts of the sub-expressions that subscriptions share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from tellwhen.language.ast import LIST_OPERATORS, Connective, Expr, Not, Predicate, Truth
from tellwhen.profile.sketches import DistinctSample
from tellwhen.profile.values import encode_value, hash_text

SAMPLED_EXPRESSIONS_MAX = 2_048
"""Sampled sub-expressions per level. The error of their estimated number is about 1 / sqrt(2048)."""


class SharingLevel(NamedTuple):
    """The number of sub-expressions of one level, and of the distinct ones (A-Tree, section 6.2, figure 7).

    Predicates are level 1; any other node is one level above its highest operand. The order of operands does not
    matter, as for the ids of the paper's section 4.2.1.

    Deviations: nodes are not reorganised to share more, since that depends on the order of arrival. NOT is a node.
    TRUE and FALSE are not counted.
    """

    level: int
    total: int
    distinct: int

    @property
    def ratio(self) -> float:
        """The mean number of occurrences of a distinct sub-expression."""
        return self.total / self.distinct


class Sharing:
    """Counts of sub-expressions by level. Call `trim` after adding."""

    def __init__(self) -> None:
        self._totals: Counter[int] = Counter()
        self._samples: defaultdict[int, DistinctSample] = defaultdict(DistinctSample)

    def add(self, expr: Expr) -> str:
        """Count an expression and all of its parts; return an id that ignores the order of operands and of IN lists."""
        if isinstance(expr, Predicate):
            text = _canonicalize_predicate(expr)
        elif isinstance(expr, Truth):
            return str(expr)
        elif isinstance(expr, Not):
            text = "NOT " + self.add(expr.arg)
        else:
            assert isinstance(expr, Connective)
            text = " ".join([expr.keyword, *sorted([self.add(arg) for arg in expr.args])])
        level, id_ = expr.depth + 1, hash_text(text).hex()
        self._totals[level] += 1
        self._samples[level].add({id_: 1}, SAMPLED_EXPRESSIONS_MAX)
        return id_

    def merge(self, other: Sharing) -> None:
        self._totals.update(other._totals)
        for level, sample in other._samples.items():
            self._samples[level].add(sample.counts, SAMPLED_EXPRESSIONS_MAX)
        self.trim()

    def trim(self) -> None:
        """Reduce the samples to their final size, so that equal input gives equal results."""
        for sample in self._samples.values():
            sample.trim(SAMPLED_EXPRESSIONS_MAX)

    def list_levels(self) -> list[SharingLevel]:
        totals = sorted(self._totals.items())
        return [
            SharingLevel(level, total, self._samples[level].estimate_distinct(SAMPLED_EXPRESSIONS_MAX))
            for level, total in totals
        ]

    def to_json(self) -> dict[str, Any]:
        return {str(level): [total, self._samples[level].counts] for level, total in self._totals.items()}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Sharing:
        sharing = cls()
        for level, (total, counts) in form.items():
            sharing._totals[int(level)] = total
            sharing._samples[int(level)] = DistinctSample(counts)
        return sharing


def _canonicalize_predicate(predicate: Predicate) -> str:
    """Return a text that is the same for 1 and 1.0, and for IN (1, 2) and IN (2, 1)."""
    operand = predicate.operand
    texts = [str(encode_value(part)) for part in (operand if isinstance(operand, tuple) else (operand,))]
    if predicate.operator in LIST_OPERATORS:
        texts = sorted(set(texts))
    return "\0".join([predicate.attribute, predicate.operator, *texts])
