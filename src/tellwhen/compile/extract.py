"""Extraction of subscriptions from a store, with only the predicates that they use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import CONJUNCTION, I32, I64, U8, Predicates, Snapshot


class Extract(NamedTuple):
    """Some subscriptions of a store. Their predicates, the literals, are numbered from 0."""

    literals: Predicates
    kind: U8
    start: I64
    code: I32
    registers: int

    def list_tested_predicates(self) -> I32:
        """Return the literals of all tests in the order of the code; a literal that is tested twice comes twice."""
        return self.code[mask_predicate_words(self.kind, self.start, self.code)]


def extract(snapshot: Snapshot, slots: I32) -> Extract:
    """Extract the subscriptions of these slots."""
    predicates, subscriptions = snapshot.predicates, snapshot.subscriptions
    start, words = gather(subscriptions.start, slots)
    kind, code = subscriptions.kind[slots], subscriptions.code[words]
    is_predicate = mask_predicate_words(kind, start, code)
    used, code[is_predicate] = _renumber(code[is_predicate], len(predicates.domain))
    interval_start, intervals = gather(predicates.start, used)
    literals = Predicates(
        predicates.domain[used],
        predicates.every[used],
        interval_start,
        predicates.low[intervals],
        predicates.high[intervals],
    )
    return Extract(literals, kind, start, code, snapshot.registers)


def list_tested_predicates(snapshot: Snapshot, slots: I32) -> I32:
    """Return the predicates of all tests of some slots, in the order of the code, by their numbers in the store."""
    subscriptions = snapshot.subscriptions
    start, words = gather(subscriptions.start, slots)
    code = subscriptions.code[words]
    return code[mask_predicate_words(subscriptions.kind[slots], start, code)]


def find_attribute_names(snapshot: Snapshot, slots: I32, attributes: Attributes) -> set[str]:
    """Return the names of the attributes that the subscriptions of some slots test."""
    domains = np.unique(snapshot.predicates.domain[np.unique(list_tested_predicates(snapshot, slots))])
    return {attributes.domains[domain].attribute for domain in domains.tolist()}


def mask_predicate_words(kind: U8, start: I64, code: I32) -> NDArray[np.bool_]:
    """Return a mask of the words of code that are predicate numbers.

    These are all words of a conjunction, and in a program the first of the three words of each test.

    Parameters
    ----------
    kind
        The kind of each subscription.
    start
        Subscription i has the words code[start[i]:start[i + 1]].
    code
        The words of all subscriptions.
    """
    within = np.arange(len(code)) - np.repeat(start[:-1], np.diff(start))
    return (np.repeat(kind, np.diff(start)) == CONJUNCTION) | ((within % 3 == 0) & (code >= 0))


def _renumber(predicate: I32, predicate_count: int) -> tuple[I32, I32]:
    """Return the distinct predicates, ascending, and the position of each given one among them.

    The store has `predicate_count` predicates.
    """
    if predicate_count > 4 * len(predicate):
        used, inverse = np.unique(predicate, return_inverse=True)
        return used, inverse.astype(np.int32)
    is_used = np.zeros(predicate_count, dtype=np.bool_)
    is_used[predicate] = True
    number: I32 = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(is_used).astype(np.int32), number[predicate]
