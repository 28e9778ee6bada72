"""Predicate spaces: stretches of a domain whose values satisfy the same predicates (PS-Tree, section 4).

The ends of intervals cut a domain into spaces, so every interval is a run of whole spaces. The spaces of all domains
are numbered consecutively, in the order of the domains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import number_keys
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates


class Spaces(NamedTuple):
    """The cuts of all domains. A cut is the first point of a space: where an interval begins, or just behind its end.

    Domain d with c cuts has c + 1 spaces, numbered from cut_start[d] + d on.
    """

    cut_start: I64  # |0|3|3|    cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64
    first: I64  # by interval: the first space that it covers
    last: I64  # by interval: the last space that it covers; last < first if the predicate is not in use

    @property
    def total(self) -> int:
        """The number of spaces of all domains."""
        return len(self.cuts) + len(self.cut_start) - 1


def cut_spaces(predicates: Predicates, used: I32, domains: int) -> Spaces:
    """Cut all domains at the ends of the predicates in use."""
    begin, which = gather(predicates.start, used)
    domain = np.repeat(predicates.domain[used], np.diff(begin)).astype(np.int64)
    low, high = predicates.low[which], predicates.high[which]
    begins, ends = low != LOWEST, high != HIGHEST
    both = np.concatenate([domain[begins], domain[ends]])
    cut_start, cuts, number = number_keys(both, np.concatenate([low[begins], high[ends] + 1]), domains)
    first, last = np.ones(len(predicates.low), dtype=np.int64), np.zeros(len(predicates.low), dtype=np.int64)
    first[which], last[which] = cut_start[domain] + domain, cut_start[domain + 1] + domain
    first[which[begins]] = domain[begins] + number[: begins.sum()] + 1
    last[which[ends]] = domain[ends] + number[begins.sum() :]
    return Spaces(cut_start, cuts, first, last)


def count_spaces(spaces: Spaces, predicates: Predicates) -> I64:
    """Return by predicate the number of spaces that it covers."""
    spaces_before = np.concatenate([[0], np.cumsum(spaces.last - spaces.first + 1)])
    return spaces_before[predicates.start[1:]] - spaces_before[predicates.start[:-1]]


def count_coverage(spaces: Spaces, predicates: Predicates, times: I64) -> I64:
    """Return by space the number of predicates that cover it, where predicate p counts times[p]."""
    each = np.repeat(times, np.diff(predicates.start))
    steps = np.bincount(spaces.first, each, spaces.total + 1) - np.bincount(spaces.last + 1, each, spaces.total + 1)
    return np.cumsum(steps)[: spaces.total].astype(np.int64)
