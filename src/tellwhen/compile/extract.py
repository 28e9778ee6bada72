"""Some subscriptions of a store, by themselves: with only the predicates that they use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import CONJUNCTION, I32, I64, U8, Predicates, Snapshot


class Extract(NamedTuple):
    """Some subscriptions of a store, with their predicates numbered from 0."""

    literals: Predicates
    kind: U8
    start: I64
    code: I32
    registers: int


def extract(snapshot: Snapshot, slots: I32) -> Extract:
    """The subscriptions of these slots."""
    predicates, subscriptions = snapshot.predicates, snapshot.subscriptions
    start, which = gather(subscriptions.start, slots)
    kind, code = subscriptions.kind[slots], subscriptions.code[which]
    # Words that name a predicate: all of a conjunction's, the first of the three words of a test.
    within = np.arange(len(code)) - np.repeat(start[:-1], np.diff(start))
    names = (np.repeat(kind, np.diff(start)) == CONJUNCTION) | ((within % 3 == 0) & (code >= 0))
    used = np.unique(code[names])
    code[names] = np.searchsorted(used, code[names])
    interval, which = gather(predicates.start, used)
    literals = Predicates(
        predicates.domain[used], predicates.every[used], interval, predicates.low[which], predicates.high[which]
    )
    return Extract(literals, kind, start, code, snapshot.registers)
