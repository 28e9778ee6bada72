"""Lay out and test rows that wait in the lists of predicate spaces. The same for pstbloom and psthash.

Whatever is needed to look at a row stands together in one *record*, and a list holds the places of records: a candidate
in a list of many costs one cache miss, not one for each array.

    records  | slot  n  p p p (line line line) | slot  n  ...
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.evaluate import row_accepts
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.rows import emit

HEAD = 2
"""Words of a record before its predicates."""

AHEAD = 6
"""Records that are asked for before it is their turn, so that they are on their way from memory."""


@kernel
def lay_records(order, slot, start, predicate, known, rank, line_of):
    """Records of rows in a new order: the predicates not known to hold, the most selective first, perhaps their lines.

    Returns where each record begins, and the records. `line_of` may be empty: then there are no lines.
    """
    with_lines = line_of.size > 0
    begin = np.zeros(order.size + 1, dtype=np.int64)
    records = np.empty(HEAD * order.size + (1 + with_lines) * predicate.size, dtype=np.int32)
    end = 0
    for r in range(order.size):
        row = order[r]
        head = end + HEAD
        end = head
        for j in range(start[row], start[row + 1]):
            if known[j]:
                continue
            p = predicate[j]
            at = end
            while at > head and rank[records[at - 1]] > rank[p]:
                records[at] = records[at - 1]
                at -= 1
            records[at] = p
            end += 1
        size = end - head
        records[head - 2], records[head - 1] = slot[row], size
        if with_lines:
            for k in range(size):
                records[end + k] = line_of[records[head + k]]
            end += size
        begin[r + 1] = end
    return begin, records[:end].copy()


@inline
def accepts(records, at, truth):
    """Are the predicates of a record true?"""
    return row_accepts(records, at + HEAD, at + HEAD + records[at + 1], truth)


@inline
def slot_of(records, at, plain):
    """The slot of a record, for `emit`. An event that is not plain may find it in several lists, but gives it once."""
    slot = records[at]
    return slot if plain or slot < 0 else -1 - slot


@inline
def most_waiting(waiting, entry_line, first, last):
    """Rows that wait for lines which entries first:last carry, and rows without predicates: so many at most."""
    known = waiting.size - 2
    words = waiting[known + 1] - waiting[known]
    for i in range(first, last):
        line = entry_line[i]
        if line < known and (i == first or entry_line[i - 1] != line):
            words += waiting[line + 1] - waiting[line]
    return words // HEAD


@inline
def emit_waiting(
    waiting, records, lists, entry_line, first, last, plain, truth, stamps, removed, died, version, looked, out, written
):
    """Write those of these rows whose predicates are true; returns the new end.

    `lists` is how many words of a record each of its predicates has.
    """
    known = waiting.size - 2
    for i in range(first, last + 1):
        line = known
        if i < last:
            line = entry_line[i]
            if line >= known or (i > first and entry_line[i - 1] == line):
                continue
        at, end = waiting[line], waiting[line + 1]
        while at < end:
            looked[0] += line < known
            if accepts(records, at, truth):
                written = emit(slot_of(records, at, plain), stamps, removed, died, version, out, written)
            at += HEAD + lists * records[at + 1]
    return written
