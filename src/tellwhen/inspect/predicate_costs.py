"""Predicates by the work that they cause: many subscriptions contain a costly one, and many events satisfy it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.extract import list_tested_predicates
from tellwhen.compile.formatting import PredicateFormatter
from tellwhen.engines.shared.selectivity import estimate_chances
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.shard import Shard

SHARE_DIGITS = 3
"""Digits of `PredicateCost.events`: the share is an estimate."""


class PredicateCost(NamedTuple):
    """A predicate with the number of subscriptions and events that it concerns.

    Attributes
    ----------
    predicate : str
        The predicate as text.
    subscriptions : int
        How many times subscriptions contain the predicate.
    events : float or None
        The share of the profile's events that satisfy the predicate; None without events in the profile.
    """

    predicate: str
    subscriptions: int
    events: float | None


def rank_predicates(shard: Shard, limit: int) -> list[PredicateCost]:
    """Return up to `limit` predicates of a shard, the costliest first.

    The cost is the number of subscriptions times the share of the events. Without a profile the share is guessed from
    the operator.
    """
    if not isinstance(limit, int) or limit < 0:
        raise ArgumentError(f"limit must be a whole number of at least 0, not {abbreviate(limit)}")
    snapshot, typical = shard.store.snapshot(), shard.store.typical()
    predicates = snapshot.predicates
    subscriptions = np.bincount(
        list_tested_predicates(snapshot, shard.store.find_alive()), minlength=len(predicates.domain)
    )
    marginals = typical.marginals(snapshot.domains) if typical.has_sample else None
    share = estimate_chances(predicates, marginals)
    costliest = np.argsort(-(subscriptions * share), kind="stable")[:limit].tolist()
    formatter = PredicateFormatter(shard.store.attributes)
    return [
        PredicateCost(
            formatter.format_predicate(predicates, number),
            int(subscriptions[number]),
            None if marginals is None else round(float(share[number]), SHARE_DIGITS),
        )
        for number in costliest
        if subscriptions[number]
    ]
