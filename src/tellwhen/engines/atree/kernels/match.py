"""Match bottom-up, level by level (Algorithm 6), with zero suppression and propagation on demand (section 5.2).

Only true results are propagated, and to an AND only by its access child. Three things go beyond the paper:

- All predicates are known before any node is evaluated, so an AND is not queued if one of its predicates, the guard, is
  false.
- A part that only ANDs need is not reached by links, but evaluated on demand: when an AND needs its result. So are
  predicates that most events satisfy.
- Inner nodes are numbered level by level, so one bitmap holds the queues of all levels, each node once.

The *tests* of a node are its children without those that lead to it. With P predicates and N inner nodes, the word p is
a stabbed predicate, P + p a predicate that is tested on demand, ~n a reached inner node, and ~(N + n) an inner node
that is evaluated on demand.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import (
    GUARD,
    LINK_WORDS,
    LINKS,
    NONE,
    RECORD,
    SIGNATURES,
    SLOTS,
    TARGET,
    TESTS,
    ATreeIndex,
    ATreeScratch,
)
from tellwhen.engines.shared.kernels.true_predicates import find_satisfied
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.bits import find_lowest_bit
from tellwhen.kernels.emit import emit_slots
from tellwhen.kernels.evaluate import close_event, is_predicate_true, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.prefetch import prefetch
from tellwhen.kernels.truth import clear_true_predicates, is_true, set_true

FALSE, TRUE, UNKNOWN = 0, 1, 2
"""Results of a node. The result is added to the signature of the event, so results of earlier events do not count."""

PREFETCH_NODES = 8
"""Prefetch distance for records, in nodes; that for `record_start` is twice as far."""


@inline
def propagate(record, index, scratch):
    """Queue the nodes that the links of a true node lead to, except those whose guard is false."""
    words = index.words
    first = record + RECORD + words[record + TESTS] + words[record + SLOTS]
    for link in range(np.uint64(first), np.uint64(first + LINK_WORDS * words[record + LINKS]), np.uint64(LINK_WORDS)):
        guard = words[link + np.uint64(GUARD)]
        if guard == NONE or is_true(scratch.found.truth, guard):
            target = words[link + np.uint64(TARGET)]
            set_true(scratch.marks, target)
            set_true(scratch.groups, target >> 6)


@inline
def emit_record(record, index, snapshot, out, written):
    """Write the slots in a record to the output; return the new end of the output."""
    first = record + RECORD + index.words[record + TESTS]
    return emit_slots(first, first + index.words[record + SLOTS], index.words, snapshot, out, written)


@inline
def read_value(test, index, snapshot, events, end, scratch, clock):
    """Return the value of a test; UNKNOWN for a node on demand that is not evaluated for this event yet."""
    inner = index.is_or.size
    predicates = index.record_start.size - 1 - inner
    if test >= predicates:
        return np.int64(
            is_predicate_true(test - predicates, snapshot.predicates, scratch.found.first_entry, events, end)
        )
    if test >= 0:
        return np.int64(is_true(scratch.found.truth, test))
    node = ~test
    if node < inner:  # reached, and on a lower level: its result is known if it is true
        return np.int64(scratch.signature[node] == clock + TRUE)
    result = scratch.signature[node - inner] - clock
    return result if result >= 0 else np.int64(UNKNOWN)


@inline
def evaluate_on_demand(node, index, snapshot, events, end, scratch, clock):
    """Evaluate a node that no link leads to, with an explicit stack; return whether the node is true."""
    words, stack, next_test = index.words, scratch.node_stack, scratch.next_test
    inner = index.is_or.size
    predicates = index.record_start.size - 1 - inner
    stack[0], next_test[0] = node, 0
    depth, result = 1, np.int64(FALSE)
    while depth > 0:
        node = np.int64(stack[depth - 1])
        record, decisive = index.record_start[predicates + node], np.int64(index.is_or[node])
        at, result = next_test[depth - 1], np.int64(UNKNOWN)
        while at < words[record + TESTS]:
            test = np.int64(words[record + RECORD + at])
            result = read_value(test, index, snapshot, events, end, scratch, clock)
            if result == UNKNOWN:  # continue with the same node once its result is known
                next_test[depth - 1] = at
                stack[depth], next_test[depth] = ~test - inner, 0
                depth += 1
                break
            if result == decisive:
                break
            at += 1
        if result != UNKNOWN:
            scratch.signature[node] = clock + result
            depth -= 1
    return result == TRUE


@inline
def is_every_test_true(record, index, snapshot, events, end, scratch, clock):
    """Return whether all tests of a node, those of a record, are true."""
    words, inner = index.words, index.is_or.size
    first = record + RECORD
    for k in range(first, first + words[record + TESTS]):
        test = np.int64(words[k])
        result = read_value(test, index, snapshot, events, end, scratch, clock)
        if result == FALSE:
            return False
        if result == UNKNOWN and not evaluate_on_demand(~test - inner, index, snapshot, events, end, scratch, clock):
            return False
    return True


@inline
def pop_level(first, end, scratch):
    """List the queued nodes among first:end, ascending, and remove them from the queue; return the number of nodes."""
    groups, marks, queue = scratch.groups, scratch.marks, scratch.queue
    count = np.int64(0)
    one, low, high = np.uint64(1), np.uint64(first), np.uint64(end)
    for group in range(first >> 12, ((end - 1) >> 12) + 1):
        words = groups[group]
        while words != 0:
            word = (np.uint64(group) << np.uint64(6)) + find_lowest_bit(words)
            words &= words - one
            bits = marks[word]
            base = word << np.uint64(6)
            if base < low:
                bits = bits >> (low - base) << (low - base) if low - base < np.uint64(64) else np.uint64(0)
            if base + np.uint64(64) > high:
                bits &= (one << (high - base)) - one if base < high else np.uint64(0)
            marks[word] &= ~bits
            if marks[word] == 0:
                groups[group] &= ~(one << (word & np.uint64(63)))
            while bits != 0:
                queue[np.uint64(count)] = base + find_lowest_bit(bits)
                bits &= bits - one
                count += 1
    return count


@inline
def list_leading_predicates(leads, satisfied, count, leading):
    """List the satisfied predicates whose record has slots or links; return how many."""
    many = 0
    for k in range(np.uint64(count)):
        leading[np.uint64(many)] = satisfied[k]
        many += is_true(leads, satisfied[k])
    return many


@kernel
def match_tree(index, snapshot, scratch, events, out, event):
    """Match exactly, whatever values events have. effort[0] counts the subscriptions whose node is evaluated."""
    index, snapshot = unpack(index, ATreeIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, ATreeScratch), borrow(events, Events), borrow(out, Matches)
    truth, satisfied = scratch.found.truth, scratch.found.listed
    signature, queue, leading = scratch.signature, scratch.queue, scratch.leading
    words, record_start = index.words, index.record_start
    predicates = record_start.size - 1 - index.is_or.size
    for e in range(event, events.single_valued.size):
        signature[-1] += SIGNATURES
        clock, stop = signature[-1], events.start[e + 1]
        count = find_satisfied(index.stabbing, snapshot.predicates, events, e, scratch.found)
        open_event(events, e, scratch.found.first_entry)
        written = emit_slots(0, index.always.size, index.always, snapshot, out, out.start[e])
        many = list_leading_predicates(index.leads, satisfied, count, leading)
        for k in range(many):
            if k + 2 * PREFETCH_NODES < many:
                prefetch(record_start, np.int64(leading[k + 2 * PREFETCH_NODES]))
                prefetch(words, record_start[leading[k + PREFETCH_NODES]])
            if written >= 0:
                record = record_start[leading[k]]
                written = emit_record(record, index, snapshot, out, written)
                propagate(record, index, scratch)
        for level in range(index.level_start.size - 1):
            queued = pop_level(index.level_start[level], index.level_start[level + 1], scratch)
            for k in range(queued):
                if k + 2 * PREFETCH_NODES < queued:
                    prefetch(record_start, predicates + np.int64(queue[k + 2 * PREFETCH_NODES]))
                    prefetch(words, record_start[predicates + queue[k + PREFETCH_NODES]])
                record = record_start[predicates + queue[k]]
                scratch.effort[0] += words[record + SLOTS]
                if written >= 0 and is_every_test_true(record, index, snapshot, events, stop, scratch, clock):
                    if is_true(index.is_read, queue[k]):
                        signature[queue[k]] = clock + TRUE
                    written = emit_record(record, index, snapshot, out, written)
                    propagate(record, index, scratch)
        close_event(events, e, scratch.found.first_entry)
        clear_true_predicates(truth, satisfied, count)
        if written < 0:
            return e
        out.start[e + 1] = written
    return events.single_valued.size
