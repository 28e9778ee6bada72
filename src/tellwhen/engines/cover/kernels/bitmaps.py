"""Chunks -> bitmaps: which members may an event with this value, or without one, still satisfy?

A chunk has a bitmap of the members whose program must be run, and for every column one for events without the domain,
and one for each bucket of its values. In a column that must be true, a 1 is a member that the event may still satisfy.
In a column of a clause, a 1 is a member whose clause is true; before the first column of a clause is a bitmap of the
members that have no such clause.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ALTERNATIVES,
    BITMAP_SPAN,
    BITMAPS,
    CHUNK_HEADER,
    COLUMNS,
    FEWEST,
    GROUP_SHIFT,
    MEMBERS,
    POSTING,
)
from tellwhen.engines.cover.kernels.chunks import CUT_BEGIN, CUT_COLUMN, CUT_COLUMNS, CUT_END, CUT_PLAIN
from tellwhen.kernels.bits import bitmap_words
from tellwhen.kernels.jit import inline, kernel


@inline
def read_bounds(chunks, c):
    """Of chunk c: its first term and where its terms end, its first column and how many it has."""
    return chunks[c, CUT_BEGIN], chunks[c, CUT_END], chunks[c, CUT_COLUMN], chunks[c, CUT_COLUMNS]


@inline
def count_group_bitmaps(columns, k, first, span):
    """Bitmaps before those of column k: one if it is the first of a clause."""
    group = columns[k] // span
    return 1 if group > 0 and (k == first or columns[k - 1] // span != group) else 0


@kernel
def write_bitmap_starts(cut, bitmap_start):
    """Where the bitmaps of every chunk begin."""
    _, chunks, columns, span, buckets = cut
    total = 0
    for c in range(chunks.shape[0]):
        begin, end, first, many = read_bounds(chunks, c)
        words = bitmap_words(end - begin)
        bitmap_start[c] = total
        total += words
        for k in range(first, first + many):
            total += (count_group_bitmaps(columns, k, first, span) + buckets[(columns[k] % span) >> 1] + 1) * words
    bitmap_start[chunks.shape[0]] = total


@kernel
def fill_bitmaps(cut, bitmap_start, asked, plain, is_decided, masks, scratch, bits):
    """Fill the bitmaps of all chunks.

    masks[p] has a bit for every bucket that predicate p may be true of. `scratch` has room for every column, and for
    every group.
    """
    order, chunks, columns, span, buckets = cut
    position, base = scratch
    one = np.uint64(1)
    for c in range(chunks.shape[0]):
        begin, end, first, many = read_bounds(chunks, c)
        words = bitmap_words(end - begin)
        at = bitmap_start[c] + words
        bits[bitmap_start[c] : at] = ~np.uint64(0)
        for k in range(first, first + many):
            group = columns[k] // span
            if count_group_bitmaps(columns, k, first, span):
                base[group] = at
                bits[at : at + words] = ~np.uint64(0)
                at += words
            position[columns[k]] = at
            after = at + (buckets[(columns[k] % span) >> 1] + 1) * words
            bits[at:after] = ~np.uint64(0) if group == 0 else np.uint64(0)
            at = after
        start, column, predicate = plain if chunks[c, CUT_PLAIN] else asked
        for m in range(begin, end):
            s = order[m]
            word, bit = (m - begin) >> 6, one << np.uint64((m - begin) & 63)
            if is_decided[m]:
                bits[bitmap_start[c] + word] &= ~bit
            for k in range(start[s], start[s + 1]):
                bitmap = position[column[k]] + word
                mask = masks[predicate[k]]
                group = column[k] // span
                if group == 0:
                    bits[bitmap] &= ~bit  # without the domain it cannot hold
                else:
                    bits[base[group] + word] &= ~bit
                for b in range(buckets[(column[k] % span) >> 1]):
                    bitmap += words
                    is_in = (mask >> np.uint64(b)) & one != 0
                    if group > 0 and is_in:
                        bits[bitmap] |= bit
                    elif group == 0 and not is_in:
                        bits[bitmap] &= ~bit


@kernel
def write_masks(ranges, cut_start, up, down, masks, is_exact):
    """By predicate: the buckets that it may be true of, as bits, and whether that is exact.

    up[x] is the bucket of space x or, where that is in none, of the next space that is; down[x] that of the one before.
    """
    one = np.uint64(1)
    for p in range(masks.size):
        domain = ranges.domain[p]
        origin, end = cut_start[domain] + domain, cut_start[domain + 1] + domain
        mask, exact = np.uint64(0), True
        for i in range(ranges.start[p], ranges.start[p + 1]):
            first, last = ranges.first[i], ranges.last[i]
            low, high = np.int64(up[first]), np.int64(down[last])
            # Does the range enter a bucket that it does not fill?
            cuts_low = first > origin and down[first - 1] == low
            cuts_high = last < end and up[last + 1] == high
            exact &= not cuts_low and not cuts_high
            if ranges.negated[p]:  # only what it fills is ruled out
                low += cuts_low
                high -= cuts_high
            for b in range(low, high + 1):
                mask |= one << np.uint64(b)
            if low > high and not ranges.negated[p]:  # in a gap: bucket 0, which a complement is always in
                mask |= one
        masks[p], is_exact[p] = ~mask if ranges.negated[p] else mask, exact


@kernel
def write_chunks(cut, bitmap_start, asked, plain_start, negated, is_mixed, words, offset):
    """Write the words of all chunks; offset[c] is where those of chunk c begin. `is_mixed` is scratch, by column."""
    order, chunks, columns, span, buckets = cut
    asked_start, asked_column, predicate = asked
    at = 0
    for c in range(chunks.shape[0]):
        begin, end, first, many = read_bounds(chunks, c)
        offset[c] = at
        fewest = many
        for m in range(begin, end):
            s = order[m]
            fewest = min(fewest, plain_start[s + 1] - plain_start[s])
            for k in range(asked_start[s], asked_start[s + 1]):
                is_mixed[asked_column[k]] |= negated[predicate[k]] != 0
        words[at + POSTING], words[at + MEMBERS], words[at + BITMAPS] = begin, end - begin, bitmap_start[c]
        header = at
        at += CHUNK_HEADER
        bitmap = must = 0
        for k in range(first, first + many):
            group, column = columns[k] // span, columns[k] % span
            bitmap += count_group_bitmaps(columns, k, first, span)
            flag = np.int64(1) if group > 0 and is_mixed[columns[k]] else np.int64(0)
            words[at] = np.int64(group) << GROUP_SHIFT | (BITMAP_SPAN * (np.int64(column) + flag) + bitmap)
            bitmap += buckets[column >> 1] + 1
            must += group == 0
            at += 1
        words[header + COLUMNS], words[header + ALTERNATIVES], words[header + FEWEST] = must, many - must, fewest
        for m in range(begin, end):
            s = order[m]
            for k in range(asked_start[s], asked_start[s + 1]):
                is_mixed[asked_column[k]] = False
    offset[chunks.shape[0]] = at
