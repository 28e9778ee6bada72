"""Which leaves of which expressions does an event satisfy, and how is what they match written?"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.emit import emit_slots
from tellwhen.kernels.jit import inline, kernel

INSERTION_MAX = 32
"""Up to this many leaves an insertion sort is faster."""


@kernel
def place_postings(predicate, expression, annotation, free, placed_expression, placed_annotation):
    """Put every posting into the list of its predicate, in the given order. `free` says where each list begins.

    Without annotations, `annotation` is empty.
    """
    for i in range(predicate.size):
        at = free[predicate[i]]
        free[predicate[i]] = at + 1
        placed_expression[at] = expression[i]
        if annotation.size > 0:
            placed_annotation[at] = annotation[i]


@inline
def gather_leaves(posted, satisfied, true, last, chain, touched):
    """List the expressions with a satisfied leaf in `touched`, and chain the leaves of each; returns how many.

    Link k of a chain has an annotation in chain[2 * k] and the link before it in chain[2 * k + 1]. last[x] is the last
    link of expression x, 0 for none: it is zero before, and must be again after the event.
    Chains spare a second pass over the postings, and so a second cache miss for each.
    """
    count, link = 0, 1
    for k in range(true):
        p = satisfied[k]
        for j in range(np.uint64(posted.start[p]), np.uint64(posted.start[p + 1])):
            x = np.uint32(posted.expression[j])
            before = last[x]
            touched[np.uint64(count)] = x
            count += before == 0
            chain[np.uint64(2 * link)] = posted.annotation[j]
            chain[np.uint64(2 * link + 1)] = before
            last[x] = link
            link += 1
    return count


@inline
def ordered_leaves(link, chain, leaves):
    """Write the annotations of a chain, ascending, given its last link; returns how many."""
    count = 0
    while link != 0:
        annotation = chain[np.uint64(2 * link)]
        link = chain[np.uint64(2 * link + 1)]
        at = count
        if count < INSERTION_MAX:
            while at > 0 and leaves[at - 1] > annotation:
                leaves[at] = leaves[at - 1]
                at -= 1
        leaves[at] = annotation
        count += 1
    if count > INSERTION_MAX:
        leaves[:count].sort()
    return count


@inline
def emit_matched(posted, matched, count, snapshot, out, written):
    """Write the slots of the matched expressions, and of those that every event satisfies, unless they were removed.

    Returns the new end, or -1 if they may not fit.
    """
    if count + posted.always.size > out.slot.size - written:
        return -1
    died, version = snapshot.subscriptions.died, snapshot.version
    for k in range(count):
        slot = posted.slot[matched[k]]
        out.slot[written] = slot
        written += died[slot] > version
    return emit_slots(0, posted.always.size, posted.always, snapshot, out, written)
