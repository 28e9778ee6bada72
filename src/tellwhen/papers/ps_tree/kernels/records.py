"""How are conjunctions laid out as records, and tested? The same for `pstbloom` and `psthash`.

All that a test of a conjunction reads stands together in one *record*, and a posting is the offset of a record. So a
candidate costs one cache miss instead of one for each array.

    records  | slot  n  p p p (domain domain domain) | slot  n  ...

Helpers take the `index` and the `scratch` of either engine: both have a field `common`.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import conjunction_accepts
from tellwhen.kernels.jit import inline, kernel

HEAD_WORDS = 2
"""int32 words of a record before its predicates."""

PREFETCH_RECORDS = 6
"""Prefetch distance, in records of a list."""


@kernel
def lay_records(order, conjunctions, is_known, rank, record_domain):
    """Records of the conjunctions in a new order. The predicates still to be tested, the most selective first.

    is_known[j] is 1 if predicate j of `conjunctions` need not be tested: it is true whenever the conjunction is found
    in a list. record_domain[p] is what stands in a record as the domain of predicate p; if it is empty, records have no
    domains. Returns where each record begins, and the records.
    """
    slot, start, predicate = conjunctions
    with_domains = record_domain.size > 0
    begin = np.zeros(order.size + 1, dtype=np.int64)
    records = np.empty(HEAD_WORDS * order.size + (1 + with_domains) * predicate.size, dtype=np.int32)
    end = 0
    for r in range(order.size):
        conjunction = order[r]
        head = end + HEAD_WORDS
        end = head
        for j in range(start[conjunction], start[conjunction + 1]):
            if is_known[j]:
                continue
            p = predicate[j]
            at = end
            while at > head and rank[records[at - 1]] > rank[p]:
                records[at] = records[at - 1]
                at -= 1
            records[at] = p
            end += 1
        size = end - head
        records[head - 2], records[head - 1] = slot[conjunction], size
        if with_domains:
            for k in range(size):
                records[end + k] = record_domain[records[head + k]]
            end += size
        begin[r + 1] = end
    return begin, records[:end].copy()


@inline
def prefetch(common, k, end):
    """Load a word of the record PREFETCH_RECORDS behind posting k, in a list that ends at `end`.

    The caller adds the words up and stores the sum in `prefetched`: without a use LLVM drops the loads.
    """
    return common.records[common.postings[min(k + PREFETCH_RECORDS, end - 1)]]


@inline
def emit_if_true(at, index, snapshot, scratch, single_valued, out, written):
    """Write the slot of the record at `at` if all its predicates are true; returns the new end.

    An event with several values may find a record in several lists: its slot is written as one of several conjunctions,
    and so only once.
    """
    records = index.common.records
    begin = at + HEAD_WORDS
    if conjunction_accepts(records, begin, begin + records[at + 1], scratch.common.truth):
        slot = records[at]
        if not single_valued and slot >= 0:
            slot = -1 - slot
        written = emit(slot, snapshot, scratch.common.stamps, out, written)
    return written


@inline
def is_new_domain(events, event, i, domains):
    """Is entry i the first of its event on its domain, and does the index know that domain?"""
    domain = events.domain[i]
    return domain < domains and (i == events.start[event] or events.domain[i - 1] != domain)


@inline
def max_waiting(index, events, event):
    """An upper bound of the conjunctions that wait for domains of the event, and of those without predicates."""
    waiting = index.common.waiting
    domains = waiting.size - 2
    words = waiting[domains + 1] - waiting[domains]
    for i in range(events.start[event], events.start[event + 1]):
        if is_new_domain(events, event, i, domains):
            words += waiting[events.domain[i] + 1] - waiting[events.domain[i]]
    return words // HEAD_WORDS


@inline
def emit_waiting(index, snapshot, scratch, events, event, out, written):
    """Write the conjunctions that wait for domains of the event and are true, and those without predicates.

    Returns the new end. effort[0] counts the ones that are tested.
    """
    common = index.common
    waiting = common.waiting
    domains = waiting.size - 2
    end = events.start[event + 1]
    for i in range(events.start[event], end + 1):
        run = domains  # behind the last entry: the conjunctions without predicates
        if i < end:
            if not is_new_domain(events, event, i, domains):
                continue
            run = events.domain[i]
        at = waiting[run]
        while at < waiting[run + 1]:
            scratch.effort[0] += run < domains
            written = emit_if_true(at, index, snapshot, scratch, events.single_valued[event], out, written)
            at += HEAD_WORDS + common.predicate_words * common.records[at + 1]
    return written
