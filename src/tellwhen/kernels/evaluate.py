"""Does this subscription hold for this event, exactly? The arrays' own meaning, used by every engine."""

from __future__ import annotations

import numpy as np
from numba import njit

from tellwhen.kernels.arrays import ACCEPT, CLEAR, PROGRAM, ROW, SET

LINEAR = 8  # up to so many intervals a linear search beats a binary one


@njit(cache=True, nogil=True, forceinline=True)
def open_event(events, event, first):
    """Note where each line's entries begin: first[line] is the entry's index + 1, 0 for a line the event lacks.

    A line beyond `first` was added after the reader's snapshot was taken: nothing it can see asks for it.
    """
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size and first[line] == 0:
            first[line] = i + 1


@njit(cache=True, nogil=True, forceinline=True)
def close_event(events, event, first):
    """Leave `first` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size:
            first[line] = 0


@njit(cache=True, nogil=True, forceinline=True)
def interval_at(high, start, end, point):
    """The first interval that ends at or after the point."""
    if end - start <= LINEAR:
        while start < end and high[start] < point:
            start += 1
        return start
    while start < end:
        middle = (start + end) >> 1
        if high[middle] < point:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True, forceinline=True)
def holds(predicates, p, events, event, first):
    """Is predicate p true? Some entry must touch its intervals; every entry must lie inside for a negated one."""
    line = predicates.line[p]
    entry = first[line] - 1
    if entry < 0:
        return False
    start, stop = predicates.start[p], predicates.start[p + 1]
    every = predicates.every[p]
    end = events.start[event + 1]
    while entry < end and events.line[entry] == line:
        low, high = events.low[entry], events.high[entry]
        i = interval_at(predicates.high, start, stop, low)
        if every:
            if i == stop or predicates.low[i] > low or predicates.high[i] < high:
                return False
        elif i < stop and predicates.low[i] <= high:
            return True
        entry += 1
    return every == 1


@njit(cache=True, nogil=True, forceinline=True)
def is_true(truth, p):
    """Bit p of the predicates' values."""
    return (truth[p >> 6] >> np.uint64(p & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True, forceinline=True)
def run(subscriptions, slot, truth, predicates, events, event, first, registers):
    """Walk a program of tests from its first instruction to ACCEPT or REJECT."""
    code = subscriptions.code
    base = subscriptions.start[slot]
    at = 0
    while at >= 0:
        i = base + 3 * at
        test, yes, no = code[i], code[i + 1], code[i + 2]
        if test >= 0:
            if truth.size > 0:
                value = is_true(truth, test)
            else:
                value = holds(predicates, test, events, event, first)
            at = yes if value else no
        elif no in (SET, CLEAR):
            registers[-1 - test] = no == SET
            at = yes
        else:
            at = yes if registers[-1 - test] else no
    return at == ACCEPT


@njit(cache=True, nogil=True, forceinline=True)
def satisfied(subscriptions, slot, truth, predicates, events, event, first, registers):
    """Is the subscription in this slot true? `truth` holds the predicates' values where they are known, or is empty."""
    kind = subscriptions.kind[slot]
    if kind == ROW:
        for i in range(subscriptions.start[slot], subscriptions.start[slot + 1]):
            p = subscriptions.code[i]
            if truth.size > 0:
                if not is_true(truth, p):
                    return False
            elif not holds(predicates, p, events, event, first):
                return False
        return True
    if kind == PROGRAM:
        return run(subscriptions, slot, truth, predicates, events, event, first, registers)
    return False
