"""Match event by event: open the clusters of its values, rule out members and postings, run the remaining programs."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ASSIGN,
    CLUSTER_COLUMNS,
    FIRST,
    GUARD,
    HALF,
    INSTRUCTION_WORDS,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LEVEL,
    NODE_FIRST,
    NODES,
    REGISTER,
    REST,
    REST_END,
    TABLE,
    CoverIndex,
    CoverScratch,
)
from tellwhen.engines.cover.kernels.guards import ANY, hash_event
from tellwhen.engines.cover.kernels.members import find_chunks, prefetch_bitmaps, test_chunk
from tellwhen.engines.cover.kernels.values import close_bitmaps, close_spaces, is_test_true, open_spaces
from tellwhen.kernels.arrays import ACCEPT, Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import close_event, is_satisfied, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch

PREFETCH_PROGRAMS, PREFETCH_LINES = 8, 3
"""Prefetch distance in candidates, and cache lines that are prefetched of each program."""

PREFETCH_CHUNKS = 2
"""Prefetch distance, in chunks."""

CACHE_LINE_WORDS = 16
"""int32 words per cache line."""

FIRST_WORD, LAST_WORD, JUMP_WORD, STEP_WORDS = (np.uint64(word) for word in (FIRST, LAST, JUMP, INSTRUCTION_WORDS))
"""Unsigned, because Numba tests every signed index for being negative."""


@inline
def open_clusters(index, events, event, scratch):
    """List the clusters on whose nodes the event has a value, each once; return how many."""
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
                    prefetch(index.clusters, np.int64(cluster) * CLUSTER_COLUMNS)
    return count


@inline
def is_program_true(words, program, events, begin, end, scratch):
    """Run a program; return its result."""
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
                value = is_test_true(head, first, last, words, events, begin, end, scratch)
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
def find_candidates(index, snapshot, events, event, scratch, clusters, out, written):
    """Write the matches that chunks decide, and list the postings whose program must be run.

    Return the new end of the output, or -1 if it is full, and the number of candidates.
    """
    count = np.int64(0)
    chunks = find_chunks(index, scratch, clusters)
    for c in range(chunks + PREFETCH_CHUNKS):
        if c < chunks:
            prefetch_bitmaps(scratch.chunks[c], index, scratch)
        if c >= PREFETCH_CHUNKS:
            chunk = scratch.chunks[c - PREFETCH_CHUNKS]
            written, count = test_chunk(chunk, index, snapshot, scratch, count, out, written)
            if written < 0:
                return written, count
    return written, find_guarded_postings(index, events, event, scratch, clusters, count)


@inline
def find_guarded_postings(index, events, event, scratch, clusters, count):
    """List the postings in no chunk whose guard is true, from `count` on; return the number of candidates."""
    postings, candidates = index.postings, scratch.candidates
    bits = hash_event(index, events, event, scratch)
    lacking = ~bits
    for c in range(clusters):
        cluster = scratch.clusters[c]
        guard = index.clusters[cluster, GUARD] - index.clusters[cluster, REST]
        for k in range(index.clusters[cluster, REST], index.clusters[cluster, REST_END]):
            needed = postings.guard[np.uint64(guard + k)]
            candidates[np.uint64(count)] = k
            count += (needed & bits != ANY) if needed & ANY else (needed & lacking == 0)
        scratch.effort[1] += index.clusters[cluster, REST_END] - index.clusters[cluster, REST]
    return count


@inline
def test_candidates(index, snapshot, events, event, scratch, count, out, written):
    """Write the slots of the candidates that match; return the new end of the output, or -1 if it is full."""
    postings, stamps, words = index.postings, scratch.stamps, index.words
    begin, end = events.start[event], events.start[event + 1]
    is_open = False
    for c in range(count):
        if c + PREFETCH_PROGRAMS < count:
            ahead = postings.program[max(0, scratch.candidates[c + PREFETCH_PROGRAMS])]
            for line in range(PREFETCH_LINES):
                prefetch(words, ahead + line * CACHE_LINE_WORDS)
        k, is_sure = scratch.candidates[c], True
        if k < 0:
            k, is_sure = -1 - k, False
        slot = postings.slot[k]
        if slot < 0 and stamps[-1 - slot] == stamps[-1]:
            continue
        if not (is_sure or is_open):
            open_event(events, event, scratch.entry)
            is_open = True
        if is_sure:
            holds = is_program_true(words, postings.program[k], events, begin, end, scratch)
        else:
            whole = slot if slot >= 0 else -1 - slot
            holds = is_satisfied(whole, snapshot, events, event, scratch.entry, scratch.truth, scratch.registers)
        if holds:
            if written == out.slot.size:
                written = np.int64(-1)
                break
            written = emit(slot, snapshot, stamps, out, written)
    if is_open:
        close_event(events, event, scratch.entry)
    scratch.effort[0] += count
    return written


@kernel
def match_cover(index, snapshot, scratch, events, out, event):
    """Match exactly, whatever values events have. effort[0] counts candidates, effort[1] tested guards."""
    index, snapshot = unpack(index, CoverIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, CoverScratch), borrow(events, Events), borrow(out, Matches)
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        open_spaces(index, events, e, scratch, 0)
        advance_clock(scratch.stamps)
        clusters = open_clusters(index, events, e, scratch)
        written, candidates = find_candidates(index, snapshot, events, e, scratch, clusters, out, written)
        if written >= 0:
            written = test_candidates(index, snapshot, events, e, scratch, candidates, out, written)
        close_spaces(index, events, e, scratch)
        close_bitmaps(index, events, e, scratch, 0)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
