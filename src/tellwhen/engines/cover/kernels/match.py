"""Match: open the clusters of an event's values, test the guards of their postings, then the programs."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ASSIGN,
    FIRST,
    FLAG_BITS,
    GUARD_WORDS,
    HALF,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LEVEL,
    NEGATED,
    NODE_FIRST,
    NODES,
    POINTS,
    RANGE,
    REGISTER,
    TABLE,
    CoverIndex,
    CoverScratch,
)
from tellwhen.kernels.arrays import ACCEPT, Events, Matches, Snapshot
from tellwhen.kernels.emit import emit, next_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.truth import is_true, set_true

PREFETCH_PROGRAMS, PREFETCH_LINES = 8, 3
"""Prefetch distance, in candidates, and how many cache lines of each program."""

CACHE_LINE_WORDS = 16
"""int32 words per cache line."""

ABSENT, SEVERAL, INTERVALS = 0, -1, -2
"""In place of a space + 1: the event has no value on a domain, several of them, or also intervals."""

POINTS_MAX = 64
"""Up to this many values a set is looked up in the event; in a larger one, the event's values are looked up."""

FIRST_WORD, LAST_WORD, JUMP_WORD, STEP_WORDS = np.uint64(FIRST), np.uint64(LAST), np.uint64(JUMP), np.uint64(4)
"""Unsigned: Numba tests every signed index for being negative."""


@inline
def open_spaces(index, events, event, scratch):
    """Find the spaces of the event's entries, and note by domain where its values are."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:  # no subscription here asks for a later one
            k = i - begin
            scratch.low[k] = space_of(index.cut_start, index.cuts, domain, events.low[i])
            scratch.high[k] = scratch.low[k]
            if events.high[i] != events.low[i]:
                scratch.high[k] = space_of(index.cut_start, index.cuts, domain, events.high[i])
            note_value(scratch, domain, k)


@inline
def note_value(scratch, domain, k):
    """Note the value, or the interval, of entry k of a domain."""
    low, is_interval = scratch.low[k], scratch.low[k] != scratch.high[k]
    before = scratch.where[domain]
    if before == ABSENT:
        scratch.first_entry[domain] = k
        scratch.where[domain] = INTERVALS if is_interval else low + 1
    elif is_interval or before == INTERVALS:
        scratch.where[domain] = INTERVALS
    else:
        if before != SEVERAL:
            set_true(scratch.present, before - 1)
        set_true(scratch.present, low)
        scratch.where[domain] = SEVERAL


@inline
def close_spaces(index, events, event, scratch):
    """Leave every domain absent again."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:
            scratch.where[domain] = ABSENT
            scratch.present[np.uint32(scratch.low[i - begin]) >> np.uint32(6)] = 0


@inline
def open_clusters(index, events, event, scratch):
    """List the clusters on whose nodes the event has a value, each once; returns how many."""
    access, opened, clusters = index.access, scratch.opened, scratch.clusters
    opened[-1] += 1
    clusters[0] = 0
    count = 1
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain >= index.cut_start.size - 1:
            continue
        origin = index.cut_start[domain] + domain
        for v in range(access.variant_start[domain], access.variant_start[domain + 1]):
            level, half, first = access.variants[v, LEVEL], access.variants[v, HALF], access.variants[v, NODE_FIRST]
            low = ((scratch.low[i - begin] - origin + half) >> level) - first
            high = ((scratch.high[i - begin] - origin + half) >> level) - first
            for node in range(max(low, 0), min(high + 1, access.variants[v, NODES])):
                cluster = access.cluster[access.variants[v, TABLE] + node]
                if cluster >= 0 and opened[cluster] != opened[-1]:
                    opened[cluster] = opened[-1]
                    clusters[count] = cluster
                    count += 1
    return count


@inline
def in_list(lists, first, count, low, high):
    """Does low..high touch one of the `count` ranges from `first` on?"""
    at, stop = np.int64(first), np.int64(first + count)
    while at < stop:
        middle = (at + stop) >> 1
        if lists[2 * middle + 1] < low:
            at = middle + 1
        else:
            stop = middle
    return at < first + count and lists[2 * at] <= high


@inline
def touches(domain, first, last, is_range, lists, events, begin, end, scratch):
    """Does some entry of the domain touch the range first..last, or one of the `last` ranges from `first` on?"""
    k = scratch.first_entry[domain]
    while begin + k < end and events.domain[begin + k] == domain:
        low, high = scratch.low[k], scratch.high[k]
        if (low <= last and high >= first) if is_range else in_list(lists, first, last, low, high):
            return True
        k += 1
    return False


