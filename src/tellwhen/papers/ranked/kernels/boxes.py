"""Which subscriptions of several dimensions are best? Merged from one cursor per dimension, without reading them to the
end: the Threshold Algorithm for relaxed matching, an intersection for exact matching (section 1).

Kernels fill `out` from `event` on, and return the first event whose results may not fit.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.best import is_better, offer, sort_heap
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.ranked.arrays import BoxArrays, Questions, Ranked
from tellwhen.papers.ranked.kernels.cursors import begin, getnext

SUM, MINIMUM, MAXIMUM = range(3)
"""How the scores of dimensions are combined."""

NOT_BEGUN, ENDED = -2, -1
"""Heads that are no numbers."""


@inline
def combined(combine, total, value, i):
    """The combination of the first i dimensions, and of one more."""
    if i == 0:
        return value
    if combine == SUM:
        return total + value
    return min(total, value) if combine == MINIMUM else max(total, value)


@inline
def total_of(boxes, asked, event, number, combine, dimensions):
    """The score of a subscription; a dimension that the event does not stab adds 0."""
    total = 0.0
    for i in range(dimensions):
        at, x = number * dimensions + i, asked.point[event * dimensions + i]
        value = 0.0
        if boxes.low[at] <= x and x <= boxes.high[at]:
            value = boxes.score[at] * asked.weight[event * dimensions + i]
        total = combined(combine, total, value, i)
    return total


@inline
def was_seen(boxes, asked, event, number, dimension, dimensions):
    """Did another cursor give this subscription before? It did if the event stabs it there, and it is not behind the
    head. So nobody has to remember what was seen."""
    for i in range(dimensions):
        head = asked.head[i]
        if i == dimension or head == NOT_BEGUN:
            continue
        at, x = number * dimensions + i, asked.point[event * dimensions + i]
        is_stabbed = boxes.low[at] <= x and x <= boxes.high[at]
        if is_stabbed and (
            head == ENDED or not is_better(boxes.score[head * dimensions + i], head, boxes.score[at], number)
        ):
            return True
    return False


@inline
def bound_of(boxes, asked, event, combine, dimensions):
    """The most that a subscription can have which no cursor gave so far, and the lowest number that one with just this
    score can have.

    In each dimension it has at most the score of the head, or 0 if the event does not stab it. Where its score must be
    that of the head, it comes behind the head, so its number is higher. In a sum or with weights this cannot be told,
    since rounding may hide that a score is lower.
    """
    bound, lowest = 0.0, np.int64(0)
    for i in range(dimensions):
        head = asked.head[i]
        value, behind = 0.0, np.int64(0)
        if head >= 0:
            score = boxes.score[head * dimensions + i]
            if score > 0 or dimensions == 1:
                weight = asked.weight[event * dimensions + i]
                value = score * weight
                behind = head + 1 if weight == 1 else np.int64(0)
        if i == 0:
            bound, lowest = value, behind
        elif combine == SUM:
            bound += value
        elif value == bound:
            lowest = max(lowest, behind) if combine == MINIMUM else min(lowest, behind)
        elif (value < bound) == (combine == MINIMUM):
            bound, lowest = value, behind
    if combine == SUM and dimensions > 1:
        lowest = np.int64(0)
    return bound, lowest


@kernel
def find_relaxed(boxes, asked, k, combine, out, event, pulls):
    """The Threshold Algorithm: take one from each cursor in turn, look up the score of each subscription that is new,
    and stop when no other one can be among the best k. pulls[0] counts what was taken."""
    boxes, asked, out = borrow(boxes, BoxArrays), borrow(asked, Questions), borrow(out, Ranked)
    dimensions = boxes.structures.shape[0]
    written, taken = out.start[event], 0
    for q in range(event, out.start.size - 1):
        if k > out.number.size - written:
            pulls[0] += taken
            return q
        size = 0
        scores, numbers = out.score[written : written + k], out.number[written : written + k]
        for i in range(dimensions):
            asked.head[i] = NOT_BEGUN
            begin(boxes.structures[i], asked.cursors[i], asked.point[q * dimensions + i])
        left = dimensions if k > 0 else 0
        while left > 0:
            for i in range(dimensions):
                if asked.head[i] == ENDED:
                    continue
                number = getnext(boxes.structures[i], asked.cursors[i])
                taken += 1
                if number < 0:
                    asked.head[i] = ENDED
                    left -= 1
                    continue
                asked.head[i] = number
                if not was_seen(boxes, asked, q, number, i, dimensions):
                    total = total_of(boxes, asked, q, number, combine, dimensions)
                    size = offer(scores, numbers, size, total, number)
            if size == k:
                bound, lowest = bound_of(boxes, asked, q, combine, dimensions)
                if out.score[written] > bound or (out.score[written] == bound and out.number[written] < lowest):
                    break
        sort_heap(scores, numbers, size)
        written += size
        out.start[q + 1] = written
    pulls[0] += taken
    return out.start.size - 1


@kernel
def find_exact(boxes, asked, k, out, event, pulls):
    """The intersection of all cursors. They give their numbers in the same order, so a number that is behind the one
    that is looked for rules that one out. pulls[0] counts what was taken."""
    boxes, asked, out = borrow(boxes, BoxArrays), borrow(asked, Questions), borrow(out, Ranked)
    dimensions = boxes.structures.shape[0]
    written, taken = out.start[event], 0
    for q in range(event, out.start.size - 1):
        if k > out.number.size - written:
            pulls[0] += taken
            return q
        for i in range(dimensions):
            begin(boxes.structures[i], asked.cursors[i], asked.point[q * dimensions + i])
        sought, agreed, size, i = np.int64(-1), 0, 0, 0
        while size < k:
            number = getnext(boxes.structures[i], asked.cursors[i])
            taken += 1
            if number < 0:
                break
            if sought < 0 or is_better(
                boxes.score[sought * dimensions], sought, boxes.score[number * dimensions], number
            ):
                sought, agreed = number, 1
            elif number == sought:
                agreed += 1
            else:
                continue  # still before the one that is sought: the same cursor goes on
            if agreed == dimensions:
                out.number[written + size] = sought
                out.score[written + size] = boxes.score[sought * dimensions]
                size += 1
                sought, agreed = np.int64(-1), 0
            i = i + 1 if i + 1 < dimensions else 0
        written += size
        out.start[q + 1] = written
    pulls[0] += taken
    return out.start.size - 1
