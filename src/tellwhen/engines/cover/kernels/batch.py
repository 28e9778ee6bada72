"""Match a batch cluster by cluster, so that all events that open a cluster find its bitmaps in the cache.

This is faster if a block of events reads every bitmap more than once (dense data).

A block of events takes three passes. The first opens the clusters of each event. The second rules out members of each
chunk for all events that opened its cluster, and stages the remaining members. The third writes, event by event, what
is staged. The staged members of an event are in pages of their own, so that the third pass reads them sequentially.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    BITMAPS,
    CHAIN_COLUMNS,
    CHAIN_END,
    CHAIN_HEAD,
    CHAINS,
    CHUNK,
    CHUNK_HEADER,
    CHUNKS_END,
    DECIDED,
    MEMBERS,
    PAGE_COLUMNS,
    PAGE_END,
    PAGE_NEXT,
    PAGE_SIZE,
    POSTING,
    UNDECIDED,
    VISIT_COLUMNS,
    VISIT_NEXT,
    VISIT_ROW,
    BatchScratch,
    CoverIndex,
    CoverScratch,
)
from tellwhen.engines.cover.kernels.match import find_guarded_postings, open_clusters, test_candidates
from tellwhen.engines.cover.kernels.members import find_chunks, has_enough_columns, locate_next_chunk, rule_out_members
from tellwhen.engines.cover.kernels.values import close_bitmaps, close_spaces, open_spaces
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.bits import count_bitmap_words, find_lowest_bit
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel

STAGED_ELEMENTS_MAX = 64
"""Most elements that are staged at once."""

FIRST_BLOCK = 32
"""Events of the first block, from which the size of the next blocks is estimated."""


@inline
def locate_chain(row, kind):
    """Return where the chain of a kind begins in `chains`."""
    return CHAIN_COLUMNS * (CHAINS * row + kind)


@inline
def reserve_staging_room(batch, chain):
    """Return the index of room for STAGED_ELEMENTS_MAX more elements of a chain, or -1 if all pages are in use."""
    page, at = np.int64(batch.chains[chain + CHAIN_HEAD]), np.int64(batch.chains[chain + CHAIN_END])
    if page >= 0 and at + STAGED_ELEMENTS_MAX <= (page + 1) * PAGE_SIZE:
        return at
    fresh = batch.used[0]
    if PAGE_SIZE * (fresh + 1) > batch.staged.size:
        return np.int64(-1)
    if page >= 0:
        batch.pages[PAGE_COLUMNS * page + PAGE_END] = at
    batch.pages[PAGE_COLUMNS * fresh + PAGE_NEXT] = page
    batch.chains[chain + CHAIN_HEAD] = fresh
    batch.used[0] = fresh + 1
    return fresh * PAGE_SIZE


@inline
def note_visits(index, clusters, row, batch, met_count, visit):
    """Note the visits of a row's event to the open clusters that have chunks.

    Return the number of clusters that were met, and the number of visits.
    """
    for c in range(clusters):
        cluster = batch.cover.clusters[c]
        if index.clusters[cluster, CHUNK] < index.clusters[cluster, CHUNKS_END]:
            before = batch.first_visit[cluster]
            if before == 0:
                batch.met[met_count] = cluster
                met_count += 1
            batch.visits[VISIT_COLUMNS * visit + VISIT_ROW] = row
            batch.visits[VISIT_COLUMNS * visit + VISIT_NEXT] = before
            visit += 1
            batch.first_visit[cluster] = visit
    return met_count, visit


@inline
def stage_guarded_postings(candidates, row, batch):
    """Stage the first of scratch.candidates, the postings whose guard is true; return whether there was room."""
    chain = locate_chain(row, UNDECIDED)
    for first in range(0, candidates, STAGED_ELEMENTS_MAX):
        at = reserve_staging_room(batch, chain)
        if at < 0:
            return False
        for c in range(first, min(candidates, first + STAGED_ELEMENTS_MAX)):
            batch.staged[at] = batch.cover.candidates[c]
            at += 1
        batch.chains[chain + CHAIN_END] = at
    return True


@inline
def open_block(index, events, first, end, batch):
    """Open the clusters of the events first:end, note the visits to clusters with chunks, and stage other postings.

    Those are the postings that are in no chunk and whose guard is true.

    Return the first event without room, and the number of clusters that were met.
    """
    scratch, domains = batch.cover, index.cut_start.size - 1
    met, visit = np.int64(0), np.int64(0)
    for e in range(first, end):
        row = e - first
        if visit + index.clusters.shape[0] > batch.visits.size // VISIT_COLUMNS:
            return e, met
        batch.chains[locate_chain(row, DECIDED) + CHAIN_HEAD] = batch.chains[
            locate_chain(row, UNDECIDED) + CHAIN_HEAD
        ] = -1
        open_spaces(index, events, e, scratch, row * domains)
        clusters = open_clusters(index, events, e, scratch)
        met, visit = note_visits(index, clusters, row, batch, met, visit)
        candidates = find_guarded_postings(index, events, e, scratch, clusters, np.int64(0))
        close_spaces(index, events, e, scratch)
        if not stage_guarded_postings(candidates, row, batch):
            return np.int64(-1), met
    return end, met


@inline
def stage_word(members, posting, is_slot, is_sure, row, index, batch):
    """Stage the postings whose bits are set, or their slots; return whether there was room."""
    chain = locate_chain(row, DECIDED if is_slot else UNDECIDED)
    at = reserve_staging_room(batch, chain)
    if at < 0:
        return False
    slots, first, staged = index.postings.slot, np.uint64(posting), batch.staged
    while members != 0:
        k = first + find_lowest_bit(members)
        members &= members - np.uint64(1)
        if is_slot:
            staged[np.uint64(at)] = slots[k]
        else:
            staged[np.uint64(at)] = np.int64(k) if is_sure else -1 - np.int64(k)
        at += 1
    batch.chains[chain + CHAIN_END] = at
    return True


@inline
def stage_chunk(chunk, visit, index, batch):
    """Stage the remaining members of a chunk for all events from `visit` on; return whether there was room."""
    scratch, records, bits, domains = batch.cover, index.chunks.words, index.chunks.bits, index.cut_start.size - 1
    words = count_bitmap_words(records[chunk + MEMBERS])
    while visit != 0:
        row = np.int64(batch.visits[VISIT_COLUMNS * (visit - 1) + VISIT_ROW])
        visit = np.int64(batch.visits[VISIT_COLUMNS * (visit - 1) + VISIT_NEXT])
        if not has_enough_columns(chunk, records, scratch, row * domains):
            continue
        any_left, is_sure = rule_out_members(chunk, index, scratch, row * domains)
        if not any_left:
            continue
        for w in range(words):
            left = scratch.members[w]
            undecided = left & bits[records[chunk + BITMAPS] + w] if is_sure else left
            posting = records[chunk + POSTING] + 64 * w
            if left != undecided and not stage_word(left ^ undecided, posting, True, True, row, index, batch):
                return False
            if undecided != 0 and not stage_word(undecided, posting, False, is_sure, row, index, batch):
                return False
    return True


@inline
def stage_chunks(index, batch, met_count):
    """Stage the members of all chunks, and forget all visits; return whether there was room."""
    has_room = True
    for m in range(met_count):
        cluster = batch.met[m]
        visit = np.int64(batch.first_visit[cluster])
        batch.first_visit[cluster] = 0
        chunk, end = index.clusters[cluster, CHUNK], index.clusters[cluster, CHUNKS_END]
        while chunk < end and has_room:
            has_room = stage_chunk(chunk, visit, index, batch)
            chunk = locate_next_chunk(index.chunks.words, chunk)
    return has_room


@inline
def write_decided_slots(row, snapshot, batch, out, written):
    """Write the staged slots of an event, which match; return the new end of the output, or -1 if it is full."""
    stamps, staged, is_clean = batch.cover.stamps, batch.staged, snapshot.removed == 0
    chain = locate_chain(row, DECIDED)
    page, end = np.int64(batch.chains[chain + CHAIN_HEAD]), np.int64(batch.chains[chain + CHAIN_END])
    while page >= 0:
        if end - page * PAGE_SIZE > out.slot.size - written:
            return np.int64(-1)
        batch.cover.effort[0] += end - page * PAGE_SIZE
        for i in range(np.uint64(page * PAGE_SIZE), np.uint64(end)):
            slot = staged[i]
            if is_clean and slot >= 0:
                out.slot[np.uint64(written)] = slot
                written += 1
            else:
                written = emit(slot, snapshot, stamps, out, written)
        page = np.int64(batch.pages[PAGE_COLUMNS * page + PAGE_NEXT])
        end = np.int64(batch.pages[PAGE_COLUMNS * max(0, page) + PAGE_END])
    return written


@inline
def list_undecided(row, batch):
    """List the staged candidates of an event, whose programs decide; return how many."""
    chain = locate_chain(row, UNDECIDED)
    page, end = np.int64(batch.chains[chain + CHAIN_HEAD]), np.int64(batch.chains[chain + CHAIN_END])
    count = np.int64(0)
    while page >= 0:
        for i in range(page * PAGE_SIZE, end):
            batch.cover.candidates[count] = batch.staged[i]
            count += 1
        page = np.int64(batch.pages[PAGE_COLUMNS * page + PAGE_NEXT])
        end = np.int64(batch.pages[PAGE_COLUMNS * max(0, page) + PAGE_END])
    return count


@inline
def write_staged(index, snapshot, events, first, end, batch, out):
    """Write the matches of the events first:end; return the first event for which the output is full."""
    scratch, domains = batch.cover, index.cut_start.size - 1
    for e in range(first, end):
        advance_clock(scratch.stamps)
        written = write_decided_slots(e - first, snapshot, batch, out, out.start[e])
        candidates = list_undecided(e - first, batch)
        if written >= 0 and candidates > 0:
            open_spaces(index, events, e, scratch, (e - first) * domains)
            written = test_candidates(index, snapshot, events, e, scratch, candidates, out, written)
            close_spaces(index, events, e, scratch)
        if written < 0:
            return e
        out.start[e + 1] = written
    return end


@kernel
def count_bitmaps(index, scratch, events):
    """Count the bitmaps that the events read, at most."""
    index, scratch, events = unpack(index, CoverIndex), unpack(scratch, CoverScratch), borrow(events, Events)
    count = 0
    for e in range(events.single_valued.size):
        open_spaces(index, events, e, scratch, 0)
        chunks = find_chunks(index, scratch, open_clusters(index, events, e, scratch))
        for c in range(chunks):
            count += locate_next_chunk(index.chunks.words, scratch.chunks[c]) - scratch.chunks[c] - CHUNK_HEADER
        close_spaces(index, events, e, scratch)
        close_bitmaps(index, events, e, scratch, 0)
    return count


@kernel
def match_batch(index, snapshot, scratch, events, out, event):
    """Match as `match_cover` does, cluster by cluster."""
    index, snapshot = unpack(index, CoverIndex), unpack(snapshot, Snapshot)
    batch, events, out = unpack(scratch, BatchScratch), borrow(events, Events), borrow(out, Matches)
    domains, count, pages = index.cut_start.size - 1, events.single_valued.size, batch.staged.size // PAGE_SIZE
    most = min(batch.chains.size // (CHAINS * CHAIN_COLUMNS), batch.cover.bitmap.size // max(domains, 1))
    size = min(most, FIRST_BLOCK)
    while event < count:
        batch.used[0] = 0
        last = min(count, event + size)
        end, met = open_block(index, events, event, last, batch)
        has_room = stage_chunks(index, batch, met) and end >= 0
        done = write_staged(index, snapshot, events, event, end, batch, out) if has_room else event
        for e in range(event, last):
            close_bitmaps(index, events, e, batch.cover, (e - event) * domains)
        if not has_room:
            size = max(1, size // 2)
        elif done < end:
            return done
        else:  # the number that will probably fit
            size = max(1, min(most, (end - event) * pages * 3 // (4 * batch.used[0] + 1)))
        event = done
    return count
