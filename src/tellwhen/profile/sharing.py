"""How many sub-expressions do subscriptions share?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from tellwhen.language.ast import LISTS, Connective, Expr, Not, Predicate, Truth
from tellwhen.profile.sketches import Sample
from tellwhen.profile.values import hash_of, text_of

DISTINCT = 2_048
"""Sub-expressions sampled of each level. The error of their estimated number is about 1 / sqrt(2048)."""


class SharingLevel(NamedTuple):
    """The sub-expressions of one level, and how many are distinct (A-Tree, section 6.2, figure 7).

    Predicates are level 1; any other node is one level above its highest operand. Deviations: the order of operands
    does not matter, as for the ids of the paper's section 4.2.1, but nothing is reorganised to share more, since that
    depends on the order of arrival. NOT is a node. TRUE and FALSE are not counted.
    """

    level: int
    total: int
    distinct: int

    @property
    def ratio(self) -> float:
        """How often a distinct sub-expression occurs, on average."""
        return self.total / self.distinct


class Sharing:
    """Counts sub-expressions by level. Call `trim` after adding."""

    def __init__(self) -> None:
        self._totals: Counter[int] = Counter()
        self._samples: defaultdict[int, Sample] = defaultdict(Sample)

    def add(self, expr: Expr) -> str:
        """Count an expression and all inside it. Its id does not depend on the order of operands and of IN lists."""
        if isinstance(expr, Predicate):
            text = _predicate(expr)
        elif isinstance(expr, Truth):
            return str(expr)
        elif isinstance(expr, Not):
            text = "NOT " + self.add(expr.arg)
        else:
            assert isinstance(expr, Connective)
            text = " ".join([expr.keyword, *sorted([self.add(arg) for arg in expr.args])])
        level, id_ = expr.depth + 1, hash_of(text).hex()
        self._totals[level] += 1
        self._samples[level].add({id_: 1}, DISTINCT)
        return id_

    def merge(self, other: Sharing) -> None:
        self._totals.update(other._totals)
        for level, sample in other._samples.items():
            self._samples[level].add(sample.counts, DISTINCT)
        self.trim()

    def trim(self) -> None:
        """Reduce the samples to their final size, so that equal input gives equal results."""
        for sample in self._samples.values():
            sample.cut(DISTINCT)

    def levels(self) -> list[SharingLevel]:
        totals = sorted(self._totals.items())
        return [SharingLevel(level, total, self._samples[level].distinct(DISTINCT)) for level, total in totals]

    def to_json(self) -> dict[str, Any]:
        return {str(level): [total, self._samples[level].counts] for level, total in self._totals.items()}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Sharing:
        sharing = cls()
        for level, (total, counts) in form.items():
            sharing._totals[int(level)] = total
            sharing._samples[int(level)] = Sample(counts)
        return sharing


def _predicate(predicate: Predicate) -> str:
    """A text that is the same for 1 and 1.0, and for IN (1, 2) and IN (2, 1), unlike the text that was parsed."""
    operand = predicate.operand
    texts = [str(text_of(part)) for part in (operand if isinstance(operand, tuple) else (operand,))]
    if predicate.operator in LISTS:
        texts = sorted(set(texts))
    return "\0".join([predicate.attribute, predicate.operator, *texts])
