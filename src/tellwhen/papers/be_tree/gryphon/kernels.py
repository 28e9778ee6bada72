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
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.search import find_first_at_least
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex, GryphonScratch

PREFETCH_DISTANCE = 4
"""Prefetch tails 4 visits before they are tested, and the rows that lead to them 8 visits before."""


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
            tree.node[i] = node
    return nodes


@inline
def push(nodes, scratch, depth, node, is_single_valued):
    """Push a node, unless this event has pushed it before by another of its values; returns the new depth."""
    scratch.stack[depth] = node
    prefetch(nodes, 2 * node)
    if is_single_valued:
        return depth + 1
    is_new = scratch.seen[node] != scratch.seen[-1]
    scratch.seen[node] = scratch.seen[-1]
    return depth + is_new


@inline
def push_branches(index, g, scratch, depth, events, end, is_single_valued):
    """Push the nodes behind all branches of a group that the event satisfies; returns the new depth of the stack."""
    domain = index.groups[g, 0]
    entry = scratch.first_entry[domain] - 1
    if entry < 0:
        return depth
    values, first, last = index.points[:, 0], index.groups[g, 1], index.groups[g + 1, 1]
    while entry < end and events.domain[entry] == domain:
        k = find_first_at_least(values, first, last, events.low[entry])
        while k < last and values[k] <= events.high[entry]:
            depth = push(index.nodes, scratch, depth, index.points[k, 1], is_single_valued)
            k += 1
        entry += 1
    for k in range(index.groups[g, 2], index.groups[g + 1, 2]):
        if is_predicate_true(k, index.other, scratch.first_entry, events, end):
            depth = push(index.nodes, scratch, depth, index.other_child[k], is_single_valued)
    return depth


@inline
def is_interval_touched(interval, domain, first_entry, events, end):
    """Return whether an entry of the event on the domain touches an interval."""
    entry = first_entry[domain] - 1
    while 0 <= entry < end and events.domain[entry] == domain:
        if events.low[entry] <= interval[2] and interval[1] <= events.high[entry]:
            return True
        entry += 1
    return False


@inline
def is_tail_true(index, conjunction, first_entry, events, end):
    """Return whether the event satisfies the tests of a conjunction's tail, each with one of its intervals."""
    at, last = index.slots[conjunction, 1], index.slots[conjunction + 1, 1]
    is_true = True
    while at < last and is_true:
        domain = index.tails[at, 0]
        is_true = is_interval_touched(index.tails[at], domain, first_entry, events, end)
        at += 1
        while at < last and index.tails[at, 0] < 0:
            is_true = is_true or is_interval_touched(index.tails[at], domain, first_entry, events, end)
            at += 1
    return is_true


@inline
def prefetch_rows(index, stack, depth):
    """Start to load the rows of nodes that are visited soon, from below the top of the stack."""
    if depth > 2 * PREFETCH_DISTANCE:
        node = stack[depth - 2 * PREFETCH_DISTANCE]
        prefetch(index.groups, 3 * index.nodes[node, 0])
        prefetch(index.slots, 2 * index.nodes[node, 1])
    if depth > PREFETCH_DISTANCE:
        conjunction = index.nodes[stack[depth - PREFETCH_DISTANCE], 1]
        prefetch(index.tails, 3 * index.slots[conjunction, 1])


@kernel
def walk_tree(index, snapshot, scratch, events, out, event):
    """Match by all branches that an event satisfies. effort[0] counts the nodes visited.

    Exact for single-valued events; writes too many slots for other events.
    """
    index, snapshot = unpack(index, GryphonIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, GryphonScratch), borrow(events, Events), borrow(out, Matches)
    nodes, stamps = index.nodes, scratch.stamps
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        open_event(events, e, scratch.first_entry)
        end, is_single_valued = events.start[e + 1], events.single_valued[e] == 1
        advance_clock(stamps)
        advance_clock(scratch.seen)
        scratch.stack[0] = 0
        depth, fits = 1, True
        while depth and fits:
            depth -= 1
            node = scratch.stack[depth]
            prefetch_rows(index, scratch.stack, depth)
            scratch.effort[0] += 1
            fits = nodes[node + 1, 1] - nodes[node, 1] <= out.slot.size - written
            if fits:
                for k in range(nodes[node, 1], nodes[node + 1, 1]):
                    if is_tail_true(index, k, scratch.first_entry, events, end):
                        written = emit(index.slots[k, 0], snapshot, stamps, out, written)
            for g in range(nodes[node, 0], nodes[node + 1, 0]):
                depth = push_branches(index, g, scratch, depth, events, end, is_single_valued)
        close_event(events, e, scratch.first_entry)
        if not fits:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
