"""Kernels that lay conjunctions out as records, list the records, and test one record.

All that a test of a conjunction reads is together in one *record*, and a posting is the offset of a record. So a
candidate costs one cache miss instead of one cache miss for each array. `CommonIndex` draws the records.

Inlined functions take the `index` and the `scratch` of either engine: both have a field `common`.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import is_conjunction_true
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import convert_to_offsets
from tellwhen.papers.ps_tree.arrays import PostingLists, Records

HEAD_WORDS = 2
"""int32 words of a record before its predicates."""

PREFETCH_RECORDS = 6
"""Prefetch distance, in records of a list."""


@inline
def insert_by_rank(words, begin, end, p, rank):
    """Insert predicate p into words[begin:end], which are predicates in the order of their ranks."""
    at = end
    while at > begin and rank[words[at - 1]] > rank[p]:
        words[at] = words[at - 1]
        at -= 1
    words[at] = p


@kernel
def lay_out_records(order, conjunctions, is_known, rank, record_domain, known_words):
    """Return the records of the conjunctions in this order. The predicates that `is_known` marks are not to be tested.

    record_domain[p] is the word that a record has as the domain of predicate p. Records have no domains if
    `record_domain` is empty. A record has its known predicates at the end if `known_words` is not 0.
    """
    has_domains = record_domain.size > 0
    begin = np.zeros(order.size + 1, dtype=np.int64)
    head_words = HEAD_WORDS + known_words
    words = np.empty(head_words * order.size + (1 + has_domains) * conjunctions.predicate.size, dtype=np.int32)
    end = 0
    for r in range(order.size):
        conjunction = order[r]
        head = end + HEAD_WORDS
        end = head
        for j in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
            if not is_known[j]:
                insert_by_rank(words, head, end, conjunctions.predicate[j], rank)
                end += 1
        size = end - head
        words[head - 2], words[head - 1] = conjunctions.slot[conjunction], size
        if has_domains:
            for k in range(size):
                words[end + k] = record_domain[words[head + k]]
            end += size
        if known_words:
            last = end + known_words
            for j in range(conjunctions.start[conjunction], conjunctions.start[conjunction + 1]):
                if is_known[j]:
                    words[end] = conjunctions.predicate[j]
                    end += 1
            words[end:last] = -1
            end = last
        begin[r + 1] = end
    return Records(begin, words[:end].copy())


@kernel
def place_postings(order, begin, ranges, lists):
    """Return the posting lists: count the postings of each list, then place them in the order of the records.

    Conjunction order[r] has its record at begin[r], and `ranges` (ListRanges) tells its lists. `lists` is the number of
    lists.
    """
    start = np.zeros(lists + 2, dtype=np.int64)
    postings = np.empty(0, dtype=np.int64)
    for is_placing in range(2):
        for r in range(order.size):
            for i in range(ranges.begin[order[r]], ranges.end[order[r]]):
                for k in range(ranges.first[i], ranges.last[i] + 1):
                    if is_placing:
                        postings[start[k + 1]] = begin[r]
                    start[k + 1] += 1
        if not is_placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            postings = np.empty(convert_to_offsets(start), dtype=np.int64)
    return PostingLists(start[:-1], postings)


@inline
def prefetch_record(common, k, end):
    """Load a word of the record that is PREFETCH_RECORDS behind posting k, in a list that ends at `end`.

    The caller adds the words up and stores the sum in `prefetched`: LLVM drops loads that nothing uses.
    """
    return common.records[common.postings[min(k + PREFETCH_RECORDS, end - 1)]]


@inline
def emit_if_true(at, index, snapshot, scratch, single_valued, out, written):
    """Write the slot of the record at `at` if all its predicates are true; returns the new end of the output.

    An event with several values may find a record in several lists. Its slot is then written as one of several
    conjunctions of a subscription, and so only once.
    """
    records = index.common.records
    begin = at + HEAD_WORDS
    if is_conjunction_true(records, begin, begin + records[at + 1], scratch.common.truth):
        slot = records[at]
        if not single_valued and slot >= 0:
            slot = -1 - slot
        written = emit(slot, snapshot, scratch.common.stamps, out, written)
    return written
