"""How do predicates compiled in one store become predicates of another? By its numbers of domains, and its labels.

Subscriptions that were compiled apart have domains and labels of their own. All are brought under one set of shared
attributes, so that an event is encoded once for all of them.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.kernels.arrays import Predicates


def translated(literals: Predicates, own: Attributes, shared: Attributes) -> Predicates:
    """The literals in terms of the shared attributes, which have all their domains and constants."""
    domains = np.array([shared.add(key) for key in own.domain_keys()], dtype=np.int32)
    low, high = literals.low.copy(), literals.high.copy()
    owner = np.repeat(literals.domain, np.diff(literals.start))
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(len(own.domains) + 1))
    for domain, (_, kind) in enumerate(own.domains):
        mine = order[begin[domain] : begin[domain + 1]]
        if kind in LABELLED_KINDS and len(mine):
            before, after = own.dictionary(domain), shared.dictionary(int(domains[domain]))
            if before.keys:
                moved = Moved(before.labels_of(before.keys), after.labels_of(before.keys))
                low[mine], high[mine] = moved(low[mine]), moved(high[mine])
    return Predicates(domains[literals.domain], literals.every, literals.start, low, high)
