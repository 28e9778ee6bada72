"""The arrays of `gryphon`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64


class GryphonIndex(NamedTuple):
    """A tree. The branches of a node are in groups, one for each domain they test; node 0 is the root."""

    group_start: I64  # |0|2|2|       groups of node n are group_start[n]:group_start[n+1]
    group_domain: I32
    point_start: I64  # |0|3|3|       branches of group g on single values, ascending
    point: I64
    point_child: I32  # the nodes they lead to
    other_start: I64  # |0|0|2|       branches of group g on other predicates
    other: I32
    other_child: I32
    slot_start: I64  # |0|1|3|       conjunctions that end at node n are slots[slot_start[n]:slot_start[n+1]]
    slots: I32  # |1|-6|-6|     -1 - slot for one of several conjunctions
