"""Boxes with scores in a space of few dimensions, and points clustered in regions (Ranked pub/sub, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws, compute_zipf_ranks, compute_zipf_weights


@dataclass(frozen=True)
class Ranked(Workload):
    """Generator with the parameters of Table 1 of Scalable Ranked Publish/Subscribe (VLDB 2008).

    A region is a box of cells. The distance of its points from its centre is Zipf, in each dimension independently. The
    centre of a subscription is such a point. Its half length in each dimension is Zipf over `cells` lengths, and the
    score of the dimension is 1 - half length: narrow intervals score higher.
    """

    dimensions: int = 1
    regions: int = 10
    cells: int = 100
    skew_across: float = 0.0
    skew_within: float = 1.0
    skew_length: float = 0.75
    seed: int = 1

    def __post_init__(self) -> None:
        if self.dimensions < 1 or self.regions < 1 or self.cells < 2:
            raise ValueError("dimensions and regions are at least 1, and cells at least 2")

    @cached_property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.dimensions)]

    @cached_property
    def _regions(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and half widths of regions by dimension, in cells. A region is 1/20 of the space, as in Table 1."""
        draws = Draws(self.seed, "regions")
        # The product of the sides is the volume: their exponents are random and add up to 1.
        parts = draws.uniform(self.regions, self.dimensions) + 0.5
        side = 0.05 ** (parts / parts.sum(axis=1)[:, None])
        half = np.maximum(0.5, side * self.cells / 2)
        middle = half + draws.uniform(self.regions, self.dimensions) * (self.cells - 2 * half)
        return middle, half

    def draw_points(self, draws: Draws, count: int) -> np.ndarray:
        """Draw points in the unit cube [0, 1)^dimensions."""
        middle, half = self._regions
        region = draws.draw_indices(compute_zipf_weights(self.regions, self.skew_across), count)
        steps = np.floor(half[region]).astype(np.int64) + 1
        far = compute_zipf_ranks(draws.uniform(count, self.dimensions), steps, self.skew_within)
        sign = np.where(draws.uniform(count, self.dimensions) < 0.5, -1, 1)
        cell = np.clip(np.floor(middle[region]) + sign * far, 0, self.cells - 1)
        return (cell + draws.uniform(count, self.dimensions)) / self.cells

    def draw_boxes(self, block: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw a block of subscriptions as lower ends, upper ends and scores, by subscription and dimension."""
        draws = Draws(self.seed, "subscriptions", block)
        middle = self.draw_points(draws, BLOCK)
        rank = compute_zipf_ranks(draws.uniform(BLOCK, self.dimensions), self.cells, self.skew_length)
        half = (rank + draws.uniform(BLOCK, self.dimensions)) / self.cells / 2
        return middle - half, middle + half, 1 - half

    def generate_subscriptions(self, block: int) -> list[str]:
        low, high, _ = self.draw_boxes(block)
        return [
            " AND ".join(f"{n} BETWEEN {a!r} AND {b!r}" for n, a, b in zip(self.names, lows, highs, strict=True))
            for lows, highs in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def sum_scores(self, block: int) -> list[float]:
        """Return the score of each subscription: the sum over its dimensions."""
        return self.draw_boxes(block)[2].sum(axis=1).tolist()

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        points = self.draw_points(Draws(self.seed, "events", block), BLOCK)
        return [dict(zip(self.names, row, strict=True)) for row in points.tolist()]
