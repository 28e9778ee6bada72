"""Kernels of `pstbloom`: fill signatures, and match by lists and signatures of spaces (PS-Tree, section 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import find_space
from tellwhen.papers.ps_tree.arrays import EngineFunctions
from tellwhen.papers.ps_tree.kernels.match import match_events
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS, PREFETCH_RECORDS, emit_if_true
from tellwhen.papers.ps_tree.pstbloom.arrays import LIST_PART, PSTBloomIndex, PSTBloomScratch


@inline
def compute_signature_bit(at, words):
    """Return the bit of the record at `at` in a signature of this many words."""
    mixed = (np.uint64(at) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return (mixed * (np.uint64(words) << np.uint64(6))) >> np.uint64(32)


@kernel
def fill_signatures(records, predicate_start, spaces, signature_start):
    """Return the signatures of all spaces: each record sets its bit in all spaces of its predicates.

    A predicate whose domain in the record is negative covers too many spaces, and is left out.
    """
    signatures = np.zeros(signature_start[-1], dtype=np.uint64)
    spaces, words = borrow(spaces, Spaces), records.words
    for r in range(records.begin.size - 1):
        at = records.begin[r]
        size = words[at + 1]
        for j in range(at + HEAD_WORDS, at + HEAD_WORDS + size):
            if words[j + size] < 0:
                continue
            p = words[j]
            for i in range(predicate_start[p], predicate_start[p + 1]):
                for space in range(spaces.first[i], spaces.last[i] + 1):
                    bit = compute_signature_bit(at, signature_start[space + 1] - signature_start[space])
                    word = signature_start[space] + np.int64(bit >> np.uint64(6))
                    signatures[word] |= np.uint64(1) << (bit & np.uint64(63))
    return signatures


@inline
def can_be_true_on(domain, at, index, space_on):
    """Return whether the event carries a domain of the record at `at`, and the signature of its space has the record.

    space_on[domain] is the event's space + 1, or 0.
    """
    space = space_on[np.uint64(domain if domain >= 0 else -1 - domain)]
    if space == 0 or domain < 0:
        return space != 0
    first = index.signature_start[np.uint64(space - 1)]
    words = index.signature_start[np.uint64(space)] - first
    if words == 0:
        return False
    bit = compute_signature_bit(at, words)
    word = index.signatures[np.uint64(first) + (bit >> np.uint64(6))]
    return (word >> (bit & np.uint64(63))) & np.uint64(1) != 0


@inline
def can_be_true(at, index, space_on):
    """Return whether all signatures behind the first one admit the record at `at`."""
    size = index.common.records[at + 1]
    for j in range(np.uint64(at + HEAD_WORDS + size + 1), np.uint64(at + HEAD_WORDS + 2 * size)):
        if not can_be_true_on(index.common.records[j], at, index, space_on):
            return False
    return True


@inline
def filter_postings(index, scratch, begin, end, is_signed):
    """List in `passed` the records of the postings begin:end that the first signature admits; returns how many.

    All pass if `is_signed` is false.
    """
    count = 0
    for k in range(np.uint64(begin), np.uint64(end)):
        at = index.common.postings[k]
        scratch.passed[np.uint64(count)] = at
        count += not is_signed or can_be_true_on(index.first_domain[k], at, index, scratch.space)
    return count


@inline
def find_postings(index, scratch, events, event, i):
    """Return where the lists of the spaces that entry i touches begin and end: they are neighbours."""
    common = index.common
    domain = events.domain[i]
    first = scratch.space[domain] - 1
    last = first
    if not events.single_valued[event]:
        first = find_space(common.cut_start, common.cuts, domain, events.low[i])
        last = find_space(common.cut_start, common.cuts, domain, events.high[i])
    return common.list_start[first], common.list_start[last + 1]


@inline
def find_spaces(index, scratch, events, event):
    """Set scratch.space[domain] to the event's space + 1.

    Return the number of entries on domains that the index knows, and the number of postings in the lists of their
    spaces.
    """
    common = index.common
    entries = postings = 0
    scratch.space[common.cut_start.size - 1] = 1
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < common.cut_start.size - 1:
            scratch.space[domain] = find_space(common.cut_start, common.cuts, domain, events.low[i]) + 1
            begin, end = find_postings(index, scratch, events, event, i)
            postings += end - begin
            entries += 1
    return entries, postings


@inline
def clear_spaces(index, scratch, events, event):
    """Set scratch.space to zero again for the domains of an event."""
    scratch.space[index.common.cut_start.size - 1] = 0
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] < index.common.cut_start.size - 1:
            scratch.space[events.domain[i]] = 0


@inline
def emit_by_space(index, snapshot, scratch, events, event, lists, out, written):
    """Write the true conjunctions in the lists of the event's spaces; returns the new end of the output.

    Signatures know single values only: an event with several values or intervals does without them.
    """
    common, single_valued = index.common, events.single_valued[event]
    loaded = 0
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] >= common.cut_start.size - 1:
            continue
        begin, end = find_postings(index, scratch, events, event, i)
        scratch.effort[0] += end - begin
        for part in range(begin, end, LIST_PART):
            count = filter_postings(index, scratch, part, min(part + LIST_PART, end), single_valued)
            for k in range(count):
                loaded += common.records[scratch.passed[min(k + PREFETCH_RECORDS, count - 1)]]
                at = scratch.passed[k]
                if not single_valued or can_be_true(at, index, scratch.space):
                    written = emit_if_true(at, index, snapshot, scratch, single_valued, out, written)
    scratch.common.prefetched[0] = loaded
    return written


@kernel
def match_by_spaces(index, snapshot, scratch, events, out, event):
    """Match by the lists and signatures of spaces; see `match_events`."""
    index, snapshot = unpack(index, PSTBloomIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, PSTBloomScratch), borrow(events, Events), borrow(out, Matches)
    steps = EngineFunctions(find_spaces, emit_by_space, clear_spaces)
    return match_events(index, snapshot, scratch, events, out, event, steps)
