"""In which space of its line does a value lie?"""

from __future__ import annotations

from tellwhen.kernels.evaluate import first_at_least
from tellwhen.kernels.jit import inline, kernel


@inline
def space_of(cut_start, cuts, line, point):
    """The number of its space. A space begins with its cut."""
    begin, end = cut_start[line], cut_start[line + 1]
    at = first_at_least(cuts, begin, end, point)
    return at + line + (at < end and cuts[at] == point)


@kernel
def locate(cut_start, cuts, lines, points, each):
    """Count by space the points that lie in it; those on unknown lines are left out."""
    for i in range(lines.size):
        if lines[i] < cut_start.size - 1:
            each[space_of(cut_start, cuts, lines[i], points[i])] += 1
