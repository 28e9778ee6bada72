"""Guess typical events from subscriptions, for an index without a profile.

A guessed event has the attributes of a few subscriptions. It has the values of predicates such as `x = 5`; for ranges,
all values between their ends are equally likely. Attributes are independent of each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.extract import Extract, extract, mask_predicate_words
from tellwhen.engines.cover.postings import ABSENT
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, Predicates, Snapshot

SAMPLED_SUBSCRIPTIONS = 4_096
"""Subscriptions that are sampled, at most."""

SUBSCRIPTIONS_PER_EVENT = 3
"""Subscriptions whose attributes one event combines."""


def guess_events(snapshot: Snapshot, slots: I32, is_presence: NDArray[np.bool_], count: int) -> Events:
    """Guess `count` events that suit these subscriptions; the result is the same every time."""
    rng = np.random.default_rng(0)
    sample = extract(snapshot, np.sort(rng.choice(slots, min(SAMPLED_SUBSCRIPTIONS, len(slots)), replace=False)))
    predicate, owner = sample.list_tested_predicates(), _find_test_owners(sample)
    order = np.argsort(sample.literals.domain[predicate], kind="stable")
    predicate, owner = predicate[order], owner[order]
    domain = sample.literals.domain[predicate]

    has = np.zeros((count, snapshot.domains), dtype=np.bool_)
    for mine in has:
        mine[domain[np.isin(owner, rng.integers(len(sample.kind), size=SUBSCRIPTIONS_PER_EVENT))]] = True
    has[:, np.flatnonzero(is_presence[: snapshot.domains])] = True  # every event has a point on every presence domain
    event, domain_of = np.nonzero(has)
    point = _draw_points(sample.literals, predicate, domain, domain_of, rng)
    is_kept = point != HIGHEST
    event, domain_of, point = event[is_kept], domain_of[is_kept], point[is_kept]
    start = np.searchsorted(event, np.arange(count + 1))
    return Events(start, domain_of.astype(np.int32), point, point.copy(), np.ones(count, dtype=np.uint8))


def _find_test_owners(sample: Extract) -> I64:
    """Return for every test of a predicate the subscription that it belongs to, as its position in the sample."""
    owner = np.repeat(np.arange(len(sample.kind)), np.diff(sample.start))
    return owner[mask_predicate_words(sample.kind, sample.start, sample.code)]


def _draw_points(
    literals: Predicates, predicate: I32, domain: I32, target_domains: I64, rng: np.random.Generator
) -> I64:
    """Draw a point for every target domain, like those in its predicates; HIGHEST for an unknown domain.

    `predicate` is sorted by `domain`, its domain.
    """
    first, end = np.searchsorted(domain, target_domains), np.searchsorted(domain, target_domains, side="right")
    point = np.full(len(target_domains), ABSENT, dtype=np.int64)
    asked = np.flatnonzero(end > first)
    chosen = predicate[rng.integers(first[asked], end[asked])]
    interval = rng.integers(literals.start[chosen], literals.start[chosen + 1])
    low, high = _find_ends(literals, int(target_domains.max(initial=-1)) + 1)
    low, high = low[target_domains[asked]], high[target_domains[asked]]
    between = rng.integers(np.minimum(low, high), high, endpoint=True) & ~1  # integers are even points
    is_point = literals.low[interval] == literals.high[interval]
    point[asked] = np.where(is_point, literals.low[interval], np.where(low <= high, between, HIGHEST))
    return point


def _find_ends(literals: Predicates, domains: int) -> tuple[I64, I64]:
    """Return by domain the lowest and the highest end of an interval; HIGHEST and LOWEST without intervals."""
    domain = np.repeat(literals.domain, np.diff(literals.start))
    least, most = np.full(domains, HIGHEST), np.full(domains, LOWEST)
    for ends in literals.low, literals.high:
        is_end = (ends != LOWEST) & (ends != HIGHEST) & (domain < domains)
        np.minimum.at(least, domain[is_end], ends[is_end])
        np.maximum.at(most, domain[is_end], ends[is_end])
    return least, most
