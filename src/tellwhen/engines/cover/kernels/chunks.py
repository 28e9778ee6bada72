"""Cut clusters into chunks: up to 512 terms that require the same few columns and are tested together.

A chunk has a bitmap for every bucket of each of its columns, and one for events without the domain. The AND of one
bitmap per column that must be true, and of the OR of one per column of a clause, decides all members at once.

A cluster is cut greedily. The most common column that some waiting term lacks is the *seed*. The columns that are
common among the terms with the seed are chosen, and all waiting terms that require no other column become members.
"""

from __future__ import annotations

from tellwhen.engines.cover.arrays import CHUNK_MEMBERS
from tellwhen.engines.cover.build_arrays import (
    COLUMNS_END,
    CUT_BEGIN,
    CUT_CLUSTER,
    CUT_COLUMN,
    CUT_COLUMNS,
    CUT_END,
    CUT_PLAIN,
    TERMS_END,
    TOUCHED,
    WAITING_BEGIN,
    WAITING_END,
    Cut,
    CutScratch,
    PredicateFacts,
    Requirements,
)
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

COLUMNS_MAX, ALTERNATIVES_MAX = 40, 200
"""The most columns of a chunk that must be true, and the most columns of clauses."""

RARE_COLUMN, RARE_ALTERNATIVE = 32, 256
"""A column is too rare for a chunk if fewer than 1 in 32 of the terms with its seed column require it, or 1 in 256 for
a column of a clause. Terms that require such a column are not in the chunk."""

MEMBERS_PER_ALTERNATIVE = 4
"""The fewest members of a chunk for each of its columns of clauses, whose bitmaps are mostly zeros."""


@inline
def has_column(s, column, conditions):
    """Return whether term s requires the column."""
    for k in range(conditions.start[s], conditions.start[s + 1]):
        if conditions.column[k] == column:
            return True
    return False


@inline
def has_only_chosen_columns(s, conditions, is_chosen):
    """Return whether all columns that term s requires are chosen."""
    for k in range(conditions.start[s], conditions.start[s + 1]):
        if not is_chosen[conditions.column[k]]:
            return False
    return True


@inline
def count_columns(seed, conditions, scratch):
    """Count the columns of the waiting terms that require column `seed`, or of all if it is -1; list them."""
    counts, touched = scratch.counts, scratch.touched
    distinct = 0
    for m in range(scratch.cursor[WAITING_BEGIN], scratch.cursor[WAITING_END]):
        s = scratch.waiting[m]
        if seed >= 0 and not has_column(s, seed, conditions):
            continue
        for k in range(conditions.start[s], conditions.start[s + 1]):
            c = conditions.column[k]
            if counts[c] == 0:
                touched[distinct] = c
                distinct += 1
            counts[c] += 1
    scratch.cursor[TOUCHED] = distinct


@inline
def choose_seed(span, scratch):
    """Return the most common column that must be true and that some waiting term lacks; else the most common of all.

    Without any column, return -1. Leaves all counts zero.
    """
    counts, touched, distinct = scratch.counts, scratch.touched, scratch.cursor[TOUCHED]
    members = scratch.cursor[WAITING_END] - scratch.cursor[WAITING_BEGIN]
    seed = -1
    for k in range(distinct):
        c = touched[k]
        if c < span and counts[c] < members and (seed < 0 or counts[c] > counts[seed]):
            seed = c
    if seed < 0:
        for k in range(distinct):
            if seed < 0 or counts[touched[k]] > counts[seed]:
                seed = touched[k]
    for k in range(distinct):
        counts[touched[k]] = 0
    return seed


@inline
def choose_columns(seed_count, span, scratch):
    """Choose the most common columns among the terms with the seed column; return how many are columns of clauses.

    `seed_count` is the number of these terms. Leaves all counts zero.
    """
    counts, touched, distinct = scratch.counts, scratch.touched, scratch.cursor[TOUCHED]
    plain = alternatives = 0
    while True:
        best = -1
        for k in range(distinct):
            if best < 0 or counts[touched[k]] > counts[best]:
                best = touched[k]
        if best < 0 or counts[best] == 0:
            break
        if best < span:
            is_chosen = plain < COLUMNS_MAX and counts[best] * RARE_COLUMN >= seed_count
            plain += is_chosen
        else:
            is_chosen = alternatives < ALTERNATIVES_MAX and counts[best] * RARE_ALTERNATIVE >= seed_count
            alternatives += is_chosen
        scratch.is_chosen[best] = is_chosen
        counts[best] = 0
    return alternatives


@inline
def take_fitting_terms(conditions, scratch, cut):
    """Move the waiting terms that require only chosen columns to the end of the written terms; return how many."""
    waiting, cursor = scratch.waiting, scratch.cursor
    end, left = cursor[TERMS_END], cursor[WAITING_BEGIN]
    for k in range(cursor[WAITING_BEGIN], cursor[WAITING_END]):
        if has_only_chosen_columns(waiting[k], conditions, scratch.is_chosen):
            cut.terms[end] = waiting[k]
            end += 1
        else:
            waiting[left] = waiting[k]
            left += 1
    members = end - cursor[TERMS_END]
    cursor[TERMS_END], cursor[WAITING_END] = end, left
    return members


@inline
def give_up_seed(seed, members, conditions, scratch, cut):
    """Take back the members that were moved last, and put all terms with the seed in front of the waiting ones."""
    waiting, cursor = scratch.waiting, scratch.cursor
    for k in range(cursor[TERMS_END] - members, cursor[TERMS_END]):
        waiting[cursor[WAITING_END]] = cut.terms[k]
        cursor[WAITING_END] += 1
    cursor[TERMS_END] -= members
    for k in range(cursor[TOUCHED]):
        scratch.is_chosen[scratch.touched[k]] = False
    first = cursor[WAITING_BEGIN]
    for k in range(first, cursor[WAITING_END]):
        if has_column(waiting[k], seed, conditions):
            waiting[k], waiting[first] = waiting[first], waiting[k]
            first += 1
    cursor[WAITING_BEGIN] = first


