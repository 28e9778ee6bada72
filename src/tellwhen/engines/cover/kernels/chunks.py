"""Which terms of a cluster are tested together? Up to 512 that ask for the same few columns: a chunk.

A *column* is a domain, asked for directly or negated. A chunk has a bitmap for every bucket of each of its
columns, and one for events without the domain: a bit for each member that such an event may still satisfy. The AND of
one bitmap per column decides all members at once.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    BITMAP_SPAN,
    BITMAPS,
    CHUNK_HEADER,
    CHUNK_MEMBERS,
    COLUMNS,
    FEWEST,
    MEMBERS,
    POSTING,
)
from tellwhen.engines.cover.kernels.bits import bitmap_words
from tellwhen.engines.cover.kernels.terms import has_registers
from tellwhen.engines.cover.kernels.tree import AND_NODE, BEGIN, END, KIND, divide, put_node
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, PROGRAM, REJECT
from tellwhen.kernels.jit import inline, kernel

COLUMNS_MAX = 40
"""Columns of a chunk."""

RARE_COLUMN = 32
"""A column that fewer than one in 32 ask for is not made; who asks for it is not in the chunk."""


@inline
def put_conjunct(p, ranges, begin, columns, predicates, count):
    """Note predicate p as a conjunct, unless its column has one; returns the new count, and whether it is noted."""
    column = 2 * ranges.domain[p] + ranges.negated[p]
    for k in range(begin, count):
        if columns[k] == column:
            return count, False
    columns[count], predicates[count] = column, p
    return count + 1, True


@kernel
def find_conjuncts(kind, start, code, ranges, is_exact, nodes, conjunct, is_whole):
    """The predicates that every event of a term must satisfy, each in a column of its own.

    is_whole[s] becomes True where the conjuncts are all there is to term s, and buckets tell them exactly.
    """
    conjunct_start, columns, predicates = conjunct
    count = 0
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        begin = count
        is_whole[s] = kind[s] == CONJUNCTION
        if kind[s] == CONJUNCTION:
            for i in range(first, last):
                count, is_noted = put_conjunct(code[i], ranges, begin, columns, predicates, count)
                is_whole[s] &= is_noted and is_exact[code[i]]
        elif kind[s] == PROGRAM and not has_registers(code, first, last):
            put_node(nodes, 0, 0, (last - first) // 3, ACCEPT, REJECT)
            end = divide(code, first, nodes, 0, 1)
            if nodes[0, KIND] == AND_NODE:
                for n in range(1, end):
                    p = code[first + 3 * nodes[n, BEGIN]]
                    if nodes[n, END] - nodes[n, BEGIN] == 1:
                        count, _ = put_conjunct(p, ranges, begin, columns, predicates, count)
        conjunct_start[s + 1] = count


@inline
def count_columns(members, first, last, wanted, conjunct_start, columns, counts, touched):
    """Count the columns of the members; of those only that have `wanted`, unless it is -1. Returns how many differ."""
    found = 0
    for m in range(first, last):
        s = members[m]
        if wanted >= 0 and not has_column(s, wanted, conjunct_start, columns):
            continue
        for k in range(conjunct_start[s], conjunct_start[s + 1]):
            c = columns[k]
            if counts[c] == 0:
                touched[found] = c
                found += 1
            counts[c] += 1
    return found


@inline
def has_column(s, column, conjunct_start, columns):
    """Does term s ask for the column?"""
    for k in range(conjunct_start[s], conjunct_start[s + 1]):
        if columns[k] == column:
            return True
    return False


@inline
def seed_of(counts, touched, found, members):
    """The commonest column that not all members have; else the commonest. -1 without any column."""
    seed = -1
    for k in range(found):
        c = touched[k]
        if counts[c] < members and (seed < 0 or counts[c] > counts[seed]):
            seed = c
    if seed < 0:
        for k in range(found):
            if seed < 0 or counts[touched[k]] > counts[seed]:
                seed = touched[k]
    return seed


@inline
def choose_columns(counts, touched, found, common, chosen):
    """Mark the commonest columns, and zero all counts."""
    marked = 0
    while marked < COLUMNS_MAX:
        best = -1
        for k in range(found):
            if best < 0 or counts[touched[k]] > counts[best]:
                best = touched[k]
        if best < 0 or counts[best] == 0 or counts[best] * RARE_COLUMN < common:
            break
        chosen[best] = True
        counts[best] = 0
        marked += 1
    for k in range(found):
        counts[touched[k]] = 0


@inline
def fits(s, conjunct_start, columns, chosen):
    """Are all columns of term s among the chosen ones?"""
    for k in range(conjunct_start[s], conjunct_start[s + 1]):
        if not chosen[columns[k]]:
            return False
    return True


@inline
def put_columns(chosen, touched, found, order, begin, end, conjunct, prices, weight, out, written):
    """Write the chosen columns that members begin:end have, those first that rule out most; returns the new end.

    `conjunct` is (start, column, predicate). Leaves `chosen` and `weight` all zero.
    """
    conjunct_start, columns, predicates = conjunct
    for m in range(begin, end):
        s = order[m]
        for k in range(conjunct_start[s], conjunct_start[s + 1]):
            weight[columns[k]] += 1.0 - min(0.999, prices[predicates[k]])
    first = written
    for k in range(found):
        c = touched[k]
        if chosen[c] and weight[c] > 0.0:
            at = written
            while at > first and weight[out[at - 1]] < weight[c]:
                out[at] = out[at - 1]
                at -= 1
            out[at] = c
            written += 1
        chosen[c] = False
    for at in range(first, written):
        weight[out[at]] = 0.0
    return written


@kernel
def cut_chunks(
    cluster_start,
    owners,
    conjunct,
    is_whole,
    prices,
    counts,
    weight,
    chosen,
    touched,
    left,
    order,
    least,
    chunks,
    columns,
):
    """Cut every cluster into chunks; what fits none comes behind them.

    owners[k] is the term of posting k. `order` gets the terms of every cluster in their new order. A chunk has at least
    `least` members. `chunks` is [begin, end, first column, columns, cluster] by chunk. Returns the number of chunks,
    and of their columns. The arrays from `counts` to `left` are scratch; the first three are zero for every column.
    """
    conjunct_start, column, _ = conjunct
    made = put = 0
    for c in range(cluster_start.size - 1):
        at, end = cluster_start[c], cluster_start[c + 1]
        last, tail = at, end
        for k in range(at, end):
            s = owners[k]
            if is_whole[s] or conjunct_start[s + 1] > conjunct_start[s]:
                left[last] = s
                last += 1
            else:  # nothing could rule it out
                tail -= 1
                left[tail] = s
        first = written = at  # left[at:first] have been given up
        while last - first >= least:
            found = count_columns(left, first, last, -1, conjunct_start, column, counts, touched)
            seed = seed_of(counts, touched, found, last - first)
            for k in range(found):
                counts[touched[k]] = 0
            found = count_columns(left, first, last, seed, conjunct_start, column, counts, touched)
            choose_columns(counts, touched, found, counts[seed] if seed >= 0 else 0, chosen)
            begin, kept = written, first
            for k in range(first, last):
                if fits(left[k], conjunct_start, column, chosen):
                    order[written] = left[k]
                    written += 1
                else:
                    left[kept] = left[k]
                    kept += 1
            if written - begin < least:
                for k in range(begin, written):
                    left[kept] = order[k]
                    kept += 1
                written = begin
                for k in range(found):
                    chosen[touched[k]] = False
                # Give up all that have the seed: they move to the front.
                for k in range(first, last):
                    if has_column(left[k], seed, conjunct_start, column):
                        left[k], left[first] = left[first], left[k]
                        first += 1
                continue
            last = kept
            first_column = put
            put = put_columns(chosen, touched, found, order, begin, written, conjunct, prices, weight, columns, put)
            for part in range(begin, written, CHUNK_MEMBERS):
                chunks[made, 0], chunks[made, 1] = part, min(written, part + CHUNK_MEMBERS)
                chunks[made, 2], chunks[made, 3], chunks[made, 4] = first_column, put - first_column, c
                made += 1
        for k in range(at, last):
            order[written] = left[k]
            written += 1
        for k in range(tail, end):
            order[written] = left[k]
            written += 1
    return made, put


@kernel
def size_bitmaps(chunks, columns, buckets, bitmap_start):
    """Where the bitmaps of every chunk begin."""
    total = 0
    for c in range(chunks.shape[0]):
        words = bitmap_words(chunks[c, 1] - chunks[c, 0])
        bitmap_start[c] = total
        total += words
        for k in range(chunks[c, 2], chunks[c, 2] + chunks[c, 3]):
            total += (buckets[columns[k] >> 1] + 1) * words
    bitmap_start[chunks.shape[0]] = total


@kernel
def fill_bitmaps(chunks, columns, buckets, bitmap_start, order, conjunct, is_whole, masks, position, bits):
    """Fill the bitmaps of all chunks: first one with a bit for every member whose program must be run.

    masks[p] has a bit for every bucket that predicate p may be true of. `position` is scratch, by column.
    """
    conjunct_start, column, predicate = conjunct
    one = np.uint64(1)
    for c in range(chunks.shape[0]):
        begin, end, first, many = chunks[c, 0], chunks[c, 1], chunks[c, 2], chunks[c, 3]
        words = bitmap_words(end - begin)
        at = bitmap_start[c] + words
        for k in range(first, first + many):
            position[columns[k]] = at
            at += (buckets[columns[k] >> 1] + 1) * words
        for w in range(bitmap_start[c], at):
            bits[w] = ~np.uint64(0)
        for m in range(begin, end):
            if is_whole[order[m]]:
                bits[bitmap_start[c] + ((m - begin) >> 6)] &= ~(one << np.uint64((m - begin) & 63))
        for m in range(begin, end):
            s = order[m]
            word, clear = (m - begin) >> 6, ~(one << np.uint64((m - begin) & 63))
            for k in range(conjunct_start[s], conjunct_start[s + 1]):
                bitmap = position[column[k]] + word
                mask = masks[predicate[k]]
                bits[bitmap] &= clear  # without the domain it cannot hold
                for b in range(buckets[column[k] >> 1]):
                    bitmap += words
                    if (mask >> np.uint64(b)) & one == 0:
                        bits[bitmap] &= clear


@kernel
def find_masks(ranges, cut_start, up, down, masks, is_exact):
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
        masks[p], is_exact[p] = ~mask if ranges.negated[p] else mask, exact


@kernel
def write_chunks(chunks, columns, buckets, bitmap_start, order, conjunct_start, words, offset):
    """Write the words of all chunks; offset[c] is where those of chunk c begin."""
    at = 0
    for c in range(chunks.shape[0]):
        begin, end, first, many = chunks[c, 0], chunks[c, 1], chunks[c, 2], chunks[c, 3]
        offset[c] = at
        fewest = many
        for m in range(begin, end):
            fewest = min(fewest, conjunct_start[order[m] + 1] - conjunct_start[order[m]])
        words[at + POSTING], words[at + MEMBERS], words[at + BITMAPS] = begin, end - begin, bitmap_start[c]
        words[at + COLUMNS], words[at + FEWEST] = many, fewest
        at += CHUNK_HEADER
        bitmap = 0
        for k in range(first, first + many):
            words[at] = BITMAP_SPAN * np.int64(columns[k]) + bitmap
            bitmap += buckets[columns[k] >> 1] + 1
            at += 1
    offset[chunks.shape[0]] = at
