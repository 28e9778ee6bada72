"""Which scored intervals are in the pictures of ranked structures? Ads, each for an age from one to another, with its
bid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.papers.ranked import ScoredIntervals


class Ad(NamedTuple):
    """An ad for people from one age to another."""

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
"""The event of the pictures, and how many of the best ads it asks for."""

FAN_OUT = 3


def example(structure: type[ScoredIntervals]) -> ScoredIntervals:
    """The ads in a structure, in small nodes."""
    _, low, high, bid = zip(*ADS, strict=True)
    return structure(np.array(low), np.array(high), np.array(bid), fan_out=FAN_OUT)


def best(tree: ScoredIntervals) -> list[int]:
    """The answer that a picture must find."""
    found: list[int] = tree.top_k(np.array([AGE]), K).number.tolist()
    return found
