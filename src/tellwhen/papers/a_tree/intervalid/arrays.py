"""The arrays of `intervalid`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U16, keeps
from tellwhen.papers.a_tree.shared.postings import Posted, PostedScratch

BEGIN_SHIFT, END_MASK = 16, 0xFFFF
"""An annotation is an interval: begin << 16 | end, so that the order of annotations is that of the begins."""


class IntervalIndex(NamedTuple):
    """Every leaf has an interval <begin, end>, which leads from point begin - 1 to point end.

    (a OR b) AND c: a <1,3>, b <1,3>, c <4,6>, and the last point is 6.
    """

    posted: Posted  # annotated with intervals
    end: U16  # |6|9|   by tree: its last point; the first is 0


@keeps("last", "reached", "effort")
class IntervalScratch(NamedTuple):
    """Working arrays of a match."""

    posted: PostedScratch
    last: I32  # by expression: the last link of its chain; zero between events
    chain: I32  # |annotation, link before|   of all expressions, from link 1 on
    leaves: I32  # intervals of one expression
    reached: U8  # by point of one expression; zero between expressions
    effort: I64
