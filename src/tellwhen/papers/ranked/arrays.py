"""The arrays of the scored structures, drawn.

Intervals are closed. Each has a *rank*, its position in the order that all structures share: higher score first, and of
equal scores the lower number first. A change of a structure would move ranks, so structures that can change have *keys*
instead: an int64 for each score, lower for a higher score (`order.py`).

The first field of every structure is its kind. A kernel that has only the addresses of a structure reads the kind from
the first word.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import F64, I32, I64, U8, I64Matrix

ENDPOINT_TREE, UNSCORED_TREE, SCORED_TREE, SEGMENT_TREE, R_TREE, UNSCORED_R_TREE, IR_TREE = range(7)
"""Kinds of structures."""


class EndpointTreeArrays(NamedTuple):
    """An interval tree; every node has its intervals twice, sorted by lower and by upper ends (section 2.1.1)."""

    kind: int
    centre: I64  # |50|20|80|       node 0 is the root
    left: I32  # |1|-1|-1|         children; -1 for none
    right: I32  # |2|-1|-1|
    start: I64  # |0|3|6|10|        intervals of node v are start[v]:start[v+1]
    low: I64  # |10 30 45|...       lower ends, ascending in each node
    rank_by_low: I32  # |9 0 2|...  ranks of the intervals in the order of `low`
    high: I64  # |100 65 55|...     upper ends, descending in each node
    rank_by_high: I32  # |9 2 0|... ranks of the intervals in the order of `high`
    number: I32  # of each rank


class ScoredTreeArrays(NamedTuple):
    """An interval tree whose nodes have their intervals by rank, and the extent of their intervals (section 2.2.2)."""

    kind: int
    centre: I64
    left: I32
    right: I32
    start: I64  # |0|3|6|10|        intervals of node v are start[v]:start[v+1]
    min_low: I64  # |10|0|65|       least lower end of a node's intervals
    max_high: I64  # |100|45|100|   greatest upper end of a node's intervals
    low: I64
    high: I64
    rank: I32  # |0 2 9|4 5 8|...   ascending in each node
    number: I32  # of each rank


class SegmentTreeArrays(NamedTuple):
    """A segment tree. Node 1 is the root, the children of v are 2v and 2v + 1, leaf k is node len(begins) + k."""

    kind: int
    begins: I64  # |LOWEST 20 61|   where the segments of the leaves begin, ascending
    start: I64  # |0|4|4|9|         intervals of node v are rank[start[v]:start[v+1]]
    rank: I32  # ascending in each node
    number: I32  # of each rank


class RTreeArrays(NamedTuple):
    """A packed R-tree: `fan_out` neighbours of a level make one node of the level above.

    In the order of the leaf entries, all intervals that contain one point have ascending ranks. That order is by rank
    (section 2.2.3), or an arrangement (section 3.2).

        low, high  | intervals ... | extents of their nodes ... | extents of the nodes above ... | root |
        level        0               1                            2

    Changes: intervals whose number is in `dead` are skipped, and cursors merge in the delta. Both are empty in a tree
    that never changes.
    """

    kind: int
    fan_out: int
    level_start: I64  # |0|n|n + n/b|...|  nodes of level l are level_start[l]:level_start[l+1]
    low: I64
    high: I64
    key: I64  # of the intervals
    number: I32  # of the intervals
    dead_count: int
    dead: U8  # |0b00100000|...          bit number % 8 of byte number // 8
    delta_low: I64  # by key, then by number
    delta_high: I64
    delta_key: I64
    delta_number: I32


class UnscoredRTreeArrays(NamedTuple):
    """A packed R-tree by position: its intervals are sorted by their middles. See `RTreeArrays`."""

    kind: int
    fan_out: int
    level_start: I64
    low: I64
    high: I64
    rank: I32  # of the intervals
    number: I32  # of each rank


class IRTreeArrays(NamedTuple):
    """An interval tree with an R-tree in every node (section 3.1), in three pools: nodes, blocks and entries.

    A node has a centre and the R-tree of the intervals that contain the centre. A block is a node of an R-tree. Its
    entries are intervals (level 0) or blocks, in score order: those of block t are first[t]:first[t] + size[t]. The
    entry of a block has the extent of the block, and the key of its first interval. Each pool has free places at its
    end.
    """

    kind: int
    fan_out: int
    counts: I64  # see kernels/ir_pool.py
    centre: I64
    left: I32  # by node: its child; -1 for none
    right: I32
    root: I32  # by node: the root block of its R-tree; -1 for no R-tree
    weight: I64  # by node: number of intervals and nodes in its subtree, by which the tree is balanced
    first: I64  # |0|50|54|
    size: I32  # |50|3|1|
    capacity: I32  # |50|4|1|  entries that fit into the block: 1, 2, 4, ... and at last the fan-out
    level: I32  # |0|0|1|
    low: I64
    high: I64
    key: I64
    item: I32  # by entry: the number of the interval, or the block


class ConstraintGraph(NamedTuple):
    """A constraint graph: interval `rank` must come before target[start[rank]:start[rank+1]] (section 3.2.1)."""

    start: I64  # |0|2|2|3|
    target: I32  # ranks
    in_degree: I32


LOW, HIGH, SCORE, RECORD_WORDS = range(4)
"""Words of a record of `BoxArrays`."""


class BoxArrays(NamedTuple):
    """Boxes of d dimensions by number, for random access.

    A box has a record for each dimension, one behind the other: dimension i of box s begins at word 3 * (s * d + i). So
    a lookup of a box waits for one or two cache lines; with an array each for low, high and score it waits for three.
    """

    structures: I64Matrix  # row i: the packed structure of dimension i
    ends: I64  # |2 9 .|0 3 .|7 7 .|1 4 .|...
    score: F64  # |. . .5|. . .7|. . .9|. . .1|...  the same memory, read as doubles


class BoxQueries(NamedTuple):
    """Events as points of d dimensions, and the cursors that a kernel merges for one event after the other."""

    point: I64  # |4 2|7 7|...      the point of event q is q*d:q*d+d
    weight: F64  # |1. 1.|.5 2.|...  factors of the scores of each dimension
    cursors: I64Matrix  # row i: the cursor of dimension i
    heads: I64  # |4 1|7 2|7 -1|...  by round of calls: the number that each cursor returned last, or ENDED
    value: F64  # by dimension: the values to combine


class Ranked(NamedTuple):
    """The best subscriptions of each event, best first."""

    start: I64  # |0|3|5|    the results of event q are start[q]:start[q+1]
    number: I32
    score: F64
