"""The arrays of `gryphon`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, I64Matrix, Predicates, keeps


class PathTree(NamedTuple):
    """A tree of tests while it is built. Node n, other than the root 0, hangs on node parent[n] by a predicate."""

    parent: I32  # |0|0|1|1|    by node
    predicate: I32  # |0|5|2|9|    by node: the test on the branch that leads to it
    node: I32  # |1|2|1|3|    by predicate of each path: the node that its branch leads to


class Branches(NamedTuple):
    """The branches of each node, in groups: one group for each domain that branches of the node test."""

    group_start: I64  # |0|2|2|       groups of node n are group_start[n]:group_start[n+1]
    groups: I64Matrix  # as in GryphonIndex
    points: I64Matrix
    other: Predicates
    other_child: I32


class GryphonIndex(NamedTuple):
    """A tree whose branches are predicates; node 0 is the root.

    The branches of a node are in groups, one for each domain that they test. In a group, branches on single values are
    sorted and found by search; the others are tested one by one. From the first branch on that no other conjunction
    shares, a conjunction has no nodes, but a tail of tests.

    What is read together is one row, and tests are copies: a visit of a node then misses the cache less often.
    Row k + 1 has the ends of what begins in row k.
    """

    nodes: I64Matrix  # |0 0|2 0|2 1|       by node: its first group, its first conjunction
    groups: I64Matrix  # |7 0 0|9 3 0|       by group: domain, its first branch on a single value, its first other one
    points: I64Matrix  # |20 1|22 2|22 3|    by branch on a single value: the value, ascending in a group; a child
    other: Predicates  # by other branch: its test
    other_child: I32  # by other branch
    slots: I64Matrix  # |1 0|-6 0|-6 3|     by conjunction: its slot, or -1 - slot for one of several; its first test
    tails: I64Matrix  # |7 2 2|-8 6 9|      by interval of a test: domain, or -1 - domain from its second on; low; high


@keeps("first_entry", "seen", "stamps", "effort")
class GryphonScratch(NamedTuple):
    """Working arrays of a match."""

    first_entry: I32  # zero between events
    stack: I32  # nodes to visit
    seen: I64  # by node: the time of its last visit by an event of several values; the last element is the clock
    stamps: I64
    effort: I64
