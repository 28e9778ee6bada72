"""Kernels that find the satisfied leaves of an event by expression, and write the slots of the matched expressions."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.emit import emit_slots
from tellwhen.kernels.evaluate import run_code
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true_predicates

INSERTION_SORT_MAX = 32
"""Up to this many leaves an insertion sort is faster."""


@kernel
def place_postings(predicate, expression, annotation, free, placed_expression, placed_annotation):
    """Write every posting to the list of its predicate, in the order of the postings.

    `free` is the begin of each list, and its end afterwards. `annotation` is empty if postings have no annotations.
    """
    for i in range(predicate.size):
        at = free[predicate[i]]
        free[predicate[i]] = at + 1
        placed_expression[at] = expression[i]
        if annotation.size > 0:
            placed_annotation[at] = annotation[i]


@inline
def chain_leaves(postings, snapshot, events, event, scratch):
    """Find the true predicates, list the expressions with a satisfied leaf in `touched`, and chain their leaves.

    `scratch` is a `ChainScratch`. Returns the number of true predicates and of listed expressions. Chains avoid a
    second pass over the postings, and so a second cache miss for each posting.
    """
    found, touched, last, chain = scratch.leaf.found, scratch.leaf.touched, scratch.last, scratch.chain
    true = find_satisfied(postings.stabbing, snapshot.predicates, events, event, found)
    count, link = 0, 1
    for k in range(true):
        p = found.listed[k]
        for j in range(np.uint64(postings.start[p]), np.uint64(postings.start[p + 1])):
            x = np.uint32(postings.expression[j])
            before = last[x]
            touched[np.uint64(count)] = x
            count += before == 0
            chain[np.uint64(2 * link)] = postings.annotation[j]
            chain[np.uint64(2 * link + 1)] = before
            last[x] = link
            link += 1
    return true, count


@inline
def sort_chain(link, scratch):
    """Write the annotations of a chain in ascending order, given the chain's last link; return their number."""
    chain, annotations, count = scratch.chain, scratch.annotations, 0
    while link != 0:
        annotation = chain[np.uint64(2 * link)]
        link = chain[np.uint64(2 * link + 1)]
        at = count
        if count < INSERTION_SORT_MAX:
            while at > 0 and annotations[at - 1] > annotation:
                annotations[at] = annotations[at - 1]
                at -= 1
        annotations[at] = annotation
        count += 1
    if count > INSERTION_SORT_MAX:
        annotations[:count].sort()
    return count


@inline
def is_true_by_program(x, postings, snapshot, scratch):
    """Return whether the code of expression x, which has no tree, accepts the true predicates."""
    return run_code(postings.slot[x], snapshot.subscriptions, scratch.found.truth, scratch.registers)


@inline
def close_event(postings, snapshot, scratch, true_count, match_count, out, written):
    """Clear the true predicates of an event, and write the slots of its matches that are not removed.

    Matches are the first `match_count` expressions in `touched`, and the subscriptions that every event satisfies.
    Returns the new end of `out`, or -1 if the matches may not fit.
    """
    clear_true_predicates(scratch.found.truth, scratch.found.listed, true_count)
    if match_count + postings.always.size > out.slot.size - written:
        return -1
    died, version = snapshot.subscriptions.died, snapshot.version
    for k in range(match_count):
        slot = postings.slot[scratch.touched[k]]
        out.slot[written] = slot
        written += died[slot] > version
    return emit_slots(0, postings.always.size, postings.always, snapshot, out, written)
