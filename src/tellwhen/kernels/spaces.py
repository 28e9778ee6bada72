"""In which space of its line does a value lie?"""

from __future__ import annotations

from tellwhen.kernels.evaluate import first_above
from tellwhen.kernels.jit import inline


@inline
def space_of(cut_start, cuts, line, point):
    """The number of its space. A space begins with its cut."""
    return first_above(cuts, cut_start[line], cut_start[line + 1], point) + line
