"""Match by walking a tree, an attribute after the other (Gryphon; BE-Tree section 7.2).

A node's branches are predicates. Those on single values are found by search, all others are tried. A subscription that
does not care for an attribute has no branch for it: the branches of a node may be on several attributes, and all that
the event carries are followed.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events
from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import close_event, first_at_least, holds, open_event
from tellwhen.kernels.jit import inline, kernel


@kernel
def grow(conjunction_start, conjunction_code, parent, label, end):
    """The tree of all conjunctions, whose predicates are in the order of attributes; returns the number of nodes.

    Node 0 is the root; others hang on parent[n] by the predicate label[n]; conjunction r ends at node end[r].
    """
    bits = 4
    while (1 << bits) < 2 * (conjunction_code.size + 1):
        bits += 1
    table = np.zeros(1 << bits, dtype=np.int32)  # nodes by parent and label; 0 is free
    mask = (1 << bits) - 1
    nodes = 1
    for conjunction in range(conjunction_start.size - 1):
        node = 0
        for i in range(conjunction_start[conjunction], conjunction_start[conjunction + 1]):
            p = conjunction_code[i]
            key = np.uint64(node) << np.uint64(32) | np.uint64(p)
            at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
            while table[at] and (parent[table[at]] != node or label[table[at]] != p):
                at = (at + 1) & mask
            if table[at] == 0:
                table[at] = nodes
                parent[nodes] = node
                label[nodes] = p
                nodes += 1
            node = table[at]
        end[conjunction] = node
    return nodes


@inline
def push(stack, depth, seen, node, now):
    """A node to walk to, once for an event: with several values, several branches may lead there."""
    stack[depth] = node
    fresh = seen[node] != now
    seen[node] = now
    return depth + fresh


@kernel
def walk(
    group_start, group_domain, point_start, point, point_child, other_start, other, other_child, slot_start, slots,
    died, version, removed, first, stack, seen, stamps, effort,
    predicate_domain, every, interval, low, high,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for single-valued events, and for others no match is missing. effort[0] counts the branches that were followed.
    """
    events = Events(entry_start, entry_domain, entry_low, entry_high, single_valued)
    written = start[event]
    for e in range(event, single_valued.size):
        open_event(events, e, first)
        last = entry_start[e + 1]
        stamps[-1] += 1
        depth = 1
        stack[0] = 0
        fits = True
        while depth and fits:
            depth -= 1
            node = stack[depth]
            effort[0] += 1
            fits = slot_start[node + 1] - slot_start[node] <= out.size - written
            if fits:
                for k in range(slot_start[node], slot_start[node + 1]):
                    written = emit(slots[k], stamps, removed, died, version, out, written)
            for g in range(group_start[node], group_start[node + 1]):
                domain = group_domain[g]
                entry = first[domain] - 1
                if entry < 0:
                    continue
                while entry < last and entry_domain[entry] == domain:
                    k = first_at_least(point, point_start[g], point_start[g + 1], entry_low[entry])
                    while k < point_start[g + 1] and point[k] <= entry_high[entry]:
                        depth = push(stack, depth, seen, point_child[k], stamps[-1])
                        k += 1
                    entry += 1
                for k in range(other_start[g], other_start[g + 1]):
                    if holds(
                        other[k], predicate_domain, every, interval, low, high,
                        first, entry_domain, entry_low, entry_high, last,
                    ):  # fmt: skip
                        depth = push(stack, depth, seen, other_child[k], stamps[-1])
        close_event(events, e, first)
        if not fits:
            return e
        start[e + 1] = written
    return single_valued.size
