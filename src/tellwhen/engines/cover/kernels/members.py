"""Rule out members of chunks by bitmaps.

The members that an event may satisfy are the AND of one bitmap per column that must be true, and of the OR of one
bitmap per column of each clause.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ALTERNATIVES,
    BITMAP_SPAN,
    BITMAPS,
    CHUNK,
    CHUNK_HEADER,
    CHUNK_WORDS,
    CHUNKS_END,
    COLUMNS,
    FEWEST,
    GROUP_SHIFT,
    GUARD,
    MEMBERS,
    POSTING,
)
from tellwhen.engines.cover.kernels.guards import ALL
from tellwhen.engines.cover.kernels.values import NEIGHBOUR_BITMAPS, SEVERAL_BITMAPS, UNKNOWN_BITMAP
from tellwhen.kernels.bits import count_bitmap_words, count_bits, find_lowest_bit
from tellwhen.kernels.emit import emit
from tellwhen.kernels.jit import inline
from tellwhen.kernels.prefetch import prefetch

CACHE_LINE_LONGS = 8
"""int64 words per cache line."""

IN_GROUP = (1 << GROUP_SHIFT) - 1
"""Mask of a column's word without its group."""


@inline
def locate_next_chunk(records, chunk):
    """Return where the words of the next chunk begin."""
    return chunk + CHUNK_HEADER + records[chunk + COLUMNS] + records[chunk + ALTERNATIVES]


