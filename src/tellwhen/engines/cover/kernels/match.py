"""Match: open the clusters of an event's values, test the guards of their postings, then the programs."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ASSIGN,
    FIRST,
    FLAG_BITS,
    GUARD_WORDS,
    HALF,
    HEAD,
    INSTRUCTION_WORDS,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LEVEL,
    NEGATED,
    NODE_FIRST,
    NODES,
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
from tellwhen.kernels.spaces import space_of


@inline
def open_spaces(index, events, event, scratch):
    """Find the spaces of the event's entries, and note where those of each domain begin."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:  # no subscription here asks for a later one
            k = i - begin
            scratch.low[k] = space_of(index.cut_start, index.cuts, domain, events.low[i])
            scratch.high[k] = scratch.low[k]
            if events.high[i] != events.low[i]:
                scratch.high[k] = space_of(index.cut_start, index.cuts, domain, events.high[i])
            if scratch.first_entry[domain] == 0:
                scratch.first_entry[domain] = k + 1


@inline
def close_spaces(index, events, event, scratch):
    """Leave `first_entry` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        if events.domain[i] < index.cut_start.size - 1:
            scratch.first_entry[events.domain[i]] = 0


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
def touches(domain, first, last, is_range, lists, events, begin, end, scratch):
    """Does some entry of the domain touch the range first..last, or one of the `last` ranges from `first` on?"""
    k = scratch.first_entry[domain] - 1
    while begin + k < end and events.domain[begin + k] == domain:
        if is_range:
            if scratch.low[k] <= last and scratch.high[k] >= first:
                return True
        else:
            at, stop = np.int64(first), np.int64(first + last)
            while at < stop:
                middle = (at + stop) >> 1
                if lists[2 * middle + 1] < scratch.low[k]:
                    at = middle + 1
                else:
                    stop = middle
            if at < first + last and lists[2 * at] <= scratch.high[k]:
                return True
        k += 1
    return False


@inline
def passes_guard(guard, posting, lists, events, begin, end, scratch):
    """Does the event touch one of the guard's ranges? A posting without a guard passes."""
    if guard[posting, 0] < 0:
        return True
    for w in range(0, GUARD_WORDS, 3):
        domain = guard[posting, w]
        if domain < 0:
            return False
        if scratch.first_entry[domain] > 0 and touches(
            domain, guard[posting, w + 1], guard[posting, w + 2], True, lists, events, begin, end, scratch
        ):
            return True
    return False


@inline
def accepts(words, program, lists, events, begin, end, scratch):
    """Run a program."""
    origin = program + 1
    at, stop = origin, origin + words[program]
    while at < stop:
        head, first, last = words[at + HEAD], words[at + FIRST], words[at + LAST]
        kind, jumps = head & 3, True
        if kind == ASSIGN:
            scratch.registers[first] = last
        else:
            if kind == REGISTER:
                value = scratch.registers[first] != 0
            else:
                domain = head >> FLAG_BITS
                value = False
                if scratch.first_entry[domain] > 0:
                    is_touched = touches(domain, first, last, kind == RANGE, lists, events, begin, end, scratch)
                    value = is_touched != (head & NEGATED != 0)
            jumps = value == (head & JUMP_ON_TRUE != 0)
        if jumps:
            target = words[at + JUMP]
            if target < 0:
                return target == ACCEPT
            at = origin + target
        else:
            at += INSTRUCTION_WORDS
    return False


@inline
def test_cluster(cluster, index, snapshot, events, begin, end, scratch, out, written):
    """Write the slots of a cluster's postings that hold; returns the new end of the output, or -1 if it is full."""
    postings, stamps, lists = index.postings, scratch.stamps, index.lists
    programs = 0
    for k in range(postings.start[cluster], postings.start[cluster + 1]):
        if not passes_guard(postings.guard, k, lists, events, begin, end, scratch):
            continue
        slot = postings.slot[k]
        if slot < 0 and stamps[-1 - slot] == stamps[-1]:
            continue
        programs += 1
        if accepts(index.words, postings.program[k], lists, events, begin, end, scratch):
            if written == out.slot.size:
                return np.int64(-1)
            written = emit(slot, snapshot, stamps, out, written)
    scratch.effort[0] += programs
    scratch.effort[1] += postings.start[cluster + 1] - postings.start[cluster]
    return written


@kernel
def match_cover(index, snapshot, scratch, events, out, event):
    """Exact for all events. effort[0] counts the programs that are run, effort[1] the postings looked at."""
    index, snapshot = unpack(index, CoverIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, CoverScratch), borrow(events, Events), borrow(out, Matches)
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        begin, end = events.start[e], events.start[e + 1]
        open_spaces(index, events, e, scratch)
        next_event(scratch.stamps)
        for c in range(open_clusters(index, events, e, scratch)):
            written = test_cluster(scratch.clusters[c], index, snapshot, events, begin, end, scratch, out, written)
            if written < 0:
                break
        close_spaces(index, events, e, scratch)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
