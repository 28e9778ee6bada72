"""How do hand-written loops and queries read BEGen? A predicate is a set of values, an event a row of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I64, U64
from tellwhen.workloads import BLOCK, BEGen
from tellwhen.workloads.base import concatenate_blocks
from tellwhen.workloads.conjunctions import IN, Conjunctions

CARDINALITY = 48


class Plain(NamedTuple):
    """Bit v of `mask` is set if the value v satisfies the predicate. All predicates but IN are also low..high."""

    work: BEGen
    made: Conjunctions
    mask: U64
    low: I64
    high: I64
    events: np.ndarray  # int32[events, attributes], -1 for a missing attribute

    @property
    def size(self) -> int:
        return len(self.made.start) - 1

    @property
    def is_set(self) -> np.ndarray:
        return self.made.operator == IN


def make(subscriptions: int, events: int, attributes: int, present: int, share: float) -> Plain:
    """Subscriptions of 7 predicates on average; an event has `present` of the attributes, and matches a `share`."""
    work = BEGen(dimensions=attributes, event_size=present, match=share, cardinality=CARDINALITY)
    made = concatenate_blocks(
        [work.generate_conjunctions(block) for block in range(-(-subscriptions // BLOCK))], subscriptions
    )
    interval = made.to_predicates()
    # Value v is the point 2v.
    low = (np.maximum(interval.low, 0) + 1) // 2
    high = np.minimum(CARDINALITY - 1, interval.high // 2)
    one = np.uint64(1)
    wide = np.where(high >= low, high - low + 1, 0).astype(np.uint64)
    bits = ((one << wide) - one) << np.minimum(low, CARDINALITY).astype(np.uint64)
    first, last = interval.start[:-1], interval.start[1:] - 1
    mask = np.bitwise_or.reduceat(bits, first)
    return Plain(work, made, mask, low[first], high[last], _table(work, events))


def _table(work: BEGen, count: int) -> np.ndarray:
    table = np.full((count, work.dimensions), -1, dtype=np.int32)
    for block in range(-(-count // BLOCK)):
        start, attribute, value = work.generate_pairs(block)
        owner = block * BLOCK + np.repeat(np.arange(BLOCK), np.diff(start))
        mine = owner < count
        table[owner[mine], attribute[mine]] = value[mine]
    return table
