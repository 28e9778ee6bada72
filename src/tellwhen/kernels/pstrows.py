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
def emit_row(records, at, plain, truth, stamps, removed, died, version, out, written):
    """Write the slot of a record whose predicates are true; returns the new end, or -1 when there is no room."""
    if not accepts(records, at, truth):
        return written
    if written == out.size:
        return -1
    slot = records[at]
    if not plain and slot >= 0:
        # Such an event may find a row in several lists: given once, like a slot of several rows.
        slot = -1 - slot
    return emit(slot, stamps, removed, died, version, out, written)


@inline
def emit_waiting(
    waiting, records, lists, entry_line, first, last, plain, truth, stamps, removed, died, version, looked, out, written
):
    """The rows that wait for lines which entries first:last carry, then those without predicates; returns as above.

    `lists` is how many words of a record each of its predicates has.
    """
    known = waiting.size - 2
    for i in range(first, last + 1):
        line = known
        if i < last:
            line = entry_line[i]
            if line >= known:
                continue
        at, end = waiting[line], waiting[line + 1]
        while at < end and written >= 0:
            looked[0] += line < known
            written = emit_row(records, at, plain, truth, stamps, removed, died, version, out, written)
            at += HEAD + lists * records[at + 1]
    return written