@inline
def is_column_behind(other, c, span, weight):
    """Return whether column `other` must come after column c.

    Columns are sorted by group, and in a group by weight: those that rule out most events come first.
    """
    return other // span > c // span or (other // span == c // span and weight[other] < weight[c])


@inline
def put_columns(members, conditions, price, span, scratch, cut):
    """Write the chosen columns that the last members require, group by group, those first that rule out most."""
    weight, cursor, columns = scratch.weight, scratch.cursor, cut.columns
    for m in range(cursor[TERMS_END] - members, cursor[TERMS_END]):
        s = cut.terms[m]
        for k in range(conditions.start[s], conditions.start[s + 1]):
            weight[conditions.column[k]] += 1.0 - min(0.999, price[conditions.predicate[k]])
    first = end = cursor[COLUMNS_END]
    for k in range(cursor[TOUCHED]):
        c = scratch.touched[k]
        if scratch.is_chosen[c] and weight[c] > 0.0:
            at = end
            while at > first and is_column_behind(columns[at - 1], c, span, weight):
                columns[at] = columns[at - 1]
                at -= 1
            columns[at] = c
            end += 1
        scratch.is_chosen[c] = False
    for at in range(first, end):
        weight[columns[at]] = 0.0
    cursor[COLUMNS_END] = end


@inline
def cut_members(conditions, price, span, members_min, scratch, cut):
    """Take members with common columns from the waiting terms, and write them and their columns; return how many.

    If they are too few, return 0 and give up some of the waiting terms.
    """
    count_columns(-1, conditions, scratch)
    seed = choose_seed(span, scratch)
    count_columns(seed, conditions, scratch)
    alternatives = choose_columns(scratch.counts[seed] if seed >= 0 else 0, span, scratch)
    members = take_fitting_terms(conditions, scratch, cut)
    if members >= max(members_min, MEMBERS_PER_ALTERNATIVE * alternatives):
        put_columns(members, conditions, price, span, scratch, cut)
        return members
    give_up_seed(seed, members, conditions, scratch, cut)
    return 0


@inline
def skip_terms_without_columns(conditions, requirements, scratch, begin, end):
    """Move the terms waiting[begin:end] that no bitmap could rule out to the end; return where these begin.

    A term that requires nothing at all stays: bitmaps decide it.
    """
    waiting, every = scratch.waiting, requirements.all
    k = begin
    while k < end:
        s = waiting[k]
        is_always_true = requirements.is_whole[s] and every.start[s] == every.start[s + 1]
        if is_always_true or conditions.start[s + 1] > conditions.start[s]:
            k += 1
        else:
            end -= 1
            waiting[k], waiting[end] = waiting[end], waiting[k]
    return end


@inline
def put_chunks(first_term, first_column, cluster, is_plain, chunk_count, cursor, cut):
    """Write the chunks that share the columns from `first_column` on, and the terms from `first_term` on.

    `chunk_count` is the number of chunks written before; returns the new number.
    """
    end = cursor[TERMS_END]
    for part in range(first_term, end, CHUNK_MEMBERS):
        chunk = cut.chunks[chunk_count]
        chunk[CUT_BEGIN], chunk[CUT_END] = part, min(end, part + CHUNK_MEMBERS)
        chunk[CUT_COLUMN], chunk[CUT_COLUMNS] = first_column, cursor[COLUMNS_END] - first_column
        chunk[CUT_CLUSTER], chunk[CUT_PLAIN] = cluster, is_plain
        chunk_count += 1
    return chunk_count


@kernel
def cut_chunks(cluster_start, terms, requirements, facts, members_min, scratch, cut):
    """Cut every cluster into chunks, and write the terms that fit none behind them; return the number of chunks.

    The terms of cluster c are terms[cluster_start[c]:cluster_start[c+1]]. A chunk has at least `members_min` members,
    with all that they require or, where too few have that in common, without their clauses (`plain`).
    """
    requirements, facts = unpack(requirements, Requirements), unpack(facts, PredicateFacts)
    scratch, cut = unpack(scratch, CutScratch), unpack(cut, Cut)
    cursor, waiting = scratch.cursor, scratch.waiting
    made = 0
    cursor[COLUMNS_END] = 0
    for c in range(cluster_start.size - 1):
        begin, end = cluster_start[c], cluster_start[c + 1]
        for k in range(begin, end):
            waiting[k] = terms[k]
        cursor[TERMS_END] = begin
        for is_plain in range(2):
            conditions = requirements.plain if is_plain else requirements.all
            skipped = skip_terms_without_columns(conditions, requirements, scratch, begin, end)
            cursor[WAITING_BEGIN], cursor[WAITING_END] = begin, skipped
            while cursor[WAITING_END] - cursor[WAITING_BEGIN] >= members_min:
                first_term, first_column = cursor[TERMS_END], cursor[COLUMNS_END]
                cut_members(conditions, facts.price, requirements.span, members_min, scratch, cut)
                made = put_chunks(first_term, first_column, c, is_plain, made, cursor, cut)
            left = cursor[WAITING_END]
            for k in range(skipped, end):
                waiting[left] = waiting[k]
                left += 1
            end = left
        for k in range(begin, end):
            cut.terms[cursor[TERMS_END]] = waiting[k]
            cursor[TERMS_END] += 1
    return made
