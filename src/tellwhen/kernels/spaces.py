"""Lookup of the space of its domain that a point lies in."""

from __future__ import annotations

from tellwhen.kernels.jit import inline
from tellwhen.kernels.search import find_first_above


@inline
def find_space(cut_start, cuts, domain, point):
    """Return the number of the space of a point. A space begins with its cut."""
    return find_first_above(cuts, cut_start[domain], cut_start[domain + 1], point) + domain
