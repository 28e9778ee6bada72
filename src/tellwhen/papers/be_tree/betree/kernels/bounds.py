"""The kernel that finds the bounds of predicates in spaces of their domains (BE-Tree, Table 1)."""

from __future__ import annotations

from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.kernels.jit import kernel
from tellwhen.kernels.spaces import find_space


@kernel
def find_bounds(cut_start, cuts, predicates, first, bounds):
    """Fill the bounds of the predicates from `first` on: the spaces of their least and of their greatest value."""
    for p in range(first, predicates.domain.size):
        domain, begin, end = predicates.domain[p], predicates.start[p], predicates.start[p + 1]
        low, high = predicates.low[begin], predicates.high[end - 1]
        bounds.low[p] = find_space(cut_start, cuts, domain, low)
        bounds.high[p] = find_space(cut_start, cuts, domain, high)
        # Space s begins at cuts[s - domain - 1], unless it is the first of its domain. It ends before cuts[s - domain],
        # unless it is the last.
        cut = bounds.low[p] - domain - 1
        begins = low == LOWEST or (cut >= cut_start[domain] and cuts[cut] == low)
        cut = bounds.high[p] - domain
        ends = high == HIGHEST or (cut < cut_start[domain + 1] and cuts[cut] == high + 1)
        bounds.is_exact[p] = end - begin == 1 and begins and ends
