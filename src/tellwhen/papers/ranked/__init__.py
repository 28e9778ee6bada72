"""SCORED INTERVALS -> STRUCTURE -> THE BEST K THAT CONTAIN A POINT (Scalable Ranked Publish/Subscribe, VLDB 2008)."""

from tellwhen.papers.ranked.arrays import Ranked
from tellwhen.papers.ranked.boxes import Boxes
from tellwhen.papers.ranked.intervals import Best, Cursor, ScoredIntervals
from tellwhen.papers.ranked.ir_tree import IRTree
from tellwhen.papers.ranked.sopt_r_tree import SOPTRTree
from tellwhen.papers.ranked.structures import (
    EndpointIntervalTree,
    ScoredIntervalTree,
    ScoredRTree,
    ScoredSegmentTree,
    UnscoredIntervalTree,
    UnscoredRTree,
)

STRUCTURES: dict[str, type[ScoredIntervals]] = {
    structure.name: structure
    for structure in (
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
"""The classes of all structures, by name."""

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
