"""Which terms of a cluster are tested together? Up to 512 that ask for the same few columns: a chunk.

A chunk has a bitmap for every bucket of each of its columns, and one for events without the domain. The AND of one
bitmap per column that must be true, and of the OR of one per column of a clause, decides all members at once.
"""

from __future__ import annotations

from tellwhen.engines.cover.arrays import CHUNK_MEMBERS
from tellwhen.kernels.jit import inline, kernel

COLUMNS_MAX, ALTERNATIVES_MAX = 40, 200
"""The most columns of a chunk that must be true, and the most columns of clauses."""

RARE_COLUMN, RARE_ALTERNATIVE = 32, 256
"""A column is too rare for a chunk if fewer than 1 in 32 of the terms with its seed column ask for it, or 1 in 256 for
a column of a clause. Terms that ask for such a column are not in the chunk."""

MEMBERS_PER_ALTERNATIVE = 4
"""The fewest members of a chunk for each of its columns of clauses, whose bitmaps are mostly zeros."""

CUT_BEGIN, CUT_END, CUT_COLUMN, CUT_COLUMNS, CUT_CLUSTER, CUT_PLAIN, CUT_WORDS = range(7)
"""Of a chunk: where its terms begin and end, its first column and the number of columns, its cluster, and whether the
clauses of its terms are left out."""


@inline
def count_columns(members, first, last, wanted, conjunct_start, columns, counts, touched):
    """Count the columns of the members, or only of those with column `wanted` if it is not -1. Returns the number of
    distinct columns."""
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
def seed_of(counts, touched, found, members, span):
    """The commonest column that must be true and that not all members have; else the commonest of all. -1 without
    any column."""
    seed = -1
    for k in range(found):
        c = touched[k]
        if c < span and counts[c] < members and (seed < 0 or counts[c] > counts[seed]):
            seed = c
    if seed < 0:
        for k in range(found):
            if seed < 0 or counts[touched[k]] > counts[seed]:
                seed = touched[k]
    return seed


@inline
def choose_columns(counts, touched, found, common, span, chosen):
    """Mark the commonest columns, and zero all counts; returns how many columns of clauses are marked."""
    must = alternatives = 0
    while True:
        best = -1
        for k in range(found):
            if best < 0 or counts[touched[k]] > counts[best]:
                best = touched[k]
        if best < 0 or counts[best] == 0:
            break
        if best < span:
            is_chosen = must < COLUMNS_MAX and counts[best] * RARE_COLUMN >= common
            must += is_chosen
        else:
            is_chosen = alternatives < ALTERNATIVES_MAX and counts[best] * RARE_ALTERNATIVE >= common
            alternatives += is_chosen
        chosen[best] = is_chosen
        counts[best] = 0
    return alternatives


@inline
def fits(s, conjunct_start, columns, chosen):
    """Are all columns of term s among the chosen ones?"""
    for k in range(conjunct_start[s], conjunct_start[s + 1]):
        if not chosen[columns[k]]:
            return False
    return True


@inline
def comes_after(other, c, span, weight):
    """Is another column written behind column c?"""
    return other // span > c // span or (other // span == c // span and weight[other] < weight[c])


@inline
def put_columns(chosen, touched, found, order, begin, end, conjunct, prices, span, weight, out, written):
    """Write the chosen columns that members begin:end have, group by group, those first that rule out most; returns the
    new end.

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
            while at > first and comes_after(out[at - 1], c, span, weight):
                out[at] = out[at - 1]
                at -= 1
            out[at] = c
            written += 1
        chosen[c] = False
    for at in range(first, written):
        weight[out[at]] = 0.0
    return written


@inline
def cut_off(first, last, written, least, span, conjunct, prices, scratch, order, columns, put):
    """Make a chunk of some of the terms left[first:last], in order[written:]; returns the new `first`, `last`,
    `written` and end of the columns. If too few fit, it gives some up: they stay in front of the new `first`."""
    counts, weight, chosen, touched, left = scratch
    conjunct_start, column, _ = conjunct
    found = count_columns(left, first, last, -1, conjunct_start, column, counts, touched)
    seed = seed_of(counts, touched, found, last - first, span)
    for k in range(found):
        counts[touched[k]] = 0
    found = count_columns(left, first, last, seed, conjunct_start, column, counts, touched)
    alternatives = choose_columns(counts, touched, found, counts[seed] if seed >= 0 else 0, span, chosen)
    begin, kept = written, first
    for k in range(first, last):
        if fits(left[k], conjunct_start, column, chosen):
            order[written] = left[k]
            written += 1
        else:
            left[kept] = left[k]
            kept += 1
    if written - begin >= max(least, MEMBERS_PER_ALTERNATIVE * alternatives):
        put = put_columns(chosen, touched, found, order, begin, written, conjunct, prices, span, weight, columns, put)
        return first, kept, written, put
    for k in range(begin, written):
        left[kept] = order[k]
        kept += 1
    for k in range(found):
        chosen[touched[k]] = False
    for k in range(first, last):  # give up all that have the seed
        if has_column(left[k], seed, conjunct_start, column):
            left[k], left[first] = left[first], left[k]
            first += 1
    return first, last, begin, put


@kernel
def cut_chunks(cluster_start, owners, asked, plain, is_whole, prices, span, least, scratch, order, chunks, columns):
    """Cut every cluster into chunks; what fits none comes behind them.

    owners[k] is the term of posting k. `order` gets the terms of every cluster in their new order. A chunk has at least
    `least` members, with all that they ask for or, where too few have that in common, without their clauses (`plain`).
    `scratch` is CutScratch. Returns the number of chunks, and of their columns.
    """
    left = scratch[4]
    made = put = 0
    for c in range(cluster_start.size - 1):
        at, end = cluster_start[c], cluster_start[c + 1]
        written, last = at, at
        for k in range(at, end):
            left[last] = owners[k]
            last += 1
        for is_plain in range(2):
            conjunct = plain if is_plain else asked
            first, tail = at, last
            k = at
            while k < tail:  # those that nothing could rule out go to the end, for good
                s = left[k]
                is_free = is_whole[s] and asked[0][s] == asked[0][s + 1]
                if is_free or conjunct[0][s + 1] > conjunct[0][s]:
                    k += 1
                else:
                    tail -= 1
                    left[k], left[tail] = left[tail], left[k]
            stop = tail
            while stop - first >= least:
                begin, first_column = written, put
                first, stop, written, put = cut_off(
                    first, stop, written, least, span, conjunct, prices, scratch, order, columns, put
                )
                for part in range(begin, written, CHUNK_MEMBERS):
                    chunks[made, CUT_BEGIN], chunks[made, CUT_END] = part, min(written, part + CHUNK_MEMBERS)
                    chunks[made, CUT_COLUMN], chunks[made, CUT_COLUMNS] = first_column, put - first_column
                    chunks[made, CUT_CLUSTER], chunks[made, CUT_PLAIN] = c, is_plain
                    made += 1
            for k in range(tail, last):  # close the gap
                left[stop] = left[k]
                stop += 1
            last = stop
        for k in range(at, last):
            order[written] = left[k]
            written += 1
    return made, put
