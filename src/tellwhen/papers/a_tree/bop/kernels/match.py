"""The match kernel of `bop`: a count of satisfied leaves, then encodings evaluated (BoP; A-Tree, section 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.truth import is_true
from tellwhen.papers.a_tree.bop.arrays import DISJUNCTION_CODE, LEAF_CODE, BoPIndex, BoPScratch
from tellwhen.papers.a_tree.bop.kernels.encode import read_number
from tellwhen.papers.a_tree.shared.kernels.postings import close_event, is_true_by_program

PREFETCH_DISTANCE = 8
"""Candidates between a prefetch and its use: their encodings are anywhere in memory."""


@inline
def count_leaves(postings, scratch, true_count):
    """Count the satisfied leaves of every expression, list the expressions with any in `touched`, return how many."""
    listed, touched, counts = scratch.leaf.found.listed, scratch.leaf.touched, scratch.counts
    count = 0
    for k in range(true_count):
        p = listed[k]
        for j in range(np.uint64(postings.start[p]), np.uint64(postings.start[p + 1])):
            x = np.uint32(postings.expression[j])
            before = counts[x]
            counts[x] = before + 1
            touched[np.uint64(count)] = x
            count += before == 0
    return count


@inline
def filter_candidates(index, scratch, count):
    """Move the expressions with enough satisfied leaves to the front of `touched`, and return how many there are.

    Clears the counts of all touched expressions.
    """
    touched, counts = scratch.leaf.touched, scratch.counts
    candidates = 0
    for k in range(np.uint64(count)):
        x = np.uint32(touched[k])
        touched[np.uint64(candidates)] = x
        candidates += counts[x] >= index.minimum[x]
        counts[x] = 0
    return candidates


@inline
def skip_nodes(encoding, at, count):
    """Return the offset behind the next `count` nodes and everything below them."""
    while count > 0:
        code = encoding[np.uint64(at)]
        number, at = read_number(encoding, at + 1)
        count += number - 1 if code != LEAF_CODE else -1
    return at


@inline
def is_encoding_true(encoding, at, truth, group, left):
    """Return whether the expression is true whose encoding begins at byte `at`.

    A group is left as soon as a child decides its value.
    """
    level = -1
    while True:
        code = encoding[np.uint64(at)]
        number, at = read_number(encoding, at + 1)
        if code != LEAF_CODE:
            level += 1
            group[level], left[level] = code, number
            continue
        value = is_true(truth, number)
        # The value of the leaf is also the value of every group that it is the last child of, or that it decides.
        while level >= 0:
            left[level] -= 1
            if left[level] > 0:
                if value != (group[level] == DISJUNCTION_CODE):
                    break
                if level > 0:
                    at = skip_nodes(encoding, at, left[level])
            level -= 1
        if level < 0:
            return value


@kernel
def match_encodings(index, snapshot, scratch, events, out, event):
    """Match exactly, for events of any kind. effort[0] counts the expressions with enough satisfied leaves."""
    index, snapshot = unpack(index, BoPIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, BoPScratch), borrow(events, Events), borrow(out, Matches)
    posted, leaf = index.posted, scratch.leaf
    touched, truth = leaf.touched, leaf.found.truth
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        true = find_satisfied(posted.stabbing, snapshot.predicates, events, e, leaf.found)
        candidates = filter_candidates(index, scratch, count_leaves(posted, scratch, true))
        scratch.effort[0] += candidates
        matched = 0
        for k in range(candidates):
            ahead = touched[min(k + PREFETCH_DISTANCE, candidates - 1)]
            prefetch(index.encoding, index.start[min(ahead, posted.trees)])
            x = touched[k]
            touched[matched] = x
            if x < posted.trees:
                matched += is_encoding_true(index.encoding, index.start[x], truth, scratch.group, scratch.left)
            else:
                matched += is_true_by_program(x, posted, snapshot, leaf)
        written = close_event(posted, snapshot, leaf, true, matched, out, written)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