@inline
def has_enough_columns(chunk, records, scratch, row):
    """Return whether some member of a chunk may match by the number of its required columns.

    The event must have values in at least as many of these columns as the member that requires the fewest.
    """
    there = 0
    for k in range(chunk + CHUNK_HEADER, chunk + CHUNK_HEADER + records[chunk + COLUMNS]):
        there += scratch.bitmap[row + records[k] // (2 * BITMAP_SPAN)] != 0
    return there >= records[chunk + FEWEST]


@inline
def find_chunks(index, scratch, clusters):
    """List the chunks of the open clusters that may have a match: those for which `has_enough_columns` is true.

    Return their number.
    """
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
            scratch.chunks[count] = chunk
            count += has_enough_columns(chunk, records, scratch, 0)
            chunk = locate_next_chunk(records, chunk)
    return count


@inline
def prefetch_bitmaps(chunk, index, scratch):
    """Prefetch the bitmaps that the event selects."""
    records = index.chunks.words
    words = count_bitmap_words(records[chunk + MEMBERS])
    bitmaps = records[chunk + BITMAPS] + words
    for k in range(chunk + CHUNK_HEADER, locate_next_chunk(records, chunk)):
        record = records[k] & IN_GROUP
        bitmap = max(0, scratch.bitmap[record // (2 * BITMAP_SPAN)])
        prefetch(index.chunks.bits, bitmaps + (record % BITMAP_SPAN + bitmap) * words)


@inline
def and_bitmap(members, bits, bitmap, words):
    """Rule out the members whose bit in a bitmap is 0; return whether any member remains."""
    bitmap = np.uint64(bitmap)
    alive = np.uint64(0)
    if words == CHUNK_WORDS:  # a loop of fixed length is vectorised
        for w in range(np.uint64(CHUNK_WORDS)):
            members[w] &= bits[bitmap + w]
            alive |= members[w]
    else:
        for w in range(np.uint64(words)):
            members[w] &= bits[bitmap + w]
            alive |= members[w]
    return alive != 0


@inline
def or_bitmap(union, bits, bitmap, words):
    """Set the bits in `union` of the members whose bit in a bitmap is 1."""
    bitmap = np.uint64(bitmap)
    if words == CHUNK_WORDS:
        for w in range(np.uint64(CHUNK_WORDS)):
            union[w] |= bits[bitmap + w]
    else:
        for w in range(np.uint64(words)):
            union[w] |= bits[bitmap + w]


@inline
def join_bitmaps(column, first_bitmap, words, index, scratch, row):
    """Join the bitmaps of several values or neighbours: by OR or, for a negated column of several values, by AND."""
    bits, joined = index.chunks.bits, scratch.joined
    is_negated = column & 1 != 0 and scratch.bitmap[row + (column >> 1)] == SEVERAL_BITMAPS
    for w in range(np.uint64(words)):
        joined[w] = ALL if is_negated else np.uint64(0)
    left = scratch.buckets[row + (column >> 1)]
    while left != 0:
        at = np.uint64(first_bitmap + (np.int64(find_lowest_bit(left)) + 1) * words)
        left &= left - np.uint64(1)
        for w in range(np.uint64(words)):
            joined[w] = joined[w] & bits[at + w] if is_negated else joined[w] | bits[at + w]


@inline
def rule_out_members(chunk, index, scratch, row):
    """Set the bits of the members that the event may satisfy.

    Return whether any member remains, and whether bitmaps have decided all columns exactly.
    """
    records, members = index.chunks.words, scratch.members
    many = records[chunk + MEMBERS]
    words = count_bitmap_words(many)
    bitmaps = records[chunk + BITMAPS] + words
    for w in range(words):
        members[w] = ALL
    if many & 63:
        members[words - 1] = (np.uint64(1) << np.uint64(many & 63)) - np.uint64(1)
    is_sure = True
    clauses = chunk + CHUNK_HEADER + records[chunk + COLUMNS]
    for k in range(chunk + CHUNK_HEADER, clauses):
        column = records[k] // BITMAP_SPAN
        bitmap = scratch.bitmap[row + (column >> 1)]
        first_bitmap = bitmaps + (records[k] % BITMAP_SPAN) * words
        if bitmap >= 0:
            if not and_bitmap(members, index.chunks.bits, first_bitmap + bitmap * words, words):
                return False, True
        elif bitmap == UNKNOWN_BITMAP:
            is_sure = False
        else:
            is_sure &= bitmap != NEIGHBOUR_BITMAPS
            join_bitmaps(column, first_bitmap, words, index, scratch, row)
            if not and_bitmap(members, scratch.joined, 0, words):
                return False, True
    if records[chunk + ALTERNATIVES] > 0:
        any_left, is_exact = rule_out_by_clauses(
            clauses, locate_next_chunk(records, chunk), bitmaps, words, index, scratch, row
        )
        return any_left, is_sure and is_exact
    return True, is_sure


@inline
def rule_out_by_clauses(k, end, bitmaps, words, index, scratch, row):
    """Rule out members by the columns k:end of clauses, as `rule_out_members` does."""
    records, either = index.chunks.words, scratch.either
    is_sure = True
    while k < end:
        group = records[k] >> GROUP_SHIFT
        base = np.uint64(bitmaps + ((records[k] & IN_GROUP) % BITMAP_SPAN - 1) * words)
        for w in range(np.uint64(words)):
            either[w] = index.chunks.bits[base + w]
        is_known = True
        while k < end and records[k] >> GROUP_SHIFT == group:
            record = records[k] & IN_GROUP
            column = record // BITMAP_SPAN
            bitmap = scratch.bitmap[row + (column >> 1)]
            first_bitmap = bitmaps + (record % BITMAP_SPAN) * words
            if bitmap > 0:
                or_bitmap(either, index.chunks.bits, first_bitmap + bitmap * words, words)
            elif bitmap == UNKNOWN_BITMAP or (bitmap == SEVERAL_BITMAPS and column & 1):
                is_known = False  # no bitmap decides; or some members require all values, others one
            elif bitmap < 0:
                is_sure &= bitmap != NEIGHBOUR_BITMAPS
                join_bitmaps(column, first_bitmap, words, index, scratch, row)
                or_bitmap(either, scratch.joined, 0, words)
            k += 1
        if not is_known:  # the clause may be true for any member
            is_sure = False
        elif not and_bitmap(scratch.members, either, 0, words):
            return False, True
    return True, is_sure


@inline
def emit_members(members, posting, index, snapshot, scratch, out, written):
    """Write the slots of 64 postings whose bits are set; return the new end of the output, or -1 if it is full."""
    if np.int64(count_bits(members)) > out.slot.size - written:
        return np.int64(-1)
    slots, first = index.postings.slot, np.uint64(posting)
    is_clean = snapshot.removed == 0
    while members != 0:
        slot = slots[first + find_lowest_bit(members)]
        members &= members - np.uint64(1)
        if is_clean and slot >= 0:
            out.slot[np.uint64(written)] = slot
            written += 1
        else:
            written = emit(slot, snapshot, scratch.stamps, out, written)
    return written


@inline
def test_chunk(chunk, index, snapshot, scratch, candidates, out, written):
    """Write the members that certainly match, and list those whose program decides.

    Return the new end of the output, or -1 if it is full, and the new end of the candidates.
    """
    any_left, is_sure = rule_out_members(chunk, index, scratch, 0)
    if any_left:
        records, bits = index.chunks.words, index.chunks.bits
        survivors = 0
        for w in range(count_bitmap_words(records[chunk + MEMBERS])):
            left = scratch.members[w]
            undecided = left & bits[records[chunk + BITMAPS] + w] if is_sure else left
            posting = records[chunk + POSTING] + 64 * w
            survivors += np.int64(count_bits(left ^ undecided))
            written = emit_members(left ^ undecided, posting, index, snapshot, scratch, out, written)
            if written < 0:
                break
            while undecided != 0:
                k = posting + np.int64(find_lowest_bit(undecided))
                undecided &= undecided - np.uint64(1)
                scratch.candidates[candidates] = k if is_sure else -1 - k
                candidates += 1
        scratch.effort[0] += survivors
    return written, candidates
