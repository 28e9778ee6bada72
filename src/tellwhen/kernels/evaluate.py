"""Does this subscription hold for this event, exactly? The arrays' own meaning, used by every engine."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import ACCEPT, CLEAR, PROGRAM, ROW, SET
from tellwhen.kernels.jit import inline, kernel

LINEAR = 8  # up to so many intervals a linear search beats a binary one


@inline
def open_event(events, event, first):
    """Note where each line's entries begin: first[line] is the entry's index + 1, 0 for a line the event lacks.

    A line beyond `first` was added after the reader's snapshot was taken: nothing it can see asks for it.
    """
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size and first[line] == 0:
            first[line] = i + 1


@inline
def close_event(events, event, first):
    """Leave `first` all zero again."""
    for i in range(events.start[event], events.start[event + 1]):
        line = events.line[i]
        if line < first.size:
            first[line] = 0


@inline
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


@inline
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


@inline
def is_true(truth, p):
    """Bit p of the predicates' values."""
    return (truth[np.uint32(p) >> np.uint32(6)] >> np.uint64(p & 63)) & np.uint64(1) != 0


@inline
def set_true(truth, p):
    """Set bit p."""
    truth[np.uint32(p) >> np.uint32(6)] |= np.uint64(1) << np.uint64(p & 63)


@inline
def row_accepts(code, start, end, truth):
    """Are all predicates of a conjunction true?"""
    for i in range(np.uint64(start), np.uint64(end)):
        if not is_true(truth, code[i]):
            return False
    return True


@inline
def program_accepts(code, start, truth, registers):
    """Walk a program of tests from its first instruction to ACCEPT or REJECT."""
    at = 0
    while at >= 0:
        i = np.uint64(start + 3 * at)
        test, yes, no = code[i], code[i + np.uint64(1)], code[i + np.uint64(2)]
        if test >= 0:
            at = yes if is_true(truth, test) else no
        elif no == SET or no == CLEAR:
            registers[-1 - test] = no == SET
            at = yes
        else:
            at = yes if registers[-1 - test] else no
    return at == ACCEPT


@kernel
def satisfied(subscriptions, slot, predicates, events, event, first, truth, registers):
    """Is the subscription in this slot true? Looks at the event itself; `truth` is used as scratch."""
    kind = subscriptions.kind[slot]
    start, end = subscriptions.start[slot], subscriptions.start[slot + 1]
    if kind == ROW:
        for i in range(start, end):
            if not holds(predicates, subscriptions.code[i], events, event, first):
                return False
        return True
    if kind == PROGRAM:
        for i in range(start, end, 3):
            p = subscriptions.code[i]
            if p >= 0:
                truth[p >> 6] &= ~(np.uint64(1) << np.uint64(p & 63))
                if holds(predicates, p, events, event, first):
                    set_true(truth, p)
        return program_accepts(subscriptions.code, start, truth, registers)
    return False
