"""Product alerts with several clauses, as ANDs of ORs or as ORs of ANDs (OpIndex, section 7.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.conjunctions import EQ, GE, LE, SIGNS
from tellwhen.workloads.draws import Draws
from tellwhen.workloads.products import Products


@dataclass(frozen=True)
class Clauses(Workload):
    """Generator of clauses with the attributes, operators, values and events of Products.

    The number of clauses and their sizes are uniform, from 1 to `clauses` and `size`. With the same seed both forms
    have the same predicates: only AND and OR are exchanged.
    """

    form: Literal["cnf", "dnf"] = "cnf"
    clauses: int = 5
    size: int = 3
    dimensions: int = 20_000
    event_size: int = 60
    equality: float = 0.6
    cardinality: int = 800
    seed: int = 1

    def __post_init__(self) -> None:
        if self.form not in ("cnf", "dnf"):
            raise ValueError(f"the form is cnf or dnf, not {self.form!r}")
        if self.clauses < 1 or self.size < 1:
            raise ValueError("clauses and size are at least 1")

    @cached_property
    def _products(self) -> Products:
        return Products(
            dimensions=self.dimensions, event_size=self.event_size, cardinality=self.cardinality, seed=self.seed
        )

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "clauses", block)
        inner, outer = (" OR ", " AND ") if self.form == "cnf" else (" AND ", " OR ")
        shape = BLOCK, self.clauses, self.size
        clauses = draws.integers(1, self.clauses + 1, BLOCK).tolist()
        sizes = draws.integers(1, self.size + 1, BLOCK, self.clauses).tolist()
        other = np.where(draws.uniform(*shape) < 0.5, LE, GE)
        operator = np.where(draws.uniform(*shape) < self.equality, EQ, other).tolist()
        attribute = draws.integers(0, self.dimensions, *shape).tolist()
        operand = draws.integers(0, self.cardinality, *shape).tolist()
        names = self._products.names
        return [
            outer.join(
                "("
                + inner.join(
                    f"{names[attribute[row][c][k]]} {SIGNS[operator[row][c][k]]} {operand[row][c][k]}"
                    for k in range(sizes[row][c])
                )
                + ")"
                for c in range(clauses[row])
            )
            for row in range(BLOCK)
        ]

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        return self._products.generate_events(block)
