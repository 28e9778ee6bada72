"""Kernels that find the best subscriptions of several dimensions, by merging one cursor per dimension (section 1).

The Threshold Algorithm combines the scores of dimensions. Exact matching with one score for each subscription
intersects the cursors. Neither reads the cursors to the end. Kernels fill `out` from `event` on, and return the first
event whose results may not fit.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.best import is_better, offer, sort_heap
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.papers.ranked.arrays import HIGH, LOW, RECORD_WORDS, SCORE, BoxArrays, BoxQueries, Ranked
from tellwhen.papers.ranked.kernels.cursors import begin_cursor, getnext
from tellwhen.papers.ranked.kernels.layout import LINE

SUM, MINIMUM, MAXIMUM = range(3)
"""Ways to combine the scores of dimensions."""

ENDED = -1
"""Head of a cursor that has ended."""

ROUNDS_MAX = 16
"""Most rounds of calls of all cursors before the lookups."""


@inline
def find_record(number, dimension, dimensions):
    """Return the first word of a record."""
    return (number * dimensions + dimension) * RECORD_WORDS


@inline
def is_stabbed(boxes, queries, event, at, dimension, dimensions):
    """Return whether the event stabs the interval of a record of this dimension."""
    x = queries.point[event * dimensions + dimension]
    return boxes.ends[at + LOW] <= x and x <= boxes.ends[at + HIGH]


@inline
def get_score(boxes, number, dimension, dimensions):
    """Return the score of a subscription in a dimension."""
    return boxes.score[find_record(number, dimension, dimensions) + SCORE]


@inline
def prefetch_records(boxes, number, dimensions):
    """Prefetch the records of a subscription into the cache."""
    at, end = find_record(number, 0, dimensions), find_record(number + 1, 0, dimensions)
    while at < end:
        prefetch(boxes.ends, at)
        at += LINE
    prefetch(boxes.ends, end - 1)


@inline
def get_heads(queries, r, dimensions):
    """Return the heads of round r of a step, or for 0 of the last round of the step before."""
    return queries.heads[r * dimensions : (r + 1) * dimensions]


@inline
def call_cursors(boxes, queries, r, dimensions):
    """Call each cursor that has not ended, and write the heads of round r of a step; return the number of calls."""
    before, head, calls = get_heads(queries, r - 1, dimensions), get_heads(queries, r, dimensions), 0
    for i in range(dimensions):
        head[i] = ENDED
        if before[i] != ENDED:
            calls += 1
            number = getnext(boxes.structures[i], queries.cursors[i])
            if number >= 0:
                head[i] = number
                prefetch_records(boxes, number, dimensions)
    return calls


@inline
def combine_values(values, combine, function):
    """Combine the values of all dimensions by a function, or if it is None, as `combine` says."""
    if function is not None:
        return function(values)
    total = values[0]
    for i in range(1, values.size):
        if combine == SUM:
            total += values[i]
        else:
            total = min(total, values[i]) if combine == MINIMUM else max(total, values[i])
    return total


@inline
def compute_total(boxes, queries, event, number, combine, function, dimensions):
    """Return the combined score of a subscription, and the number of dimensions in which the event stabs it.

    A dimension that the event does not stab has the score 0.
    """
    stabbed = 0
    for i in range(dimensions):
        at, value = find_record(number, i, dimensions), 0.0
        if is_stabbed(boxes, queries, event, at, i, dimensions):
            value = boxes.score[at + SCORE] * queries.weight[event * dimensions + i]
            stabbed += 1
        queries.value[i] = value
    return combine_values(queries.value, combine, function), stabbed


@inline
def is_repeated(boxes, queries, head, event, number, dimension, dimensions):
    """Return whether the cursor of another dimension has returned this subscription before.

    A cursor has returned all stabbed subscriptions before its head, and its head. Of several cursors whose heads are
    the same subscription, that of the first dimension counts. So no set of returned subscriptions is needed.
    """
    for i in range(dimensions):
        at = find_record(number, i, dimensions)
        if i == dimension or not is_stabbed(boxes, queries, event, at, i, dimensions):
            continue
        if head[i] == ENDED or (head[i] == number and i < dimension):
            return True
        if is_better(boxes.score[at + SCORE], number, get_score(boxes, head[i], i, dimensions), head[i]):
            return True
    return False


@inline
def compute_threshold(boxes, queries, head, event, combine, function, stabbed_min, dimensions):
    """Return the threshold of the Threshold Algorithm for the current heads, and the least number at the threshold.

    The threshold is the highest score that a subscription which no cursor has returned can have. In each dimension it
    has at most the score of the head, or 0 if the event need not stab it, and the combination is monotone. Where it has
    the score of the head, it comes behind the head, so its number is higher. For a sum or a function, and with weights,
    the least number is 0, since rounding may hide that a score is lower.
    """
    for i in range(dimensions):
        value = 0.0
        if head[i] != ENDED:
            score = get_score(boxes, head[i], i, dimensions)
            if score > 0 or stabbed_min == dimensions:
                value = score * queries.weight[event * dimensions + i]
        queries.value[i] = value
    threshold = combine_values(queries.value, combine, function)
    if function is not None or (combine == SUM and dimensions > 1):
        return threshold, np.int64(0)
    return threshold, find_least_number(boxes, queries, head, event, combine, threshold, stabbed_min, dimensions)


@inline
def find_least_number(boxes, queries, head, event, combine, threshold, stabbed_min, dimensions):
    """Return the least number that an unseen subscription can have whose least or greatest value is the threshold.

    For the minimum it has the value of every head at the threshold, for the maximum that of one of them. The value 0
    may also be that of a dimension that the event need not stab.
    """
    lowest_number = np.int64(0) if combine == MINIMUM else np.int64(len(boxes.ends))
    for i in range(dimensions):
        if queries.value[i] != threshold:
            continue
        least_number = np.int64(0)
        if (
            head[i] != ENDED
            and queries.weight[event * dimensions + i] == 1
            and (threshold > 0 or stabbed_min == dimensions)
        ):
            least_number = head[i] + 1
        lowest_number = max(lowest_number, least_number) if combine == MINIMUM else min(lowest_number, least_number)
    return lowest_number


@kernel
def find_by_threshold(boxes, queries, k, combine, function, stabbed_min, out, event, pulls):
    """Find the best k subscriptions of each event from `event` on, by the Threshold Algorithm.

    The event must stab a match in at least `stabbed_min` dimensions: 1 (relaxed matching), or all (exact matching).

    Call the cursors in rounds, look up the score of each new subscription, and stop when no unseen one can be among the
    best k. `function` combines the values of all dimensions; if it is None, `combine` says how. Adds the number of
    cursor calls to pulls[0].
    """
    boxes, queries, out = borrow(boxes, BoxArrays), borrow(queries, BoxQueries), borrow(out, Ranked)
    dimensions = boxes.structures.shape[0]
    written, pull_count = out.start[event], 0
    for q in range(event, out.start.size - 1):
        if k > out.number.size - written:
            pulls[0] += pull_count
            return q
        size = 0
        scores, numbers = out.score[written : written + k], out.number[written : written + k]
        last_head = get_heads(queries, 0, dimensions)
        for i in range(dimensions):
            last_head[i] = 0  # any number: the cursor has not ended
            begin_cursor(boxes.structures[i], queries.cursors[i], queries.point[q * dimensions + i])
        rounds, is_done = 0, k == 0
        while not is_done:
            # Call the cursors for several rounds before the lookups, so that the lookups wait for memory together. At
            # most 1/16 of the rounds are called in vain.
            step = max(1, min(ROUNDS_MAX, rounds >> 4))
            rounds += step
            for r in range(1, step + 1):
                pull_count += call_cursors(boxes, queries, r, dimensions)
            for r in range(1, step + 1):
                head = get_heads(queries, r, dimensions)
                open_cursors = 0
                for i in range(dimensions):
                    number = head[i]
                    if number == ENDED:
                        continue
                    open_cursors += 1
                    if not is_repeated(boxes, queries, head, q, number, i, dimensions):
                        total, stabbed = compute_total(boxes, queries, q, number, combine, function, dimensions)
                        if stabbed >= stabbed_min:
                            size = offer(scores, numbers, size, total, number)
                # In exact matching, a cursor that has ended has returned all matches.
                is_done = open_cursors == 0 or (open_cursors < dimensions and stabbed_min == dimensions)
                if size == k and not is_done:
                    threshold, lowest_number = compute_threshold(
                        boxes, queries, head, q, combine, function, stabbed_min, dimensions
                    )
                    worst_score, worst_number = out.score[written], out.number[written]
                    is_done = worst_score > threshold or (worst_score == threshold and worst_number < lowest_number)
                if is_done:
                    break
            last_head[:] = head
        sort_heap(scores, numbers, size)
        written += size
        out.start[q + 1] = written
    pulls[0] += pull_count
    return out.start.size - 1


@kernel
def find_by_intersection(boxes, queries, k, out, event, pulls):
    """Find the best k subscriptions of each event from `event` on that all cursors return.

    All cursors return their numbers in one order, so a number behind the target rules the target out. Adds the number
    of cursor calls to pulls[0].
    """
    boxes, queries, out = borrow(boxes, BoxArrays), borrow(queries, BoxQueries), borrow(out, Ranked)
    dimensions = boxes.structures.shape[0]
    written, pull_count = out.start[event], 0
    for q in range(event, out.start.size - 1):
        if k > out.number.size - written:
            pulls[0] += pull_count
            return q
        for i in range(dimensions):
            begin_cursor(boxes.structures[i], queries.cursors[i], queries.point[q * dimensions + i])
        target, agreement, size, i = np.int64(-1), 0, 0, 0
        while size < k:
            number = getnext(boxes.structures[i], queries.cursors[i])
            pull_count += 1
            if number < 0:
                break
            if target < 0 or is_better(
                get_score(boxes, target, 0, dimensions), target, get_score(boxes, number, 0, dimensions), number
            ):
                target, agreement = number, 1
            elif number == target:
                agreement += 1
            else:
                continue  # still before the target: the same cursor goes on
            if agreement == dimensions:
                out.number[written + size] = target
                out.score[written + size] = get_score(boxes, target, 0, dimensions)
                size += 1
                target, agreement = np.int64(-1), 0
            i = i + 1 if i + 1 < dimensions else 0
        written += size
        out.start[q + 1] = written
    pulls[0] += pull_count
    return out.start.size - 1
