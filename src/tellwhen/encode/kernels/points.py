"""Columns of points -> events."""

from __future__ import annotations

from tellwhen.kernels.jit import kernel


@kernel
def scatter(event, domain, point, at, out_domain, out_point):
    """Write every entry into the run of its event, in the order they come; at[e] is where the next one of e goes."""
    for i in range(event.size):
        k = at[event[i]]
        out_domain[k] = domain[i]
        out_point[k] = point[i]
        at[event[i]] = k + 1
