"""Lay out and test conjunctions that wait in the lists of predicate spaces. The same for pstbloom and psthash.

Whatever is needed to look at a conjunction stands together in one *record*, and a list holds the places of records: a candidate
in a list of many costs one cache miss, not one for each array.

    records  | slot  n  p p p (domain domain domain) | slot  n  ...
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import conjunction_accepts
from tellwhen.kernels.jit import inline, kernel

HEAD = 2
"""Words of a record before its predicates."""

AHEAD = 6
"""Records that are asked for before it is their turn, so that they are on their way from memory."""


@kernel
def lay_records(order, slot, start, predicate, known, rank, domain_of):
    """Records of conjunctions in a new order: the predicates not known to hold, the most selective first, perhaps their domains.

    Returns where each record begins, and the records. `domain_of` may be empty: then there are no domains.
    """
    with_domains = domain_of.size > 0
    begin = np.zeros(order.size + 1, dtype=np.int64)
    records = np.empty(HEAD * order.size + (1 + with_domains) * predicate.size, dtype=np.int32)
    end = 0
    for r in range(order.size):
        conjunction = order[r]
        head = end + HEAD
        end = head
        for j in range(start[conjunction], start[conjunction + 1]):
            if known[j]:
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
                records[end + k] = domain_of[records[head + k]]
            end += size
        begin[r + 1] = end
    return begin, records[:end].copy()


@inline
def accepts(records, at, truth):
    """Are the predicates of a record true?"""
    return conjunction_accepts(records, at + HEAD, at + HEAD + records[at + 1], truth)


@inline
def slot_of(records, at, single_valued):
    """The slot of a record, for `emit`. An event that is not single_valued may find it in several lists, but gives it once."""
    slot = records[at]
    return slot if single_valued or slot < 0 else -1 - slot


@inline
def most_waiting(waiting, entry_domain, first, last):
    """Conjunctions that wait for domains which entries first:last carry, and conjunctions without predicates: so many at most."""
    known = waiting.size - 2
    words = waiting[known + 1] - waiting[known]
    for i in range(first, last):
        domain = entry_domain[i]
        if domain < known and (i == first or entry_domain[i - 1] != domain):
            words += waiting[domain + 1] - waiting[domain]
    return words // HEAD


@inline
def emit_waiting(
    waiting,
    records,
    lists,
    entry_domain,
    first,
    last,
    single_valued,
    truth,
    stamps,
    removed,
    died,
    version,
    effort,
    out,
    written,
):
    """Write those of these conjunctions whose predicates are true; returns the new end.

    `lists` is how many words of a record each of its predicates has.
    """
    known = waiting.size - 2
    for i in range(first, last + 1):
        domain = known
        if i < last:
            domain = entry_domain[i]
            if domain >= known or (i > first and entry_domain[i - 1] == domain):
                continue
        at, end = waiting[domain], waiting[domain + 1]
        while at < end:
            effort[0] += domain < known
            if accepts(records, at, truth):
                written = emit(slot_of(records, at, single_valued), stamps, removed, died, version, out, written)
            at += HEAD + lists * records[at + 1]
    return written
