"""Match by pivots and sorted predicate lists (OpIndex, sections 4.2 and 5).

Deviation: operands are ranks among all operands of their operator. A value of an event is located once among those,
and every list is then searched for a run of ranks, four bytes each, instead of pairs of attribute and operand.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events
from tellwhen.kernels.evaluate import close_event, first_at_least, open_event
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.rows import emit

EQUAL, AT_LEAST, AT_MOST = 0, 1, 2
"""Operators. A predicate `= v` waits in the list EQUAL, `>= v` in AT_LEAST, `<= v` in AT_MOST."""


@inline
def signature_bit(operator, line, rank):
    """The bit of a segment's signature that stands for a predicate: of its operand only where that must be equal."""
    key = np.uint64(rank) if operator == EQUAL else np.uint64(line)
    return np.uint64(1) << ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(58))


@inline
def segment_of(line, lines, segments):
    """Attributes in order, in as many parts as the list has segments."""
    return line * segments // lines


@kernel
def sign(operator, list_start, lines, entry_line, entry_rank, segment_start, segment_count, bounds, signature):
    """Where the segments of one operator's lists begin, and their signatures; `bounds` has one more than segments."""
    for pivot in range(list_start.size - 1):
        first, count = segment_start[pivot], segment_count[pivot]
        begin, end = list_start[pivot], list_start[pivot + 1]
        k = begin
        for s in range(count):
            bounds[first + s] = k
            while k < end and segment_of(entry_line[k], lines, count) <= s:
                signature[first + s] |= signature_bit(operator, entry_line[k], entry_rank[k])
                k += 1
        if count:
            bounds[first + count] = end


@inline
def count_off(row, remaining, done, finished):
    """One entry fewer for a row; returns the end of the list of those that need no more."""
    left = remaining[row]
    remaining[row] = left - (left > 0)
    done[finished] = row
    return finished + (left == 1)


@kernel
def match_pivots(
    pivot_rows, need, row_slot, always, key_start, keys, key_line, segment_start, bounds, signature, ranks, rows,
    died, version, removed, remaining, done, first_entry, stamps, looked,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for plain events, and for others no match is missing. looked[0] counts the rows whose counters were touched.
    """
    events = Events(entry_start, entry_line, entry_low, entry_high, plain)
    lines = pivot_rows.size - 1
    longest = 0
    for e in range(event, plain.size):
        longest = max(longest, entry_start[e + 1] - entry_start[e])
    low_rank = np.empty((3, longest), dtype=np.int64)
    high_rank = np.empty((3, longest), dtype=np.int64)
    written = start[event]
    for e in range(event, plain.size):
        first, last = entry_start[e], entry_start[e + 1]
        # Where the event's values lie among the operands of each operator.
        for operator in range(3):
            for i in range(first, last):
                line = entry_line[i]
                if line >= lines:
                    low_rank[operator, i - first] = 0
                    high_rank[operator, i - first] = 0
                    continue
                begin, end = key_start[operator, line], key_start[operator, line + 1]
                low, high = begin, end
                if operator != AT_LEAST:
                    low = first_at_least(keys, begin, end, entry_low[i])
                if operator != AT_MOST:
                    high = first_at_least(keys, begin, end, entry_high[i])
                    high += high < end and keys[high] == entry_high[i]
                low_rank[operator, i - first] = low
                high_rank[operator, i - first] = high
        if always.size > out.size - written:
            return e
        open_event(events, e, first_entry)
        fits = True
        stamps[-1] += 1
        for row in always:
            written = emit(row_slot[row], stamps, removed, died, version, out, written)
        for j in range(first, last):
            pivot = entry_line[j]
            if pivot >= lines or (j > first and entry_line[j - 1] == pivot):
                continue
            top, bottom = pivot_rows[pivot], pivot_rows[pivot + 1]
            if top == bottom:
                continue
            for r in range(top, bottom):
                remaining[r] = need[r]
            finished = 0
            for operator in range(3):
                directory = segment_start[operator, pivot]
                count = segment_start[operator, pivot + 1] - directory - 1
                if count <= 0:
                    continue
                if bounds[directory + count] - bounds[directory] < last - first:
                    # A list shorter than the event: each of its entries is looked up in the event.
                    for k in range(bounds[directory], bounds[directory + count]):
                        line = key_line[ranks[k]]
                        i = first_entry[line] - 1
                        while 0 <= i < last and entry_line[i] == line:
                            if low_rank[operator, i - first] <= ranks[k] < high_rank[operator, i - first]:
                                finished = count_off(rows[k], remaining, done, finished)
                            i += 1
                    continue
                for i in range(first, last):
                    low, high = low_rank[operator, i - first], high_rank[operator, i - first]
                    if low >= high:
                        continue
                    line = entry_line[i]
                    segment = directory + segment_of(line, lines, count)
                    if (operator != EQUAL or high == low + 1) and (
                        signature[segment] & signature_bit(operator, line, low)
                    ) == 0:
                        continue
                    k = first_at_least(ranks, bounds[segment], bounds[segment + 1], low)
                    while k < bounds[segment + 1] and ranks[k] < high:
                        finished = count_off(rows[k], remaining, done, finished)
                        k += 1
            if looked[0]:
                for r in range(top, bottom):
                    looked[0] += remaining[r] != need[r]
            fits = finished <= out.size - written
            if not fits:
                break
            for k in range(finished):
                written = emit(row_slot[done[k]], stamps, removed, died, version, out, written)
        close_event(events, e, first_entry)
        if not fits:
            return e
        start[e + 1] = written
    return plain.size
