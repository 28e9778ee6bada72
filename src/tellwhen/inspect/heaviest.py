"""Which predicates make the most work? Those that many subscriptions ask for, and many events satisfy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.extract import tested
from tellwhen.compile.wording import Wording
from tellwhen.engines.shared.selectivity import chances
from tellwhen.index.shard import Shard

DIGITS = 3
"""Of the share of the events: it is an estimate."""


class Heavy(NamedTuple):
    """A predicate, how many times subscriptions ask for it, and the share of the events that satisfy it."""

    predicate: str
    subscriptions: int
    events: float | None
    """None if there is no profile of the events."""


def heaviest(shard: Shard, count: int) -> list[Heavy]:
    """The heaviest ones first: by the number of subscriptions, times the share of the events or, without a profile, a
    guess from the operator."""
    snapshot, typical = shard.store.snapshot(), shard.store.typical()
    known = len(snapshot.predicates.domain)
    asked = np.bincount(tested(snapshot, shard.store.alive()), minlength=known)
    marginals = typical.marginals(snapshot.domains) if typical.is_known else None
    share = chances(snapshot.predicates, marginals)
    weight = asked * share
    order = np.argsort(-weight, kind="stable")[:count].tolist()
    wording = Wording(shard.store.attributes)
    return [
        Heavy(
            wording.predicate(snapshot.predicates, number),
            int(asked[number]),
            None if marginals is None else round(float(share[number]), DIGITS),
        )
        for number in order
        if asked[number]
    ]
