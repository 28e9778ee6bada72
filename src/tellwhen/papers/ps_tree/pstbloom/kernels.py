"""Match by posting lists and signatures of predicate spaces (PSTBloom; PS-Tree, section 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import next_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.truth import forget_true, note_true
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS, emit_if_true, emit_waiting, max_waiting, prefetch
from tellwhen.papers.ps_tree.pstbloom.arrays import PSTBloomIndex, PSTBloomScratch


@inline
def bit_of(at, words):
    """The bit that stands for the record at `at` in a signature of this many words."""
    mixed = (np.uint64(at) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return (mixed * (np.uint64(words) << np.uint64(6))) >> np.uint64(32)


@kernel
def sign(begin, records, predicate_start, spaces, signature_start):
    """The signatures of all spaces. begin[r] is where record r begins."""
    signatures = np.zeros(signature_start[-1], dtype=np.uint64)
    spaces = borrow(spaces, Spaces)
    for r in range(begin.size - 1):
        at = begin[r]
        size = records[at + 1]
        for j in range(at + HEAD_WORDS, at + HEAD_WORDS + size):
            if records[j + size] < 0:
                continue
            p = records[j]
            for i in range(predicate_start[p], predicate_start[p + 1]):
                for space in range(spaces.first[i], spaces.last[i] + 1):
                    bit = bit_of(at, signature_start[space + 1] - signature_start[space])
                    word = signature_start[space] + np.int64(bit >> np.uint64(6))
                    signatures[word] |= np.uint64(1) << (bit & np.uint64(63))
    return signatures


@inline
def may_be_true(at, index, space_on):
    """Does the event carry all domains of the record at `at`, and do the signatures of its spaces there have it?

    space_on[domain] is the event's space + 1, or 0.
    """
    records, signature_start = index.common.records, index.signature_start
    size = records[at + 1]
    for j in range(np.uint64(at + HEAD_WORDS + size), np.uint64(at + HEAD_WORDS + 2 * size)):
        domain = records[j]
        space = space_on[domain if domain >= 0 else -1 - domain]
        if space == 0:
            return False
        if domain >= 0:
            first = signature_start[space - 1]
            words = signature_start[space] - first
            if words == 0:
                return False
            bit = bit_of(at, words)
            word = index.signatures[np.uint64(first) + (bit >> np.uint64(6))]
            if (word >> (bit & np.uint64(63))) & np.uint64(1) == 0:
                return False
    return True


@inline
def postings_of(index, scratch, events, event, i):
    """Where the lists of the spaces that entry i touches begin and end: they are neighbours."""
    common = index.common
    domain = events.domain[i]
    first = scratch.space[domain] - 1
    last = first
    if not events.single_valued[event]:
        first = space_of(common.cut_start, common.cuts, domain, events.low[i])
        last = space_of(common.cut_start, common.cuts, domain, events.high[i])
    return common.list_start[first], common.list_start[last + 1]


@inline
def enter_spaces(index, scratch, events, event):
    """Note the event's spaces; returns how many postings their lists have."""
    common = index.common
    postings = 0
    for i in range(events.start[event], events.start[event + 1]):
        domain = events.domain[i]
        if domain < common.cut_start.size - 1:
            scratch.space[domain] = space_of(common.cut_start, common.cuts, domain, events.low[i]) + 1
            begin, end = postings_of(index, scratch, events, event, i)
            postings += end - begin
    return postings


@inline
def leave_spaces(index, scratch, events, event):
    """Leave `space` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] < index.common.cut_start.size - 1:
            scratch.space[events.domain[i]] = 0


@inline
def emit_listed(index, snapshot, scratch, events, event, out, written):
    """Write the conjunctions in the lists of the event's spaces that are true; returns the new end.

    Signatures know single values only: an event of several values or intervals does without them.
    """
    common, single_valued = index.common, events.single_valued[event]
    loaded = 0
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] >= common.cut_start.size - 1:
            continue
        begin, end = postings_of(index, scratch, events, event, i)
        scratch.effort[0] += end - begin
        for k in range(begin, end):
            loaded += prefetch(common, k, end)
            at = common.postings[k]
            if not single_valued or may_be_true(at, index, scratch.space):
                written = emit_if_true(at, index, snapshot, scratch, single_valued, out, written)
    scratch.common.prefetched[0] = loaded
    return written


@kernel
def match_spaces(index, snapshot, scratch, events, out, event):
    """Exact for single-valued events; finds too much for others. effort[0] counts the conjunctions tested."""
    index, snapshot = unpack(index, PSTBloomIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, PSTBloomScratch), borrow(events, Events), borrow(out, Matches)
    working = scratch.common
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        candidates = enter_spaces(index, scratch, events, e) + max_waiting(index, events, e)
        if candidates > out.slot.size - written:
            leave_spaces(index, scratch, events, e)
            return e
        count = note_true(index.common.stabbing, events, e, working.runs, working.truth, working.satisfied)
        next_event(working.stamps)
        written = emit_listed(index, snapshot, scratch, events, e, out, written)
        written = emit_waiting(index, snapshot, scratch, events, e, out, written)
        forget_true(working.truth, working.satisfied, count)
        leave_spaces(index, scratch, events, e)
        out.start[e + 1] = written
    return events.single_valued.size
