"""Build the structures that `counting` reads: rows in the order of the intervals they wait for."""

from __future__ import annotations

import numpy as np
from numba import njit

from tellwhen.kernels.arrays import HIGHEST, LOWEST, Spans, Stabbing


@njit(cache=True, nogil=True)
def rows_by_predicate(start, code, predicates):
    """The inverse of rows -> predicates: rows of predicate p at offset[p]:offset[p+1], ascending."""
    offset = np.zeros(predicates + 1, dtype=np.int64)
    for i in range(code.size):
        offset[code[i] + 1] += 1
    for p in range(predicates):
        offset[p + 1] += offset[p]
    rows = np.empty(code.size, dtype=np.int32)
    at = offset[:-1].copy()
    for row in range(start.size - 1):
        for i in range(start[row], start[row + 1]):
            p = code[i]
            rows[at[p]] = row
            at[p] += 1
    return offset, rows


@njit(cache=True, nogil=True)
def shapes(predicates, offset, shape):
    """Classify the intervals of predicates in use: 0 point, 1 up to, 2 since, 3 span; -1 where no row waits."""
    for p in range(predicates.line.size):
        used = offset[p + 1] > offset[p]
        for i in range(predicates.start[p], predicates.start[p + 1]):
            if not used:
                shape[i] = -1
            elif predicates.high[i] == HIGHEST:
                shape[i] = 2
            elif predicates.low[i] == LOWEST:
                shape[i] = 1
            elif predicates.low[i] == predicates.high[i]:
                shape[i] = 0
            else:
                shape[i] = 3


@njit(cache=True, nogil=True)
def fill_lists(chosen, key, owner, predicates, offset, rows, lines):
    """Lists of rows for the chosen intervals, which are sorted by line and key; equal keys share one list."""
    line_of = predicates.line
    keys = 0
    total = 0
    for j in range(chosen.size):
        p = owner[chosen[j]]
        total += offset[p + 1] - offset[p]
        if j == 0 or line_of[owner[chosen[j - 1]]] != line_of[p] or key[chosen[j - 1]] != key[chosen[j]]:
            keys += 1
    line = np.zeros(lines + 1, dtype=np.int64)
    out_key = np.empty(keys, dtype=np.int64)
    start = np.empty(keys + 1, dtype=np.int64)
    row = np.empty(total, dtype=np.int32)
    k = -1
    written = 0
    begin = 0
    for j in range(chosen.size):
        p = owner[chosen[j]]
        if j == 0 or line_of[owner[chosen[j - 1]]] != line_of[p] or key[chosen[j - 1]] != key[chosen[j]]:
            if k >= 0:
                row[begin:written].sort()
            k += 1
            out_key[k] = key[chosen[j]]
            start[k] = written
            begin = written
            line[line_of[p] + 1] += 1
        for r in range(offset[p], offset[p + 1]):
            row[written] = rows[r]
            written += 1
    if k >= 0:
        row[begin:written].sort()
    start[keys] = written
    for i in range(lines):
        line[i + 1] += line[i]
    return line, out_key, start, row


@njit(cache=True, nogil=True)
def nodes_of(left, right, size, out):
    """The canonical nodes of segments left:right in a tree of `size` leaves; returns how many."""
    count = 0
    left += size
    right += size
    while left < right:
        if left & 1:
            out[count] = left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            out[count] = right
            count += 1
        left >>= 1
        right >>= 1
    return count


@njit(cache=True, nogil=True)
def fill_spans(chosen, owner, predicates, offset, rows, line, cut):
    """Hang every row on the canonical nodes of its span: count, then place."""
    start = np.zeros(2 * cut.size + 2, dtype=np.int64)
    out = np.empty(128, dtype=np.int64)
    row = np.empty(0, dtype=np.int32)
    for placing in range(2):
        for j in range(chosen.size):
            i = chosen[j]
            p = owner[i]
            begin, end = line[predicates.line[p]], line[predicates.line[p] + 1]
            left = np.searchsorted(cut[begin:end], predicates.low[i])
            right = np.searchsorted(cut[begin:end], predicates.high[i] + 1)
            for n in range(nodes_of(left, right, end - begin, out)):
                node = 2 * begin + out[n]
                if placing == 0:
                    start[node + 1] += offset[p + 1] - offset[p]
                else:
                    for r in range(offset[p], offset[p + 1]):
                        row[start[node + 1]] = rows[r]
                        start[node + 1] += 1
        if placing == 0:
            # Ends become begins, one place to the right; placing moves each begin to its end.
            total = 0
            for n in range(start.size):
                total, start[n] = total + start[n], total
            row = np.empty(total, dtype=np.int32)
    start = start[:-1]
    for n in range(start.size - 1):
        row[start[n] : start[n + 1]].sort()
    return start, row


def build(predicates, lines, offset, rows):  # type: ignore[no-untyped-def]
    """All four structures, for rows grouped by predicate."""
    owner = np.repeat(np.arange(len(predicates.line), dtype=np.int32), np.diff(predicates.start))
    shape = np.empty(len(predicates.low), dtype=np.int8)
    shapes(predicates, offset, shape)
    line_of = predicates.line[owner]

    def lists(wanted, key):  # type: ignore[no-untyped-def]
        chosen = np.flatnonzero(shape == wanted)
        chosen = chosen[np.lexsort((key[chosen], line_of[chosen]))]
        return Stabbing(*fill_lists(chosen, key, owner, predicates, offset, rows, lines))

    spans = np.flatnonzero(shape == 3)
    at_line = np.tile(line_of[spans], 2)
    at_point = np.concatenate([predicates.low[spans], predicates.high[spans] + 1])
    order = np.lexsort((at_point, at_line))
    at_line, at_point = at_line[order], at_point[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(at_line) != 0) | (np.diff(at_point) != 0)
    cut = at_point[fresh]
    line = np.searchsorted(at_line[fresh], np.arange(lines + 1))
    return (
        lists(0, predicates.low),
        lists(1, predicates.high),
        lists(2, predicates.low),
        Spans(line, cut, *fill_spans(spans, owner, predicates, offset, rows, line, cut)),
    )
