"""The arrays of `gryphon`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, keeps


class GryphonIndex(NamedTuple):
    """A tree whose branches are predicates; node 0 is the root.

    The branches of a node are in groups, one for each domain that they test. In a group, branches on single values are
    sorted and found by search; the others are tested one by one.
    """

    group_start: I64  # |0|2|2|       groups of node n are group_start[n]:group_start[n+1]
    group_domain: I32
    point_start: I64  # |0|3|3|       branches of group g on single values are point_start[g]:point_start[g+1]
    point: I64  # ascending in a group
    point_child: I32  # the nodes they lead to
    other_start: I64  # |0|0|2|       branches of group g on other predicates
    other: I32  # predicates
    other_child: I32
    slot_start: I64  # |0|1|3|       conjunctions that end at node n are slot_start[n]:slot_start[n+1]
    slot: I32  # |1|-6|-6|     -1 - slot for one of several


@keeps("first_entry", "seen", "stamps", "effort")
class GryphonScratch(NamedTuple):
    """Working arrays of a match."""

    first_entry: I32  # zero between events
    stack: I32  # nodes still to visit
    seen: I64  # by node: when it was last visited; the last element is the clock
    stamps: I64
    effort: I64
