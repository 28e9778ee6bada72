"""Grouping of entries by event."""

from __future__ import annotations

from tellwhen.kernels.jit import kernel


@kernel
def scatter(event, domain, point, at, out_domain, out_point):
    """Group entries by event, in their order: write entry i to position at[event[i]], and increment that."""
    for i in range(event.size):
        k = at[event[i]]
        out_domain[k] = domain[i]
        out_point[k] = point[i]
        at[event[i]] = k + 1
