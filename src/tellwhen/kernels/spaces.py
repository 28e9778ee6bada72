"""In which space of its line does a value lie?"""

from __future__ import annotations

from tellwhen.kernels.evaluate import first_at_least
from tellwhen.kernels.jit import inline


@inline
def space_of(cut_start, cuts, line, point):
    """The number of its space. A space begins with its cut."""
    begin, end = cut_start[line], cut_start[line + 1]
    at = first_at_least(cuts, begin, end, point)
    return at + line + (at < end and cuts[at] == point)
