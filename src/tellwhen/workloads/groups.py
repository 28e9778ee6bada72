"""Trees of 16 predicates: ANDs of four ORs, and ORs of four ANDs, some negated, with a chosen number of matches.

As in BEGen, a base models an event. An AND of ORs has in every OR a predicate that is true of its base; an OR of ANDs
has one AND that is. The other predicates are on any attributes. With 1/p bases an event matches at least a share p of
all subscriptions; where events have few of many attributes, hardly more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64
from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws

GROUPS, LEAVES = 4, 4
NEGATED_SHARE = 0.12
"""Share of negated predicates among those that are not true of the base."""


@dataclass(frozen=True)
class Groups(Workload):
    """Generator of ANDs of four ORs and of ORs of four ANDs, half of the subscriptions each.

    An event matches at least a share 1 / `bases` of the subscriptions.
    """

    dimensions: int = 400
    event_size: int = 15
    bases: int = 100
    cardinality: int = 48
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.event_size <= self.dimensions or self.bases < 1 or self.cardinality < 12:
            raise ValueError("sizes must satisfy 1 <= event_size <= dimensions, bases >= 1 and cardinality >= 12")

    @cached_property
    def _base_events(self) -> tuple[I64, I64]:
        draws = Draws(self.seed, "bases")
        attributes = draws.draw_subsets(np.ones(self.dimensions), self.event_size, self.bases)
        return attributes, draws.integers(0, self.cardinality, self.bases, self.event_size)

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "groups", block)
        attributes, values = self._base_events
        shape = BLOCK, GROUPS, LEAVES
        base = draws.integers(0, self.bases, BLOCK)
        is_and_of_ors = draws.uniform(BLOCK) < 0.5
        true_leaf, true_group = draws.integers(0, LEAVES, BLOCK, GROUPS, 1), draws.integers(0, GROUPS, BLOCK, 1, 1)
        is_true = np.where(
            is_and_of_ors[:, None, None], np.arange(LEAVES) == true_leaf, np.arange(GROUPS)[:, None] == true_group
        )
        position = draws.integers(0, self.event_size, *shape)
        attribute = np.where(
            is_true, attributes[base[:, None, None], position], draws.integers(0, self.dimensions, *shape)
        )
        value = np.where(is_true, values[base[:, None, None], position], draws.integers(0, self.cardinality, *shape))
        kind, step = draws.uniform(*shape), draws.integers(0, 6, *shape)
        more = draws.integers(0, self.cardinality, *shape, 2)
        is_negated = ~is_true & (draws.uniform(*shape) < NEGATED_SHARE)
        columns = (attribute, value, kind, step, more, is_true, is_negated)
        texts = [
            self._format_leaf(*leaf)
            for leaf in zip(*(column.reshape(-1, *column.shape[3:]).tolist() for column in columns), strict=True)
        ]
        found = []
        for i, is_and in enumerate(is_and_of_ors.tolist()):
            inner, outer = (" OR ", " AND ") if is_and else (" AND ", " OR ")
            first = i * GROUPS * LEAVES
            groups = (texts[first + g * LEAVES : first + (g + 1) * LEAVES] for g in range(GROUPS))
            found.append(outer.join(f"({inner.join(group)})" for group in groups))
        return found

    def _format_leaf(
        self, attribute: int, value: int, kind: float, step: int, more: list[int], is_true: bool, is_negated: bool
    ) -> str:
        name = f"{'NOT ' if is_negated else ''}a{attribute}"
        last = self.cardinality - 1
        if kind < 0.4:
            return f"{name} = {value}"
        if kind < 0.55:
            return f"{name} <= {min(last, value + step) if is_true else value // 4}"
        if kind < 0.7:
            return f"{name} >= {max(0, value - step) if is_true else last - value // 4}"
        if kind < 0.85:
            return f"{name} BETWEEN {max(0, value - step)} AND {max(0, value - step) + 6}"
        return f"{name} IN ({value}, {more[0]}, {more[1]})"

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        attributes, values = self._base_events
        base = Draws(self.seed, "events", block).integers(0, self.bases, BLOCK).tolist()
        each = [
            {f"a{a}": v for a, v in zip(*pair, strict=True)}
            for pair in zip(attributes.tolist(), values.tolist(), strict=True)
        ]
        return [each[b].copy() for b in base]
