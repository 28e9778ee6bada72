"""Some subscriptions of a store, by themselves: with only the predicates that they use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import CONJUNCTION, I32, I64, U8, Predicates, Snapshot


class Extract(NamedTuple):
    """Some subscriptions of a store, with their predicates numbered from 0."""

    literals: Predicates
    kind: U8
    start: I64
    code: I32
    registers: int

    def tested(self) -> I32:
        """The predicates of all tests, one after the other."""
        return self.code[names_predicate(self.kind, self.start, self.code)]


def extract(snapshot: Snapshot, slots: I32) -> Extract:
    """The subscriptions of these slots."""
    predicates, subscriptions = snapshot.predicates, snapshot.subscriptions
    start, which = gather(subscriptions.start, slots)
    kind, code = subscriptions.kind[slots], subscriptions.code[which]
    names = names_predicate(kind, start, code)
    used, code[names] = _numbered(code[names], len(predicates.domain))
    interval, which = gather(predicates.start, used)
    literals = Predicates(
        predicates.domain[used], predicates.every[used], interval, predicates.low[which], predicates.high[which]
    )
    return Extract(literals, kind, start, code, snapshot.registers)


def tested(snapshot: Snapshot, slots: I32) -> I32:
    """The predicates of all tests of some slots, one after the other, numbered as in the store."""
    subscriptions = snapshot.subscriptions
    start, which = gather(subscriptions.start, slots)
    code = subscriptions.code[which]
    return code[names_predicate(subscriptions.kind[slots], start, code)]


def asked_names(snapshot: Snapshot, slots: I32, attributes: Attributes) -> set[str]:
    """The names of the attributes that some slots ask for."""
    domains = np.unique(snapshot.predicates.domain[np.unique(tested(snapshot, slots))])
    return {attributes.domains[domain].attribute for domain in domains.tolist()}


def names_predicate(kind: U8, start: I64, code: I32) -> NDArray[np.bool_]:
    """By word of code: all of a conjunction's, and the first of the three words of a test."""
    within = np.arange(len(code)) - np.repeat(start[:-1], np.diff(start))
    return (np.repeat(kind, np.diff(start)) == CONJUNCTION) | ((within % 3 == 0) & (code >= 0))


def _numbered(predicate: I32, known: int) -> tuple[I32, I32]:
    """The different predicates, ascending, and the number of each among them; `known` is how many the store has."""
    if known > 4 * len(predicate):
        used, inverse = np.unique(predicate, return_inverse=True)
        return used, inverse.astype(np.int32)
    is_used = np.zeros(known, dtype=np.bool_)
    is_used[predicate] = True
    number: I32 = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(is_used).astype(np.int32), number[predicate]
