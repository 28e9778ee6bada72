"""BEGen in the form that hand-written loops and queries read: predicates as sets of values, events as rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I64, U64
from tellwhen.workloads import BLOCK, BEGen
from tellwhen.workloads.base import concatenate_blocks
from tellwhen.workloads.conjunctions import IN, Conjunctions

CARDINALITY = 48


class PlainWorkload(NamedTuple):
    """Conjunctions and events as plain arrays.

    Bit v of `mask` is set if the value v satisfies the predicate. A predicate other than IN is also the interval
    low..high.
    """

    work: BEGen
    conjunctions: Conjunctions
    mask: U64
    low: I64
    high: I64
    events: np.ndarray  # int32[events, attributes], -1 for a missing attribute

    @property
    def size(self) -> int:
        return len(self.conjunctions.start) - 1

    @property
    def is_set(self) -> np.ndarray:
        return self.conjunctions.operator == IN


def make(subscriptions: int, events: int, attributes: int, present: int, share: float) -> PlainWorkload:
    """Generate subscriptions of 7 predicates on average, and events that match a `share` of them.

    An event has `present` of the attributes.
    """
    work = BEGen(dimensions=attributes, event_size=present, match=share, cardinality=CARDINALITY)
    conjunctions = concatenate_blocks(
        [work.generate_conjunctions(block) for block in range(-(-subscriptions // BLOCK))], subscriptions
    )
    interval = conjunctions.to_predicates()
    # Value v is the point 2v.
    low = (np.maximum(interval.low, 0) + 1) // 2
    high = np.minimum(CARDINALITY - 1, interval.high // 2)
    one = np.uint64(1)
    width = np.where(high >= low, high - low + 1, 0).astype(np.uint64)
    bits = ((one << width) - one) << np.minimum(low, CARDINALITY).astype(np.uint64)
    first, last = interval.start[:-1], interval.start[1:] - 1
    mask = np.bitwise_or.reduceat(bits, first)
    return PlainWorkload(work, conjunctions, mask, low[first], high[last], _draw_events(work, events))


def _draw_events(work: BEGen, count: int) -> np.ndarray:
    table = np.full((count, work.dimensions), -1, dtype=np.int32)
    for block in range(-(-count // BLOCK)):
        start, attribute, value = work.generate_pairs(block)
        owner = block * BLOCK + np.repeat(np.arange(BLOCK), np.diff(start))
        is_needed = owner < count
        table[owner[is_needed], attribute[is_needed]] = value[is_needed]
    return table
