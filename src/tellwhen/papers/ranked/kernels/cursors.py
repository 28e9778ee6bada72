"""How does a kernel get intervals in score order, from any structure? Through a cursor: one int64 array.

    begin(structure, cursor, point)      # `structure` is packed, `cursor` has as many words as the structure says
    number = getnext(structure, cursor)  # the next best interval that contains the point, or -1

Nothing is found before it is asked for, except by the kinds that find all and then sort. A kernel may drive any number
of cursors. These two are compiled once, and called; a kernel that knows its kind may have `begin_r_tree` and
`next_in_r_tree`, or those of another kind, compiled into it.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import (
    ENDPOINT_TREE,
    IR_TREE,
    R_TREE,
    SCORED_TREE,
    SEGMENT_TREE,
    UNSCORED_TREE,
    EndpointTreeArrays,
    IRTreeArrays,
    RTreeArrays,
    ScoredTreeArrays,
    SegmentTreeArrays,
    UnscoredRTreeArrays,
)
from tellwhen.papers.ranked.kernels.interval_tree import (
    begin_endpoint_tree,
    begin_scored_tree,
    begin_sorted,
    begin_unscored_tree,
    next_in_endpoint_tree,
    next_in_scored_tree,
    next_sorted,
)
from tellwhen.papers.ranked.kernels.ir_tree import begin_ir_tree, next_in_ir_tree
from tellwhen.papers.ranked.kernels.r_tree import begin_r_tree, find_all_walking, next_in_r_tree
from tellwhen.papers.ranked.kernels.segment_tree import begin_segment_tree, next_in_segment_tree


@kernel
def begin(structure, cursor, point):
    """Start a cursor at the best interval that contains the point."""
    kind = structure[0]
    if kind == R_TREE:
        begin_r_tree(unpack(structure, RTreeArrays), cursor, point)
    elif kind == IR_TREE:
        begin_ir_tree(unpack(structure, IRTreeArrays), cursor, point)
    elif kind == SEGMENT_TREE:
        begin_segment_tree(unpack(structure, SegmentTreeArrays), cursor, point)
    elif kind == SCORED_TREE:
        begin_scored_tree(unpack(structure, ScoredTreeArrays), cursor, point)
    elif kind == ENDPOINT_TREE:
        begin_endpoint_tree(unpack(structure, EndpointTreeArrays), cursor, point)
    elif kind == UNSCORED_TREE:
        begin_unscored_tree(unpack(structure, EndpointTreeArrays), cursor, point)
    else:
        begin_sorted(cursor, find_all_walking(unpack(structure, UnscoredRTreeArrays), cursor, point))


@kernel
def getnext(structure, cursor):
    """The number of the next interval in score order, or -1 if there is none."""
    kind = structure[0]
    if kind == R_TREE:
        return next_in_r_tree(unpack(structure, RTreeArrays), cursor)
    if kind == IR_TREE:
        return next_in_ir_tree(unpack(structure, IRTreeArrays), cursor)
    if kind == SEGMENT_TREE:
        return next_in_segment_tree(unpack(structure, SegmentTreeArrays), cursor)
    if kind == SCORED_TREE:
        return next_in_scored_tree(unpack(structure, ScoredTreeArrays), cursor)
    if kind == ENDPOINT_TREE:
        return next_in_endpoint_tree(unpack(structure, EndpointTreeArrays), cursor)
    if kind == UNSCORED_TREE:
        return next_sorted(unpack(structure, EndpointTreeArrays), cursor)
    return next_sorted(unpack(structure, UnscoredRTreeArrays), cursor)


@inline
def getnext_many(structure, cursor, k, number, at):
    """Write up to k numbers, from number[at] on; returns where they end. Knows the kind once for all of them: that is a
    third of the time of a SOPT-R-tree."""
    kind, end = structure[0], at + k
    found = np.int64(0)
    if kind == R_TREE:
        r_tree = unpack(structure, RTreeArrays)
        while at < end and found >= 0:
            found = next_in_r_tree(r_tree, cursor)
            number[at] = found
            at += found >= 0
    elif kind == IR_TREE:
        ir_tree = unpack(structure, IRTreeArrays)
        while at < end and found >= 0:
            found = next_in_ir_tree(ir_tree, cursor)
            number[at] = found
            at += found >= 0
    elif kind == SEGMENT_TREE:
        segment_tree = unpack(structure, SegmentTreeArrays)
        while at < end and found >= 0:
            found = next_in_segment_tree(segment_tree, cursor)
            number[at] = found
            at += found >= 0
    elif kind == SCORED_TREE:
        scored_tree = unpack(structure, ScoredTreeArrays)
        while at < end and found >= 0:
            found = next_in_scored_tree(scored_tree, cursor)
            number[at] = found
            at += found >= 0
    else:
        while at < end and found >= 0:  # they spend their time in `begin`
            found = getnext(structure, cursor)
            number[at] = found
            at += found >= 0
    return at


@kernel
def find_top_k(structure, cursor, points, k, start, number, point):
    """The best k intervals of each point, from `point` on; returns the first point for which there was no room."""
    written = start[point]
    for q in range(point, points.size):
        if k > number.size - written:
            return q
        begin(structure, cursor, points[q])
        written = getnext_many(structure, cursor, k, number, written)
        start[q + 1] = written
    return points.size
