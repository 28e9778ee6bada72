"""Kernels that build and walk a tree of tests, one attribute after the other (Gryphon; BE-Tree, section 7.2).

A subscription that does not test an attribute has no branch for the attribute. So the branches of a node may test
several attributes, and all branches that the event satisfies are followed.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import close_event, is_predicate_true, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_at_least
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex, GryphonScratch


@kernel
def grow_tree(start, path, tree):
    """Build the tree of all conjunctions, a PathTree; returns the number of its nodes.

    Conjunction c has the predicates path[start[c]:start[c+1]], in the order of tests.
    """
    bits = 4
    while (1 << bits) < 2 * (path.size + 1):
        bits += 1
    table = np.zeros(1 << bits, dtype=np.int32)  # nodes by parent and predicate; 0 is free
    mask = (1 << bits) - 1
    nodes = 1
    for conjunction in range(start.size - 1):
        node = 0
        for i in range(start[conjunction], start[conjunction + 1]):
            p = path[i]
            key = np.uint64(node) << np.uint64(32) | np.uint64(p)
            at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
            while table[at] and (tree.parent[table[at]] != node or tree.predicate[table[at]] != p):
                at = (at + 1) & mask
            if table[at] == 0:
                table[at] = nodes
                tree.parent[nodes], tree.predicate[nodes] = node, p
                nodes += 1
            node = table[at]
        tree.end[conjunction] = node
    return nodes


@inline
def push_once(scratch, depth, node):
    """Push a node, unless this event has pushed it before by another of its values; returns the new depth."""
    scratch.stack[depth] = node
    is_new = scratch.seen[node] != scratch.seen[-1]
    scratch.seen[node] = scratch.seen[-1]
    return depth + is_new


@inline
def push_branches(index, g, predicates, scratch, depth, events, end):
    """Push the nodes behind all branches of a group that the event satisfies; returns the new depth of the stack."""
    domain = index.group_domain[g]
    entry = scratch.first_entry[domain] - 1
    if entry < 0:
        return depth
    first, last = index.point_start[g], index.point_start[g + 1]
    while entry < end and events.domain[entry] == domain:
        k = find_first_at_least(index.point, first, last, events.low[entry])
        while k < last and index.point[k] <= events.high[entry]:
            depth = push_once(scratch, depth, index.point_child[k])
            k += 1
        entry += 1
    for k in range(index.other_start[g], index.other_start[g + 1]):
        if is_predicate_true(index.other[k], predicates, scratch.first_entry, events, end):
            depth = push_once(scratch, depth, index.other_child[k])
    return depth


@kernel
def walk_tree(index, snapshot, scratch, events, out, event):
    """Match by all branches that an event satisfies. effort[0] counts the nodes visited.

    Exact for single-valued events; writes too many slots for other events.
    """
    index, snapshot = unpack(index, GryphonIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, GryphonScratch), borrow(events, Events), borrow(out, Matches)
    slot_start, stamps = index.slot_start, scratch.stamps
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        open_event(events, e, scratch.first_entry)
        end = events.start[e + 1]
        advance_clock(stamps)
        advance_clock(scratch.seen)
        scratch.stack[0] = 0
        depth, fits = 1, True
        while depth and fits:
            depth -= 1
            node = scratch.stack[depth]
            scratch.effort[0] += 1
            fits = slot_start[node + 1] - slot_start[node] <= out.slot.size - written
            if fits:
                for k in range(slot_start[node], slot_start[node + 1]):
                    written = emit(index.slot[k], snapshot, stamps, out, written)
            for g in range(index.group_start[node], index.group_start[node + 1]):
                depth = push_branches(index, g, snapshot.predicates, scratch, depth, events, end)
        close_event(events, e, scratch.first_entry)
        if not fits:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
