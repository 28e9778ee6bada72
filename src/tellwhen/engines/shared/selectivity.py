"""How selective are domains and predicates? By this, engines choose pivots and access predicates.

From the typical events of the profile, where there are some. Else it is guessed from the subscriptions.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.base import Source
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST, Events, Predicates

EQUAL, ONE_OF, BETWEEN, ONE_SIDED, NONE_OF, NOT_EQUAL, ANY = range(7)
"""Operators, as their intervals show them, the most selective first (PS-Tree, section 3.3)."""


def frequency(source: Source, predicate: I32) -> F64:
    """By domain: the share of events that carry it (OpIndex, section 4.1).

    Without typical events, a domain that few predicates ask for is taken for one that few events carry. `predicate` has
    the predicates of all conjunctions, with repetition.
    """
    snapshot, (events, weight) = source.snapshot(), source.typical()
    if len(weight):
        owner, is_first = _entries(events)
        known = is_first & (events.domain < snapshot.domains)
        return np.bincount(events.domain[known], weight[owner[known]], snapshot.domains) / weight.sum()
    asked = snapshot.predicates.domain[predicate]
    return np.bincount(asked, minlength=snapshot.domains) / max(1, len(predicate))


def _entries(events: Events) -> tuple[I64, np.ndarray]:
    """By entry: its event, and whether it is the first of its domain there."""
    owner = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))
    is_first = np.ones(len(owner), dtype=bool)
    is_first[1:] = (owner[1:] != owner[:-1]) | (events.domain[1:] != events.domain[:-1])
    return owner, is_first


def ranking(source: Source, predicate: I32) -> I32:
    """By predicate: its rank by selectivity, the most selective first.

    The fewer of the typical events satisfy a predicate, the more selective it is. Without such events, and among equals,
    the operator decides, then the width of its intervals, then how rare its domain is.
    """
    predicates = source.snapshot().predicates
    width = (predicates.high.astype(np.float64) - predicates.low) / 2
    owner = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
    keys = [
        frequency(source, predicate)[predicates.domain],
        np.bincount(owner, width, len(predicates.domain)),
        operators(predicates),
    ]
    if len(source.typical().weight):
        keys.append(satisfying(source))
    rank = np.empty(len(predicates.domain), dtype=np.int32)
    rank[np.lexsort(keys)] = np.arange(len(rank))
    return rank


def satisfying(source: Source) -> F64:
    """By predicate: the weight of the typical events' values that lie in its intervals."""
    predicates, (events, weight) = source.snapshot().predicates, source.typical()
    owner, _ = _entries(events)
    domain = np.repeat(predicates.domain, np.diff(predicates.start))
    # Ranks of values and of interval ends in one order by domain and point; a sum of weights up to each rank.
    order = np.lexsort((events.low, events.domain))
    upto = np.concatenate([[0.0], np.cumsum(weight[owner[order]])])
    points, domains = events.low[order], events.domain[order]
    begin = _search(domains, points, domain, predicates.low, above=False)
    end = _search(domains, points, domain, predicates.high, above=True)
    of = np.repeat(np.arange(len(predicates.domain)), np.diff(predicates.start))
    return np.bincount(of, upto[end] - upto[begin], len(predicates.domain))


def _search(domains: I32, points: I64, domain: I32, point: I64, *, above: bool) -> I64:
    """How many of the sorted (domains, points) lie before each (domain, point), or not above it."""
    place = np.full(len(points), 1)
    ends = np.full(len(point), 2 if above else 0)
    order = np.lexsort((np.append(place, ends), np.append(points, point), np.append(domains, domain)))
    is_value = order < len(points)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(is_value) - is_value
    return rank[len(points) :]


def operators(predicates: Predicates) -> I64:
    """By predicate: the operator above that it is, or that it is most like."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    single = points(predicates)
    bounded = (low[start[:-1]] != LOWEST).astype(np.int64) + (high[start[1:] - 1] != HIGHEST)
    both_open = np.select([many == 1, many == 2], [ANY, NOT_EQUAL], NONE_OF)
    return np.select(
        [single == 1, single > 1, bounded == 2, bounded == 1], [EQUAL, ONE_OF, BETWEEN, ONE_SIDED], both_open
    )


def points(predicates: Predicates) -> I64:
    """By predicate: the number of its values if it is a set of single values; else 0."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    return np.where(np.bincount(owner[low == high], minlength=len(many)) == many, many, 0)


def least(score: I64, start: I64) -> I64:
    """By conjunction: the index of its least score, the first of equals; -1 for a conjunction without predicates."""
    found = np.full(len(start) - 1, -1, dtype=np.int64)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        found[some] = np.minimum.reduceat(score << 36 | np.arange(len(score)), start[some]) & ((1 << 36) - 1)
    return found


def rarity(source: Source, predicate: I32) -> F64:
    """By domain: a weight by which pivots are chosen, the least first: the share of events that carry the domain.

    Presence domains occur in every event, so they are the last resort and weigh 2.
    """
    is_presence = source.is_presence()[: source.snapshot().domains]
    return np.where(is_presence, 2.0, frequency(source, predicate))
