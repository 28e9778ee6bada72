"""The arrays of `intervalid`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I64, U8, U16, keeps
from tellwhen.papers.a_tree.shared.postings import ChainScratch, LeafPostings

BEGIN_SHIFT, END_MASK = 16, 0xFFFF
"""An annotation is an interval: begin << 16 | end, so that the order of annotations is the order of their begins."""


class IntervalIndex(NamedTuple):
    """An interval <begin, end> for every leaf, which leads from point begin - 1 to point end.

    (a OR b) AND c: a <1,3>, b <1,3>, c <4,6>, and the last point is 6.
    """

    posted: LeafPostings  # annotated with intervals
    end: U16  # |6|9|   by tree: its last point; the first is 0


@keeps("reached", "effort")
class IntervalScratch(NamedTuple):
    """Working arrays of a match."""

    chains: ChainScratch  # annotations are intervals
    reached: U8  # by point of one expression; zero between expressions
    effort: I64
