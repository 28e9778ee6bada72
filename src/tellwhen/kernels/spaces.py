"""In which space of its domain does a value lie?"""

from __future__ import annotations

from tellwhen.kernels.jit import inline
from tellwhen.kernels.search import first_above


@inline
def space_of(cut_start, cuts, domain, point):
    """The number of its space. A space begins with its cut."""
    return first_above(cuts, cut_start[domain], cut_start[domain + 1], point) + domain
