"""Attributes of several stores -> one: what is a domain, or a label, of one of them in the numbers of another?

Subscriptions compiled in many places each have domains and labels of their own. All are brought under one set of
attributes, so that an event is read once for all of them.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.attributes import ROLES, Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.kernels.arrays import Predicates


def translated(literals: Predicates, own: Attributes, shared: Attributes) -> Predicates:
    """The literals in the numbers of the shared attributes, which have all their domains and constants."""
    domains = np.array([shared.add(key) for key in own.domain_keys()], dtype=np.int32)
    low, high = literals.low.copy(), literals.high.copy()
    owner = np.repeat(literals.domain, np.diff(literals.start))
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(len(own.domains) + 1))
    for domain, (_, kind) in enumerate(own.domains):
        mine = order[begin[domain] : begin[domain + 1]]
        if kind in ROLES and len(mine):
            keys = own.dictionary(domain).keys
            if keys:
                moved = Moved(
                    own.dictionary(domain).labels_of(keys), shared.dictionary(int(domains[domain])).labels_of(keys)
                )
                low[mine], high[mine] = moved(low[mine]), moved(high[mine])
    return Predicates(domains[literals.domain], literals.every, literals.start, low, high)
