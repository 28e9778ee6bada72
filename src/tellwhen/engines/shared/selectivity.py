"""The selectivity of domains and predicates, by which engines choose pivots and access predicates.

It is computed from the profile of the events or, without a profile, guessed from the subscriptions.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.batches import Marginals
from tellwhen.engines.base import Source
from tellwhen.engines.shared.kernels.selectivity import sum_weights_inside
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST, Predicates

EQUAL, ONE_OF, BETWEEN, ONE_SIDED, NONE_OF, NOT_EQUAL, ANY = range(7)
"""Operators by the form of their intervals, the most selective first (PS-Tree, section 3.3)."""

UNIT = 1 << 40
"""Shares are summed as integer multiples of 2**-40, since rounding errors would tell equal predicates apart."""


def estimate_frequencies(source: Source, predicate: I32) -> F64:
    """Estimate by domain the share of the events that carry it (OpIndex, section 4.1).

    `predicate` has the predicates of all conjunctions, with repetition. Without a profile, a domain in few predicates
    is assumed to be in few events.
    """
    snapshot, typical = source.snapshot(), source.typical()
    if typical.has_sample:
        return typical.marginals(snapshot.domains).carried
    asked = snapshot.predicates.domain[predicate]
    return np.bincount(asked, minlength=snapshot.domains) / max(1, len(predicate))


def rank_predicates(source: Source, predicate: I32) -> I32:
    """Return by predicate its rank by selectivity, the most selective first.

    The fewer events satisfy a predicate, the more selective it is. Without a profile, and among equals, the operator
    decides, then the width of the intervals, then the rarity of the domain.
    """
    snapshot, typical = source.snapshot(), source.typical()
    predicates = snapshot.predicates
    width = (predicates.high.astype(np.float64) - predicates.low) / 2
    owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
    keys = [
        estimate_frequencies(source, predicate)[predicates.domain],
        np.bincount(owner, width, len(predicates.domain)),
        classify_operators(predicates),
    ]
    if typical.has_sample:
        keys.append(sum_satisfying_shares(predicates, typical.marginals(snapshot.domains)))
    rank = np.empty(len(predicates.domain), dtype=np.int32)
    rank[np.lexsort(keys)] = np.arange(len(rank))
    return rank


def sum_satisfying_shares(predicates: Predicates, marginals: Marginals) -> I64:
    """Return by predicate the share of the events with a value inside its intervals, times UNIT."""
    _, start, point, share = marginals
    upto = np.concatenate([[0], np.cumsum(np.rint(share * UNIT).astype(np.int64))])
    return sum_weights_inside(predicates, start, point, upto)


def classify_operators(predicates: Predicates) -> I64:
    """Return by predicate its operator, or the operator with the most similar intervals."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    single = count_points(predicates)
    bounded = (low[start[:-1]] != LOWEST).astype(np.int64) + (high[start[1:] - 1] != HIGHEST)
    both_open = np.select([many == 1, many == 2], [ANY, NOT_EQUAL], NONE_OF)
    return np.select(
        [single == 1, single > 1, bounded == 2, bounded == 1], [EQUAL, ONE_OF, BETWEEN, ONE_SIDED], both_open
    )


def count_points(predicates: Predicates) -> I64:
    """Return by predicate the number of its values if it is a set of single values, else 0."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    return np.where(np.bincount(owner[low == high], minlength=len(many)) == many, many, 0)


def find_least(score: I64, start: I64) -> I64:
    """Return by conjunction the index of its least score, the first of equals; -1 without predicates."""
    index = np.full(len(start) - 1, -1, dtype=np.int64)
    nonempty = np.flatnonzero(np.diff(start))
    if len(nonempty):
        index[nonempty] = np.minimum.reduceat(score << 36 | np.arange(len(score)), start[nonempty]) & ((1 << 36) - 1)
    return index


def weigh_domains(source: Source, predicate: I32) -> F64:
    """Return by domain a weight for choosing pivots, lightest first: the share of the events that carry the domain.

    Presence domains occur in every event, so they are the last resort and weigh 2.
    """
    is_presence = source.is_presence()[: source.snapshot().domains]
    return np.where(is_presence, 2.0, estimate_frequencies(source, predicate))


GUESSED = np.array([0.01, 0.03, 0.1, 0.5, 0.9, 0.95, 1.0])
"""By operator: the assumed share of the values that satisfy a predicate, without a profile."""


def estimate_chances(predicates: Predicates, marginals: Marginals | None) -> F64:
    """Return by predicate the share of the events that satisfy it, or a guess without marginals."""
    if marginals is None:
        return GUESSED[classify_operators(predicates)]
    # An event with several values inside counts several times.
    return np.minimum(1.0, sum_satisfying_shares(predicates, marginals) / UNIT)
