"""Fill the bitmaps of chunks, which say what members an event with some value, or without one, may still satisfy.

A chunk has a bitmap of the members whose program must be run. Every column has a bitmap for events without the domain,
and one for each bucket of the domain's values. In a column that must be true, a 1 is a member that the event may still
satisfy. In a column of a clause, a 1 is a member whose clause is true. In front of the first column of a clause is a
bitmap of the members without that clause.

    |run program|column: absent, bucket 0, 1, ...|column ...|no clause 1|column: absent, 0, 1, ...|...
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
from tellwhen.engines.cover.build_arrays import (
    CUT_BEGIN,
    CUT_COLUMN,
    CUT_COLUMNS,
    CUT_END,
    CUT_PLAIN,
    Bitmaps,
    Cut,
    Ranges,
    Requirements,
)
from tellwhen.kernels.bits import count_bitmap_words
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel


@inline
def read_bounds(cut, c):
    """Return where the terms of chunk c begin and end, and where its columns do."""
    chunk = cut.chunks[c]
    return chunk[CUT_BEGIN], chunk[CUT_END], chunk[CUT_COLUMN], chunk[CUT_COLUMN] + chunk[CUT_COLUMNS]


@inline
def is_first_of_clause(columns, k, first, span):
    """Return whether column k is the first one of a clause, in a chunk whose columns begin at `first`."""
    group = columns[k] // span
    return group > 0 and (k == first or columns[k - 1] // span != group)


@inline
def count_buckets(column, span, buckets):
    """Return the number of buckets of a column's domain."""
    return np.int64(buckets[(column % span) >> 1])


@kernel
def write_bitmap_starts(cut, span, buckets, bitmap_start):
    """Write where the bitmaps of every chunk begin; buckets[d] is the number of buckets of domain d."""
    cut = unpack(cut, Cut)
    total = 0
    for c in range(cut.chunks.shape[0]):
        begin, end, first, last = read_bounds(cut, c)
        words = count_bitmap_words(end - begin)
        bitmap_start[c] = total
        total += words
        for k in range(first, last):
            bitmaps = is_first_of_clause(cut.columns, k, first, span) + count_buckets(cut.columns[k], span, buckets) + 1
            total += bitmaps * words
    bitmap_start[cut.chunks.shape[0]] = total


@inline
def clear_bitmaps(c, cut, span, bitmaps):
    """Fill the bitmaps of chunk c for members without conditions, and note where those of its columns begin."""
    bits = bitmaps.bits
    begin, end, first, last = read_bounds(cut, c)
    words = count_bitmap_words(end - begin)
    at = bitmaps.start[c] + words
    bits[bitmaps.start[c] : at] = ~np.uint64(0)
    for k in range(first, last):
        column = cut.columns[k]
        group = column // span
        if is_first_of_clause(cut.columns, k, first, span):
            bitmaps.group_start[group] = at
            bits[at : at + words] = ~np.uint64(0)
            at += words
        bitmaps.column_start[column] = at
        after = at + (count_buckets(column, span, bitmaps.buckets) + 1) * words
        bits[at:after] = ~np.uint64(0) if group == 0 else np.uint64(0)
        at = after


@inline
def put_condition(column, mask, word, bit, words, span, bitmaps):
    """Set or clear the bit of one member in the bitmaps of a column, for a predicate with a mask of buckets."""
    one, bits = np.uint64(1), bitmaps.bits
    bitmap, group = bitmaps.column_start[column] + word, column // span
    if group == 0:
        bits[bitmap] &= ~bit  # without the domain the predicate is false
    else:
        bits[bitmaps.group_start[group] + word] &= ~bit
    for b in range(count_buckets(column, span, bitmaps.buckets)):
        bitmap += words
        is_in = (mask >> np.uint64(b)) & one != 0
        if group > 0 and is_in:
            bits[bitmap] |= bit
        elif group == 0 and not is_in:
            bits[bitmap] &= ~bit


