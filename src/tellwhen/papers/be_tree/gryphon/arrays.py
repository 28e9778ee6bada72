"""The arrays of `gryphon`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, keeps


class PathTree(NamedTuple):
    """A tree of tests while it is built. Node n, other than the root 0, hangs on node parent[n] by a predicate."""

    parent: I32  # |0|0|1|1|    by node
    predicate: I32  # |0|5|2|9|    by node: the test on the branch that leads to it
    end: I32  # |2|3|        by conjunction: the node that its path ends at


class Branches(NamedTuple):
    """The branches of each node, in groups: one group for each domain that branches of the node test."""

    group_start: I64  # |0|2|2|       groups of node n are group_start[n]:group_start[n+1]
    group_domain: I32
    point_start: I64  # |0|3|3|       branches of group g on single values are point_start[g]:point_start[g+1]
    point: I64  # ascending in a group
    point_child: I32  # by point: the node that its branch leads to
    other_start: I64  # |0|0|2|       branches of group g on other predicates are other_start[g]:other_start[g+1]
    other: I32  # predicates
    other_child: I32  # by predicate: the node that its branch leads to


class GryphonIndex(NamedTuple):
    """A tree whose branches are predicates; node 0 is the root.

    The branches of a node are in groups, one for each domain that they test. In a group, branches on single values are
    sorted and found by search; the others are tested one by one. `Branches` draws the first eight fields.
    """

    group_start: I64
    group_domain: I32
    point_start: I64
    point: I64
    point_child: I32
    other_start: I64
    other: I32
    other_child: I32
    slot_start: I64  # |0|1|3|       conjunctions that end at node n are slot_start[n]:slot_start[n+1]
    slot: I32  # |1|-6|-6|     -1 - slot for one of several


@keeps("first_entry", "seen", "stamps", "effort")
class GryphonScratch(NamedTuple):
    """Working arrays of a match."""

    first_entry: I32  # zero between events
    stack: I32  # nodes to visit
    seen: I64  # by node: the time of its last visit; the last element is the clock
    stamps: I64
    effort: I64
