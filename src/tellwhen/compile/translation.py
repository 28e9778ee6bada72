"""Translation of predicates from the domain numbers and labels of one store to those of another.

Subscriptions that were compiled separately have different domain numbers and labels. Their predicates are translated to
one set of shared attributes, so that an event is encoded once for all of them.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes
from tellwhen.compile.dictionary import LabelMoves
from tellwhen.kernels.arrays import Predicates


def translate_predicates(literals: Predicates, own: Attributes, shared: Attributes) -> Predicates:
    """Return the literals with the domain numbers and labels of the shared attributes.

    Parameters
    ----------
    literals
        Predicates with the domain numbers and labels of `own`.
    own
        The attributes with which the literals were compiled.
    shared
        Attributes that have all constants of `own`, and get the domains that they lack.
    """
    domains = np.array([shared.get_or_create_by_key(key) for key in own.list_domain_keys()], dtype=np.int32)
    low, high = literals.low.copy(), literals.high.copy()
    owner = np.repeat(literals.domain, np.diff(literals.start))
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(len(own.domains) + 1))
    for domain, (_, kind) in enumerate(own.domains):
        mine = order[begin[domain] : begin[domain + 1]]
        if kind in LABELLED_KINDS and len(mine):
            before, after = own.get_dictionary(domain), shared.get_dictionary(int(domains[domain]))
            if before.keys:
                moved = LabelMoves(before.get_labels(before.keys), after.get_labels(before.keys))
                low[mine], high[mine] = moved.map_points(low[mine]), moved.map_points(high[mine])
    return Predicates(domains[literals.domain], literals.every, literals.start, low, high)