@kernel
def fill_bitmaps(cut, requirements, masks, is_decided, bitmaps):
    """Fill the bitmaps of all chunks.

    masks[p] has a bit for every bucket that predicate p may be true of. The programs of the postings in `is_decided`
    need not be run.
    """
    cut, requirements, bitmaps = unpack(cut, Cut), unpack(requirements, Requirements), unpack(bitmaps, Bitmaps)
    span = requirements.span
    for c in range(cut.chunks.shape[0]):
        clear_bitmaps(c, cut, span, bitmaps)
        begin, end, _, _ = read_bounds(cut, c)
        words = count_bitmap_words(end - begin)
        conditions = requirements.plain if cut.chunks[c, CUT_PLAIN] else requirements.all
        for m in range(begin, end):
            s = cut.terms[m]
            word, bit = (m - begin) >> 6, np.uint64(1) << np.uint64((m - begin) & 63)
            if is_decided[m]:
                bitmaps.bits[bitmaps.start[c] + word] &= ~bit
            for k in range(conditions.start[s], conditions.start[s + 1]):
                mask = masks[conditions.predicate[k]]
                put_condition(conditions.column[k], mask, word, bit, words, span, bitmaps)


@kernel
def write_masks(ranges, cut_start, next_bucket, previous_bucket, masks, is_exact):
    """Write the buckets that every predicate may be true of, as bits, and whether it is true of all values in them.

    next_bucket[x] is the bucket of space x or, for a space in no bucket, that of the next space in a bucket;
    previous_bucket[x] that of the space before.
    """
    ranges = unpack(ranges, Ranges)
    one = np.uint64(1)
    for p in range(masks.size):
        domain = ranges.domain[p]
        origin, end = cut_start[domain] + domain, cut_start[domain + 1] + domain
        mask, exact = np.uint64(0), True
        for i in range(ranges.start[p], ranges.start[p + 1]):
            first, last = ranges.first[i], ranges.last[i]
            low, high = np.int64(next_bucket[first]), np.int64(previous_bucket[last])
            # Does the range enter a bucket that it does not fill?
            cuts_low = first > origin and previous_bucket[first - 1] == low
            cuts_high = last < end and next_bucket[last + 1] == high
            exact &= not cuts_low and not cuts_high
            if ranges.negated[p]:  # only what it fills is ruled out
                low += cuts_low
                high -= cuts_high
            for b in range(low, high + 1):
                mask |= one << np.uint64(b)
            if low > high and not ranges.negated[p]:  # in a gap: bucket 0, which a complement is always in
                mask |= one
        masks[p], is_exact[p] = ~mask if ranges.negated[p] else mask, exact


@inline
def mark_negated_columns(terms, conditions, negated, is_negated):
    """Mark the columns in which some of the terms require a negated predicate."""
    for s in terms:
        for k in range(conditions.start[s], conditions.start[s + 1]):
            is_negated[conditions.column[k]] |= negated[conditions.predicate[k]] != 0


@inline
def clear_negated_columns(terms, conditions, is_negated):
    """Clear the marks that `mark_negated_columns` has set for these terms."""
    for s in terms:
        for k in range(conditions.start[s], conditions.start[s + 1]):
            is_negated[conditions.column[k]] = False


@kernel
def write_chunks(cut, requirements, negated, buckets, bitmap_start, is_negated, words, offset):
    """Write the header and the columns of all chunks to `words`; offset[c] is where chunk c begins.

    `is_negated` is scratch, by column: does some term of the chunk require a negated predicate in it?
    """
    cut, requirements = unpack(cut, Cut), unpack(requirements, Requirements)
    span, plain = requirements.span, requirements.plain
    at = 0
    for c in range(cut.chunks.shape[0]):
        begin, end, first, last = read_bounds(cut, c)
        terms = cut.terms[begin:end]
        mark_negated_columns(terms, requirements.all, negated, is_negated)
        offset[c] = at
        fewest = last - first
        for s in terms:
            fewest = min(fewest, plain.start[s + 1] - plain.start[s])
        words[at + POSTING], words[at + MEMBERS], words[at + BITMAPS] = begin, end - begin, bitmap_start[c]
        header = at
        at += CHUNK_HEADER
        bitmap = conjuncts = 0
        for k in range(first, last):
            group, column = cut.columns[k] // span, cut.columns[k] % span
            bitmap += is_first_of_clause(cut.columns, k, first, span)
            flag = np.int64(1) if group > 0 and is_negated[cut.columns[k]] else np.int64(0)
            words[at] = np.int64(group) << GROUP_SHIFT | (BITMAP_SPAN * (np.int64(column) + flag) + bitmap)
            bitmap += count_buckets(column, span, buckets) + 1
            conjuncts += group == 0
            at += 1
        words[header + COLUMNS], words[header + ALTERNATIVES] = conjuncts, last - first - conjuncts
        words[header + FEWEST] = fewest
        clear_negated_columns(terms, requirements.all, is_negated)
    offset[cut.chunks.shape[0]] = at
