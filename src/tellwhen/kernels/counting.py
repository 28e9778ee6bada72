"""Match by counting satisfied predicates (SIFT, BE-Tree section 7.2).

Deviation: the paper's SIFT enumerates ranges into their values. Here a value finds its intervals by binary search in
sorted end points (half-lines) and by climbing a segment tree (two-sided), so memory does not grow with the domain.
Counters run down from the number of predicates: one random access per satisfied predicate instead of two.
"""

from __future__ import annotations

from numba import njit

from tellwhen.kernels.evaluate import close_event, open_event, satisfied


@njit(cache=True, nogil=True, forceinline=True)
def first_at_least(keys, start, end, point):
    """The first index in start:end whose key is at least the point."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] < point:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True, forceinline=True)
def count_down(rows, start, end, remaining, done, finished):
    """One predicate fewer for each row of the run; rows that need no more are listed in `done`.

    A row at zero stays there: an event with several values may satisfy one predicate twice.
    """
    for i in range(start, end):
        row = rows[i]
        left = remaining[row]
        if left == 1:
            done[finished] = row
            finished += 1
        remaining[row] = left - (left > 0)
    return finished


@njit(cache=True, nogil=True, forceinline=True)
def count_entry(index, line, low, high, remaining, done, finished):
    """All intervals of the line that touch low..high."""
    points = index.points
    end = points.line[line + 1]
    k = first_at_least(points.key, points.line[line], end, low)
    while k < end and points.key[k] <= high:
        finished = count_down(points.row, points.start[k], points.start[k + 1], remaining, done, finished)
        k += 1

    upto = index.upto
    end = upto.line[line + 1]
    k = first_at_least(upto.key, upto.line[line], end, low)
    finished = count_down(upto.row, upto.start[k], upto.start[end], remaining, done, finished)

    since = index.since
    begin, end = since.line[line], since.line[line + 1]
    k = first_at_least(since.key, begin, end, high)
    if k < end and since.key[k] == high:
        k += 1
    finished = count_down(since.row, since.start[begin], since.start[k], remaining, done, finished)

    spans = index.spans
    begin, end = spans.line[line], spans.line[line + 1]
    if end > begin and high >= spans.cut[begin] and low < spans.cut[end - 1]:
        m = end - begin
        left = 0
        if low > spans.cut[begin]:
            left = first_at_least(spans.cut, begin, end, low) - begin
            if spans.cut[begin + left] > low:
                left -= 1
        right = left
        if high > low:
            right = first_at_least(spans.cut, begin, end, high) - begin
            if right == m or spans.cut[begin + right] > high:
                right -= 1
            right = min(right, m - 2)
        left += m
        right += m
        while left > 0:
            for node in range(left, right + 1):
                n = 2 * begin + node
                finished = count_down(spans.row, spans.start[n], spans.start[n + 1], remaining, done, finished)
            left >>= 1
            right >>= 1
    return finished


@njit(cache=True, nogil=True)
def count(
    index, loose, predicates, subscriptions, version, first, remaining, done, stamps, truth, registers,
    events, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    `stamps` holds, for slots of several rows, the last event they were written for; its last element counts events
    over the life of the scratch, so that it need not be cleared.
    """
    died = subscriptions.died
    lines = index.points.line.size - 1
    written = start[event]
    for e in range(event, events.start.size - 1):
        open_event(events, e, first)
        stamps[-1] += 1
        plain = events.plain[e] == 1
        full = False
        finished = 0
        if index.need.size > 0:
            remaining[: index.need.size] = index.need
            for row in index.always:
                done[finished] = row
                finished += 1
            for i in range(events.start[e], events.start[e + 1]):
                line = events.line[i]
                if line < lines:
                    finished = count_entry(index, line, events.low[i], events.high[i], remaining, done, finished)
        for k in range(finished):
            slot = index.slot[done[k]]
            if slot < 0:  # one of several rows
                slot = -1 - slot
                if stamps[slot] == stamps[-1]:
                    continue
                stamps[slot] = stamps[-1]
            if died[slot] <= version:
                continue
            if not plain and not satisfied(subscriptions, slot, truth, predicates, events, e, first, registers):
                continue
            if written == out.size:
                full = True
                break
            out[written] = slot
            written += 1
        if not full:
            for slot in loose:
                if died[slot] > version and satisfied(
                    subscriptions, slot, truth, predicates, events, e, first, registers
                ):
                    if written == out.size:
                        full = True
                        break
                    out[written] = slot
                    written += 1
        close_event(events, e, first)
        if full:
            return e
        start[e + 1] = written
    return events.start.size - 1
