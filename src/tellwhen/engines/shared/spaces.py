"""Which values of a domain can no predicate tell apart? Its predicate spaces (PS-Tree, section 4).

The ends of intervals cut a domain into spaces: every interval is a run of whole spaces, and a value is as good as any
other of its space. All domains' spaces are numbered through, in the order of the domains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates


class Spaces(NamedTuple):
    """A cut is where an interval begins, or has ended. Domain L with c cuts has c + 1 spaces, from cut_start[L] + L."""

    cut_start: I64  # |0|3|3|    cuts of domain L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64
    first: I64  # by interval: its first space, and the last one
    last: I64

    @property
    def total(self) -> int:
        return len(self.cuts) + len(self.cut_start) - 1


def spaces(predicates: Predicates, used: I32, domains: int) -> Spaces:
    """The spaces that the predicates in use make. Those of others are empty runs."""
    begin, which = gather(predicates.start, used)
    domain = np.repeat(predicates.domain[used], np.diff(begin)).astype(np.int64)
    low, high = predicates.low[which], predicates.high[which]
    begins, ends = low != LOWEST, high != HIGHEST
    both = np.concatenate([domain[begins], domain[ends]])
    cut_start, cuts, place = numbered(both, np.concatenate([low[begins], high[ends] + 1]), domains)
    first, last = np.ones(len(predicates.low), dtype=np.int64), np.zeros(len(predicates.low), dtype=np.int64)
    first[which], last[which] = cut_start[domain] + domain, cut_start[domain + 1] + domain
    first[which[begins]] = domain[begins] + place[: begins.sum()] + 1
    last[which[ends]] = domain[ends] + place[begins.sum() :]
    return Spaces(cut_start, cuts, first, last)
