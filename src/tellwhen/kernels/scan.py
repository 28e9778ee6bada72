"""Match by looking at every subscription (SCAN, BE-Tree section 7.2)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tellwhen.kernels.arrays import ROW
from tellwhen.kernels.evaluate import close_event, holds, interval_at, is_true, open_event, satisfied


@njit(cache=True, nogil=True, forceinline=True)
def note(p, truth, found, count):
    """Predicate p is true: set its bit, and list it so that the bit can be cleared."""
    truth[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
    found[count] = p
    return count + 1


@njit(cache=True, nogil=True, forceinline=True)
def settle(group, predicates, events, event, first, truth, found):
    """Evaluate every predicate on the event's lines once; returns how many are true, listed in `found`.

    `group` has the predicates line by line, so that those of a line are read in one go; those newer than the
    grouping are few and simply tried one after the other.
    """
    count = 0
    plain = events.plain[event] == 1
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line >= group.line.size - 1 or first[line] != i + 1:
            continue
        point = events.low[i]
        for k in range(group.line[line], group.line[line + 1]):
            start, stop = group.start[k], group.start[k + 1]
            if plain:
                hit = False
                if stop == start + 1:
                    hit = group.low[start] <= point <= group.high[start]
                else:
                    at = interval_at(group.high, start, stop, point)
                    hit = at < stop and group.low[at] <= point
            else:
                hit = holds(predicates, group.member[k], events, event, first)
            if hit:
                count = note(group.member[k], truth, found, count)
    for p in range(group.member.size, predicates.line.size):
        if holds(predicates, p, events, event, first):
            count = note(p, truth, found, count)
    return count


@njit(cache=True, nogil=True)
def scan(slots, group, predicates, subscriptions, version, first, truth, found, registers, events, event, start, out):
    """Fill `out` from `event` on; returns the first event whose matches did not fit."""
    kind, offset, code, died = subscriptions.kind, subscriptions.start, subscriptions.code, subscriptions.died
    written = start[event]
    for e in range(event, events.start.size - 1):
        open_event(events, e, first)
        true = settle(group, predicates, events, e, first, truth, found)
        full = False
        for s in slots:
            # The conjunction is written out here: it is the whole cost of a scan.
            hit = True
            if kind[s] == ROW:
                for i in range(offset[s], offset[s + 1]):
                    if not is_true(truth, code[i]):
                        hit = False
                        break
            else:
                hit = satisfied(subscriptions, s, truth, predicates, events, e, first, registers)
            if hit and died[s] > version:
                if written == out.size:
                    full = True
                    break
                out[written] = s
                written += 1
        for k in range(true):
            truth[found[k] >> 6] = np.uint64(0)
        close_event(events, e, first)
        if full:
            return e
        start[e + 1] = written
    return events.start.size - 1


@njit(cache=True, nogil=True)
def group_by_line(line, start, member):
    """Counting sort of predicates by line: members of line L at start[L]:start[L+1], ascending."""
    for p in range(line.size):
        start[line[p] + 1] += 1
    for i in range(1, start.size):
        start[i] += start[i - 1]
    for p in range(line.size - 1, -1, -1):
        start[line[p] + 1] -= 1
        member[start[line[p] + 1]] = p
    # start[L+1] now holds the begin of L: shift back by restoring the ends.
    for i in range(start.size - 1):
        start[i] = start[i + 1]
    start[start.size - 1] = line.size
