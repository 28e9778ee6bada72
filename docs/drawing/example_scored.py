"""The scored intervals in the pictures of ranked structures: ads, each with a range of ages and a bid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.papers.ranked import ScoredIntervals


class Ad(NamedTuple):
    """An ad for people from age `low` to age `high`; `bid` is its score."""

    name: str
    low: int
    high: int
    bid: float

    def __str__(self) -> str:
        return f"{self.name} {self.low}-{self.high}, {self.bid}"


ADS = [
    Ad("toys", 3, 12, 2.0),
    Ad("games", 10, 25, 4.5),
    Ad("school", 6, 18, 1.0),
    Ad("phone", 16, 40, 6.0),
    Ad("flat", 20, 35, 5.0),
    Ad("loan", 25, 60, 7.5),
    Ad("gym", 18, 50, 3.0),
    Ad("car", 30, 70, 6.5),
    Ad("garden", 40, 80, 2.5),
    Ad("cruise", 55, 90, 8.0),
    Ad("pills", 60, 99, 4.0),
    Ad("news", 18, 99, 1.5),
]

AGE, K = 33, 3
"""The event in the pictures is an age. Its K best ads are wanted."""

FAN_OUT = 3


def build_example(structure: type[ScoredIntervals]) -> ScoredIntervals:
    """Return a ranked structure of the ads, with small nodes."""
    _, low, high, bid = zip(*ADS, strict=True)
    return structure(np.array(low), np.array(high), np.array(bid), fan_out=FAN_OUT)


def find_best_ads(tree: ScoredIntervals) -> list[int]:
    """Return the positions in `ADS` of the K best ads for `AGE`, which a picture must show."""
    numbers: list[int] = tree.top_k(np.array([AGE]), K).number.tolist()
    return numbers
