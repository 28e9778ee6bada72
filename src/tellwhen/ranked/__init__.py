"""SCORED INTERVALS -> STRUCTURE -> THE BEST K THAT CONTAIN A POINT (Scalable Ranked Publish/Subscribe, VLDB 2008)."""

from tellwhen.ranked.arrays import Ranked
from tellwhen.ranked.boxes import Boxes
from tellwhen.ranked.intervals import Best, Cursor, ScoredIntervals
from tellwhen.ranked.ir_tree import IRTree
from tellwhen.ranked.sopt_r_tree import SOPTRTree
from tellwhen.ranked.structures import (
    EndpointIntervalTree,
    ScoredIntervalTree,
    ScoredRTree,
    ScoredSegmentTree,
    UnscoredIntervalTree,
    UnscoredRTree,
)

STRUCTURES: dict[str, type[ScoredIntervals]] = {
    made.name: made
    for made in (
        UnscoredIntervalTree,
        UnscoredRTree,
        EndpointIntervalTree,
        ScoredIntervalTree,
        ScoredSegmentTree,
        ScoredRTree,
        IRTree,
        SOPTRTree,
    )
}
"""All structures by name."""

__all__ = [
    "STRUCTURES",
    "Best",
    "Boxes",
    "Cursor",
    "EndpointIntervalTree",
    "IRTree",
    "Ranked",
    "SOPTRTree",
    "ScoredIntervalTree",
    "ScoredIntervals",
    "ScoredRTree",
    "ScoredSegmentTree",
    "UnscoredIntervalTree",
    "UnscoredRTree",
]
