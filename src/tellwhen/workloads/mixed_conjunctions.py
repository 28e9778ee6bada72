"""Conjunctions with one parameter to vary at a time: family, cardinality and skew of values, and length of lists.

As in BEGen, a base models an event. A subscription keeps some attributes of its base with predicates that the base
satisfies: equality, a list, or a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws, compute_zipf_weights

Family = Literal["int", "float", "string"]


@dataclass(frozen=True)
class Varied(Workload):
    """Generator with `members` values in a list, Zipf `skew` of values, and a match probability of 1 / `bases`."""

    family: Family = "int"
    cardinality: int = 1_000
    skew: float = 0.0
    dimensions: int = 200
    event_size: int = 15
    size: int = 4
    members: int = 5
    bases: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.event_size <= self.dimensions or self.cardinality < 2 or self.members < 1:
            raise ValueError("sizes must satisfy 1 <= size <= event_size <= dimensions, cardinality >= 2, members >= 1")
        if self.family not in ("int", "float", "string"):
            raise ValueError(f"the family is int, float or string, not {self.family!r}")

    @cached_property
    def _base_events(self) -> tuple[I64, I64]:
        draws = Draws(self.seed, "bases")
        attributes = draws.draw_subsets(np.ones(self.dimensions), self.event_size, self.bases)
        return attributes, draws.draw_indices(self._weights, self.bases, self.event_size)

    @cached_property
    def _weights(self) -> np.ndarray:
        return compute_zipf_weights(self.cardinality, self.skew)

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "subscriptions", block)
        attributes, values = self._base_events
        base = draws.integers(0, self.bases, BLOCK)
        kept = draws.draw_subsets(np.ones(self.event_size), self.size, BLOCK)
        form = draws.uniform(BLOCK, self.size)
        width = draws.integers(1, max(2, self.cardinality // 8), BLOCK, self.size)
        listed = draws.integers(0, self.cardinality, BLOCK, self.members)
        return [
            " AND ".join(
                self._format_predicate(
                    int(attributes[base[i], k]), int(values[base[i], k]), form[i, j], int(width[i, j]), listed[i]
                )
                for j, k in enumerate(kept[i].tolist())
            )
            for i in range(BLOCK)
        ]

    def _format_predicate(self, attribute: int, value: int, form: float, width: int, listed: I64) -> str:
        if form < 0.4:
            return f"a{attribute} = {self._format_value(value)}"
        if form < 0.7:
            members = dict.fromkeys([value, *listed[1:].tolist()])
            return f"a{attribute} IN ({', '.join(map(self._format_value, members))})"
        return (
            f"a{attribute} BETWEEN {self._format_value(max(0, value - width))} AND {self._format_value(value + width)}"
        )

    def _format_value(self, value: int) -> str:
        return f"'{self._make_value(value)}'" if self.family == "string" else str(self._make_value(value))

    def _make_value(self, value: int) -> Any:
        """Return the value of a number; strings have one length, so that their order is that of the numbers."""
        if self.family == "float":
            return value / 8 + 0.0625
        return f"v{value:08}" if self.family == "string" else value

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "events", block)
        attributes, values = self._base_events
        found = draws.integers(0, self.bases, BLOCK)
        return [
            {f"a{a}": self._make_value(v) for a, v in zip(attributes[b].tolist(), values[b].tolist(), strict=True)}
            for b in found.tolist()
        ]