@inline
def any_present(present, lists, first, last, is_range):
    """Is one of the values in a set of single spaces: `first`, or those of the `last` ranges from `first` on?"""
    if is_range:
        return is_true(present, first)
    for i in range(np.uint64(2 * first), np.uint64(2 * (first + last)), np.uint64(2)):
        if is_true(present, lists[i]):
            return True
    return False


@inline
def test(head, first, last, lists, events, begin, end, scratch):
    """Is the predicate of an instruction true?"""
    domain = head >> FLAG_BITS
    where = scratch.where[np.uint64(domain)]
    if where == ABSENT:
        return False
    is_range = head & 3 == RANGE
    if where > 0:
        space = where - 1
        found = (first <= space and space <= last) if is_range else in_list(lists, first, last, space, space)
    elif where == SEVERAL and head & POINTS != 0 and (is_range or last <= POINTS_MAX):
        found = any_present(scratch.present, lists, first, last, is_range)
    else:
        found = touches(domain, first, last, is_range, lists, events, begin, end, scratch)
    return found != (head & NEGATED != 0)


@inline
def passes_guard(guard, posting, lists, events, begin, end, scratch):
    """Does the event touch one of the guard's ranges? A posting without a guard passes."""
    posting = np.uint64(posting)
    if guard[posting, 0] < 0:
        return True
    for w in range(0, GUARD_WORDS, 3):
        if guard[posting, w] < 0:
            return False
        is_point = guard[posting, w + 1] == guard[posting, w + 2]
        head = guard[posting, w] << FLAG_BITS | RANGE | (POINTS if is_point else 0)
        if test(head, guard[posting, w + 1], guard[posting, w + 2], lists, events, begin, end, scratch):
            return True
    return False


@inline
def accepts(words, program, lists, events, begin, end, scratch):
    """Run a program."""
    origin = np.uint64(program) + np.uint64(1)
    at, stop = origin, origin + np.uint64(words[np.uint64(program)])
    while at < stop:
        head, first, last = words[at], words[at + FIRST_WORD], words[at + LAST_WORD]
        kind, jumps = head & 3, True
        if kind == ASSIGN:
            scratch.registers[first] = last
        else:
            if kind == REGISTER:
                value = scratch.registers[first] != 0
            else:
                value = test(head, first, last, lists, events, begin, end, scratch)
            jumps = value == (head & JUMP_ON_TRUE != 0)
        if jumps:
            target = words[at + JUMP_WORD]
            if target < 0:
                return target == ACCEPT
            at = origin + np.uint64(target)
        else:
            at += STEP_WORDS
    return False


@inline
def find_candidates(index, events, event, scratch, clusters):
    """List the postings of the open clusters whose guard passes; returns how many."""
    postings, candidates = index.postings, scratch.candidates
    begin, end = events.start[event], events.start[event + 1]
    count = looked = 0
    for c in range(clusters):
        prefetch(postings.guard, postings.start[scratch.clusters[c]] * GUARD_WORDS)
    for c in range(clusters):
        cluster = scratch.clusters[c]
        for k in range(postings.start[cluster], postings.start[cluster + 1]):
            if passes_guard(postings.guard, k, index.lists, events, begin, end, scratch):
                candidates[np.uint64(count)] = k
                count += 1
                prefetch(postings.program, k)
                prefetch(postings.slot, k)
        looked += postings.start[cluster + 1] - postings.start[cluster]
    scratch.effort[1] += looked
    return count


@inline
def test_candidates(index, snapshot, events, event, scratch, count, out, written):
    """Write the slots of the candidates that hold; returns the new end of the output, or -1 if it is full."""
    postings, stamps, words = index.postings, scratch.stamps, index.words
    begin, end = events.start[event], events.start[event + 1]
    for c in range(count):
        if c + PREFETCH_PROGRAMS < count:
            ahead = postings.program[scratch.candidates[c + PREFETCH_PROGRAMS]]
            for line in range(PREFETCH_LINES):
                prefetch(words, ahead + line * CACHE_LINE_WORDS)
        k = scratch.candidates[c]
        slot = postings.slot[k]
        if slot < 0 and stamps[-1 - slot] == stamps[-1]:
            continue
        if accepts(words, postings.program[k], index.lists, events, begin, end, scratch):
            if written == out.slot.size:
                return np.int64(-1)
            written = emit(slot, snapshot, stamps, out, written)
    scratch.effort[0] += count
    return written


@kernel
def match_cover(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the candidates, effort[1] the postings whose guard is tested."""
    index, snapshot = unpack(index, CoverIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, CoverScratch), borrow(events, Events), borrow(out, Matches)
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        open_spaces(index, events, e, scratch)
        next_event(scratch.stamps)
        clusters = open_clusters(index, events, e, scratch)
        candidates = find_candidates(index, events, e, scratch, clusters)
        written = test_candidates(index, snapshot, events, e, scratch, candidates, out, written)
        close_spaces(index, events, e, scratch)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
