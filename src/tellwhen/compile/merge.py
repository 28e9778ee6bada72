"""Attributes of several stores -> one: what is a line, or a label, of one of them in the numbers of another?

Subscriptions compiled in many places each have lines and labels of their own. All are brought under one set of
attributes, so that an event is read once for all of them.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.attributes import ROLES, Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.kernels.arrays import Predicates


def translated(literals: Predicates, own: Attributes, shared: Attributes) -> Predicates:
    """The literals in the numbers of the shared attributes, which have all their lines and constants."""
    lines = np.array([shared.add(key) for key in own.line_keys()], dtype=np.int32)
    low, high = literals.low.copy(), literals.high.copy()
    owner = np.repeat(literals.line, np.diff(literals.start))
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(len(own.lines) + 1))
    for line, (_, kind) in enumerate(own.lines):
        mine = order[begin[line] : begin[line + 1]]
        if kind in ROLES and len(mine):
            keys = own.dictionary(line).keys
            if keys:
                moved = Moved(own.dictionary(line).labels_of(keys), shared.dictionary(int(lines[line])).labels_of(keys))
                low[mine], high[mine] = moved(low[mine]), moved(high[mine])
    return Predicates(lines[literals.line], literals.every, literals.start, low, high)
