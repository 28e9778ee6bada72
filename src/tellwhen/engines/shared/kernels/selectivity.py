"""Sum the weights of the points inside the intervals of predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel
from tellwhen.kernels.search import find_first_above, find_first_at_least


@kernel
def sum_weights_inside(predicates, start, point, weight_before):
    """Sum for every predicate the weights of the points inside its intervals.

    The points of domain d are point[start[d]:start[d+1]], ascending. weight_before[i] is the weight of all points
    before point i.
    """
    total = np.zeros(predicates.domain.size, dtype=np.int64)
    for p in range(total.size):
        first, end = start[predicates.domain[p]], start[predicates.domain[p] + 1]
        for i in range(predicates.start[p], predicates.start[p + 1]):
            begin = find_first_at_least(point, first, end, predicates.low[i])
            total[p] += weight_before[find_first_above(point, begin, end, predicates.high[i])] - weight_before[begin]
    return total
