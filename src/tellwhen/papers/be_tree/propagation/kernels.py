"""The kernel that matches by access predicates (Propagation; BE-Tree, section 7.2, and PS-Tree, section 2).

All true predicates are found first, and their bits are set. Then the conjunctions in the clusters of true access
predicates are tested. At the end exactly the bits that were set are cleared.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import is_conjunction_true
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import kernel
from tellwhen.kernels.truth import clear_true_predicates, find_true_predicates
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex, PropagationScratch


@kernel
def match_clusters(index, snapshot, scratch, events, out, event):
    """Match by the clusters of true access predicates. effort[0] counts the conjunctions tested.

    Exact for single-valued events; writes too many slots for other events.
    """
    index, snapshot = unpack(index, PropagationIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, PropagationScratch), borrow(events, Events), borrow(out, Matches)
    cluster, code_start = index.cluster, index.code_start
    truth, satisfied, stamps = scratch.truth, scratch.satisfied, scratch.stamps
    without_predicate = cluster.size - 2
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        count = find_true_predicates(index.stabbing, events, e, scratch.runs, truth, satisfied)
        satisfied[count] = without_predicate
        candidates = 0
        for k in range(count + 1):
            p = satisfied[k]
            candidates += cluster[p + 1] - cluster[p]
        fits = candidates <= out.slot.size - written
        if fits:
            advance_clock(stamps)
            scratch.effort[0] += candidates
            for k in range(count + 1):
                p = satisfied[k]
                for c in range(cluster[p], cluster[p + 1]):
                    if is_conjunction_true(index.code, code_start[c], code_start[c + 1], truth):
                        written = emit(index.slot[c], snapshot, stamps, out, written)
        clear_true_predicates(truth, satisfied, count)
        if not fits:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
