"""The match kernels of `bdd`: from below, where true nodes are followed upwards, or down from every root.

From below, a node is true if its low child is true, or if its high child and its predicate are true: expressions are
monotone, so what is true with a false predicate is also true with the predicate true. Without a true predicate only
TRUE is true.

Deviation from A-Tree, section 2, and Campailla et al., who walk down: from below the answers are the same, and the work
is that of the true nodes and of the edges above them.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import emit_slots
from tellwhen.kernels.evaluate import run_code
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates, is_true, set_true
from tellwhen.papers.a_tree.bdd.arrays import PARENTS, RECORD_HEADER, ROOT, TERMINALS, TRUE, BDDIndex, BDDScratch


@inline
def reach_nodes(upward, count, scratch):
    """Find all true nodes from `count` true predicates, and list the roots among them.

    Returns the number of true roots, of true nodes, and of parents that were tested.
    """
    records, is_reached, reached = upward.records, scratch.is_reached, scratch.reached
    nodes = roots = tested = 0
    for k in range(count):
        p = scratch.found.listed[k]
        for j in range(upward.seed_start[p], upward.seed_start[p + 1]):
            half = upward.seeds[j] >> 1
            set_true(is_reached, half)
            reached[nodes] = half
            nodes += 1
    k = 0
    while k < nodes:
        at = np.uint64(reached[k]) << np.uint64(1)
        scratch.roots[roots] = records[at + np.uint64(ROOT)]
        roots += records[at + np.uint64(ROOT)] >= 0
        parents = np.uint64(records[at + np.uint64(PARENTS)])
        at += np.uint64(RECORD_HEADER)
        for j in range(at, at + np.uint64(2) * parents, np.uint64(2)):
            needs = records[j + np.uint64(1)]
            if needs < 0 or is_true(scratch.found.truth, needs):
                half = records[j] >> 1
                if not is_true(is_reached, half):
                    set_true(is_reached, half)
                    reached[np.uint64(nodes)] = half
                    nodes += 1
        tested += np.int64(parents)
        k += 1
    return roots, nodes, tested


@inline
def walk_down(index, scratch):
    """Walk from every root down to TRUE or FALSE, and list the true roots.

    Returns the number of true roots, and of nodes that were tested.
    """
    predicate, low, high = index.nodes
    truth, roots = scratch.found.truth, scratch.roots
    count = tested = 0
    for r in range(index.roots.size):
        n = index.roots[r]
        while n >= TERMINALS:
            n = high[n] if is_true(truth, predicate[n]) else low[n]
            tested += 1
        roots[count] = r
        count += n == TRUE
    return count, tested


@inline
def count_candidates(index, roots, count):
    """Return how many slots an event may match at most: those at true roots, and all that are not in the diagram."""
    candidates = index.always.size + index.listed.size
    for k in range(count):
        candidates += index.slot_start[roots[k] + 1] - index.slot_start[roots[k]]
    return candidates


@inline
def emit_matches(index, snapshot, scratch, roots, out, written):
    """Write the slots of `roots` true roots, those that are always true, and of the others those whose program is true.

    Return the new end of the output, which has room for all of them.
    """
    for k in range(roots):
        first, end = index.slot_start[scratch.roots[k]], index.slot_start[scratch.roots[k] + 1]
        written = emit_slots(first, end, index.slots, snapshot, out, written)
    written = emit_slots(0, index.always.size, index.always, snapshot, out, written)
    for slot in index.listed:
        out.slot[written] = slot
        if run_code(slot, snapshot.subscriptions, scratch.found.truth, scratch.registers):
            written += snapshot.subscriptions.died[slot] > snapshot.version
    return written


@kernel
def match_diagram(index, snapshot, scratch, events, out, event):
    """Match exactly, for events of any kind, from below.

    effort counts the candidates and the parents that were tested.
    """
    index, snapshot = unpack(index, BDDIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, BDDScratch), borrow(events, Events), borrow(out, Matches)
    truth, satisfied = scratch.found.truth, scratch.found.listed
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(index.stabbing, snapshot.predicates, events, e, scratch.found)
        roots, nodes, tested = reach_nodes(index.upward, true, scratch)
        clear_true_predicates(scratch.is_reached, scratch.reached, nodes)
        candidates = count_candidates(index, scratch.roots, roots)
        if candidates > out.slot.size - written:
            clear_true_predicates(truth, satisfied, true)
            return e
        written = emit_matches(index, snapshot, scratch, roots, out, written)
        clear_true_predicates(truth, satisfied, true)
        scratch.effort[0] += candidates
        scratch.effort[1] += tested
        out.start[e + 1] = written
    return events.single_valued.size


@kernel
def match_downward(index, snapshot, scratch, events, out, event):
    """Match exactly, for events of any kind, from every root. effort counts the candidates and the nodes tested."""
    index, snapshot = unpack(index, BDDIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, BDDScratch), borrow(events, Events), borrow(out, Matches)
    truth, satisfied = scratch.found.truth, scratch.found.listed
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(index.stabbing, snapshot.predicates, events, e, scratch.found)
        roots, tested = walk_down(index, scratch)
        candidates = count_candidates(index, scratch.roots, roots)
        if candidates > out.slot.size - written:
            clear_true_predicates(truth, satisfied, true)
            return e
        written = emit_matches(index, snapshot, scratch, roots, out, written)
        clear_true_predicates(truth, satisfied, true)
        scratch.effort[0] += candidates
        scratch.effort[1] += tested
        out.start[e + 1] = written
    return events.single_valued.size
