"""Match: open the clusters of an event's values, rule out members of chunks and postings, run the programs left."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ASSIGN,
    BITMAP_SPAN,
    BITMAPS,
    CHUNK,
    CHUNK_HEADER,
    CHUNK_WORDS,
    CHUNKS_END,
    CLUSTER_COLUMNS,
    COLUMNS,
    FEWEST,
    FIRST,
    GUARD,
    HALF,
    INSTRUCTION_WORDS,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LEVEL,
    MEMBERS,
    NODE_FIRST,
    NODES,
    POSTING,
    REGISTER,
    REST,
    REST_END,
    TABLE,
    CoverIndex,
    CoverScratch,
)
from tellwhen.engines.cover.kernels.bits import bitmap_words, count_bits, lowest_bit
from tellwhen.engines.cover.kernels.guards import ALL, ANY, event_bits
from tellwhen.engines.cover.kernels.values import (
    UNKNOWN_BITMAP,
    close_spaces,
    open_spaces,
    test,
)
from tellwhen.kernels.arrays import ACCEPT, Events, Matches, Snapshot
from tellwhen.kernels.emit import emit, next_event
from tellwhen.kernels.evaluate import close_event, is_satisfied, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch

PREFETCH_PROGRAMS, PREFETCH_LINES = 8, 3
"""Prefetch distance, in candidates, and how many cache lines of each program."""

PREFETCH_CHUNKS = 2
"""Prefetch distance, in chunks."""

CACHE_LINE_WORDS, CACHE_LINE_LONGS = 16, 8
"""int32 and int64 words per cache line."""

FIRST_WORD, LAST_WORD, JUMP_WORD, STEP_WORDS = (np.uint64(word) for word in (FIRST, LAST, JUMP, INSTRUCTION_WORDS))
"""Unsigned: Numba tests every signed index for being negative."""


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
                    prefetch(index.clusters, np.int64(cluster) * CLUSTER_COLUMNS)
    return count


@inline
def accepts(words, program, events, begin, end, scratch):
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
                value = test(head, first, last, words, events, begin, end, scratch)
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
def and_bitmap(members, bits, bitmap, words):
    """Rule out the members whose bit in a bitmap is 0; returns whether any is left."""
    bitmap = np.uint64(bitmap)
    alive = np.uint64(0)
    if words == CHUNK_WORDS:  # a fixed number of words becomes vectors
        for w in range(np.uint64(CHUNK_WORDS)):
            members[w] &= bits[bitmap + w]
            alive |= members[w]
    else:
        for w in range(np.uint64(words)):
            members[w] &= bits[bitmap + w]
            alive |= members[w]
    return alive != 0


@inline
def and_bitmaps(column, first_bitmap, words, index, scratch):
    """The same for a domain with several values: one of them must do or, if the column is negated, all of them."""
    bits, joined, is_negated = index.chunks.bits, scratch.joined, column & 1 != 0
    for w in range(np.uint64(words)):
        joined[w] = ALL if is_negated else np.uint64(0)
    left = scratch.buckets[column >> 1]
    while left != 0:
        at = np.uint64(first_bitmap + (np.int64(lowest_bit(left)) + 1) * words)
        left &= left - np.uint64(1)
        for w in range(np.uint64(words)):
            joined[w] = joined[w] & bits[at + w] if is_negated else joined[w] | bits[at + w]
    return and_bitmap(scratch.members, joined, 0, words)


@inline
def rule_out(chunk, index, scratch):
    """Leave the bits of those members that the event may satisfy; returns whether any is left, and whether bitmaps tell
    all that there is to tell."""
    records = index.chunks.words
    many = records[chunk + MEMBERS]
    words = bitmap_words(many)
    bitmaps = records[chunk + BITMAPS] + words
    for w in range(words):
        scratch.members[w] = ALL
    if many & 63:
        scratch.members[words - 1] = (np.uint64(1) << np.uint64(many & 63)) - np.uint64(1)
    is_sure = True
    for k in range(chunk + CHUNK_HEADER, chunk + CHUNK_HEADER + records[chunk + COLUMNS]):
        column = records[k] // BITMAP_SPAN
        bitmap = scratch.bitmap[column >> 1]
        first_bitmap = bitmaps + (records[k] % BITMAP_SPAN) * words
        if bitmap >= 0:
            if not and_bitmap(scratch.members, index.chunks.bits, first_bitmap + bitmap * words, words):
                return False, True
        elif bitmap == UNKNOWN_BITMAP:
            is_sure = False
        elif not and_bitmaps(column, first_bitmap, words, index, scratch):
            return False, True
    return True, is_sure


@inline
def emit_members(members, posting, index, snapshot, scratch, out, written):
    """Write the slots of 64 postings whose bits are set; returns the new end of the output, or -1 if it is full."""
    if np.int64(count_bits(members)) > out.slot.size - written:
        return np.int64(-1)
    slots, first = index.postings.slot, np.uint64(posting)
    is_clean = snapshot.removed == 0
    while members != 0:
        slot = slots[first + lowest_bit(members)]
        members &= members - np.uint64(1)
        if is_clean and slot >= 0:
            out.slot[np.uint64(written)] = slot
            written += 1
        else:
            written = emit(slot, snapshot, scratch.stamps, out, written)
    return written


@inline
def test_chunk(chunk, index, snapshot, scratch, candidates, out, written):
    """Write the members that hold for certain, and list those whose program decides; returns the new end of the
    output, or -1 if it is full, and of the candidates."""
    any_left, is_sure = rule_out(chunk, index, scratch)
    if any_left:
        records, bits = index.chunks.words, index.chunks.bits
        survivors = 0
        for w in range(bitmap_words(records[chunk + MEMBERS])):
            left = scratch.members[w]
            undecided = left & bits[records[chunk + BITMAPS] + w] if is_sure else left
            posting = records[chunk + POSTING] + 64 * w
            survivors += np.int64(count_bits(left ^ undecided))
            written = emit_members(left ^ undecided, posting, index, snapshot, scratch, out, written)
            if written < 0:
                break
            while undecided != 0:
                k = posting + np.int64(lowest_bit(undecided))
                undecided &= undecided - np.uint64(1)
                scratch.candidates[candidates] = k if is_sure else -1 - k
                candidates += 1
        scratch.effort[0] += survivors
    return written, candidates


@inline
def next_chunk(records, chunk):
    """Where the words of the next chunk begin."""
    return chunk + CHUNK_HEADER + records[chunk + COLUMNS]


@inline
def find_chunks(index, scratch, clusters):
    """List the chunks of the open clusters that the event has enough columns for; returns how many."""
    records = index.chunks.words
    count = 0
    for c in range(clusters):
        cluster = scratch.clusters[c]
        prefetch(records, index.clusters[cluster, CHUNK])
        prefetch(records, index.clusters[cluster, CHUNK] + CACHE_LINE_LONGS)
        prefetch(index.postings.guard, index.clusters[cluster, GUARD])
    for c in range(clusters):
        chunk, end = index.clusters[scratch.clusters[c], CHUNK], index.clusters[scratch.clusters[c], CHUNKS_END]
        while chunk < end:
            after = next_chunk(records, chunk)
            there = 0
            for k in range(chunk + CHUNK_HEADER, after):
                there += scratch.bitmap[records[k] // (2 * BITMAP_SPAN)] != 0
            scratch.chunks[count] = chunk
            count += there >= records[chunk + FEWEST]
            chunk = after
    return count


@inline
def prefetch_bitmaps(chunk, index, scratch):
    """Prefetch the bitmaps that the event selects."""
    records = index.chunks.words
    words = bitmap_words(records[chunk + MEMBERS])
    bitmaps = records[chunk + BITMAPS] + words
    for k in range(chunk + CHUNK_HEADER, next_chunk(records, chunk)):
        bitmap = max(0, scratch.bitmap[records[k] // (2 * BITMAP_SPAN)])
        prefetch(index.chunks.bits, bitmaps + (records[k] % BITMAP_SPAN + bitmap) * words)


@inline
def find_candidates(index, snapshot, events, event, scratch, clusters, out, written):
    """Write what chunks decide, and list the postings whose program must be run; returns the new end of the output, or
    -1 if it is full, and how many candidates there are."""
    postings, candidates = index.postings, scratch.candidates
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
    bits = event_bits(index, events, event, scratch)
    lacking = ~bits
    for c in range(clusters):
        cluster = scratch.clusters[c]
        guard = index.clusters[cluster, GUARD] - index.clusters[cluster, REST]
        for k in range(index.clusters[cluster, REST], index.clusters[cluster, REST_END]):
            needed = postings.guard[np.uint64(guard + k)]
            candidates[np.uint64(count)] = k
            count += (needed & bits != ANY) if needed & ANY else (needed & lacking == 0)
        scratch.effort[1] += index.clusters[cluster, REST_END] - index.clusters[cluster, REST]
    return written, count


@inline
def test_candidates(index, snapshot, events, event, scratch, count, out, written):
    """Write the slots of the candidates that hold; returns the new end of the output, or -1 if it is full."""
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
            holds = accepts(words, postings.program[k], events, begin, end, scratch)
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
    """Exact for all events. effort[0] counts the candidates, effort[1] the postings whose guard is tested."""
    index, snapshot = unpack(index, CoverIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, CoverScratch), borrow(events, Events), borrow(out, Matches)
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        open_spaces(index, events, e, scratch)
        next_event(scratch.stamps)
        clusters = open_clusters(index, events, e, scratch)
        written, candidates = find_candidates(index, snapshot, events, e, scratch, clusters, out, written)
        if written >= 0:
            written = test_candidates(index, snapshot, events, e, scratch, candidates, out, written)
        close_spaces(index, events, e, scratch)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
