"""Kernels that match by a BE-Tree (BE-Tree, section 6, Algorithms 1 and 2).

Deviation: true predicates are found once for an event. Testing a predicate is then reading a bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I64, Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.evaluate import close_event, measure_longest_event, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_at_least
from tellwhen.kernels.spaces import find_space
from tellwhen.kernels.truth import clear_true_predicates, find_true_predicates, is_true
from tellwhen.papers.be_tree.betree.arrays import (
    DIRECTORY,
    DOMAIN,
    FAILED,
    HIGH,
    HITS,
    LEFT,
    LOW,
    MIDDLE,
    NO_DOMAIN,
    PASSED,
    RIGHT,
    VISITS,
    WORDS,
    BETreeIndex,
    BETreeScratch,
)

PREFETCH_LEAVES = 3
"""Prefetch distance, in leaves."""

CACHE_LINE_WORDS = 16
"""int32 words per cache line."""

ONE = np.uint64(1)
HEADER_WORDS = np.uint64(2)
"""Words of a conjunction before its predicates."""


class EntrySpaces(NamedTuple):
    """The spaces of the least and of the greatest value of each entry of an event."""

    low: I64
    high: I64


@inline
def find_spaces(index, events, event, spaces):
    """Fill `spaces` for one event, except for domains that are newer than the index."""
    begin = events.start[event]
    for i in range(begin, events.start[event + 1]):
        domain = events.domain[i]
        if domain < index.cut_start.size - 1:
            spaces.low[i - begin] = find_space(index.cut_start, index.cuts, domain, events.low[i])
            spaces.high[i - begin] = find_space(index.cut_start, index.cuts, domain, events.high[i])


@inline
def queue_pnodes(index, n, events, event, first_entry, queue, back):
    """Queue the top nodes of a node's p-nodes on domains of the event: its p-directory (Algorithm 1).

    Enumerates the p-nodes or the entries of the event, whichever are fewer. Returns the new end of the queue.
    """
    begin, end = events.start[event], events.start[event + 1]
    first, last = index.nodes[n, DIRECTORY], index.nodes[n + 1, DIRECTORY]
    if last - first <= end - begin:
        for k in range(first, last):
            queue[back] = index.pnode_top[k]
            back += first_entry[index.pnode_domain[k]] > 0
    else:
        for i in range(begin, end):
            domain = events.domain[i]
            if domain < index.cut_start.size - 1 and (i == begin or events.domain[i - 1] != domain):
                k = find_first_at_least(index.pnode_domain, first, last, domain)
                if k < last and index.pnode_domain[k] == domain:
                    queue[back] = index.pnode_top[k]
                    back += 1
    return back


@inline
def is_touched(index, n, events, event, first_entry, spaces):
    """Return whether a value of the event is in the minimal interval of a node's bucket; True for the root."""
    domain, low, high = index.nodes[n, DOMAIN], index.nodes[n, LOW], index.nodes[n, HIGH]
    if domain == NO_DOMAIN:
        return True
    begin, end = events.start[event], events.start[event + 1]
    i = first_entry[domain] - 1
    while i < end and events.domain[i] == domain:
        if spaces.low[i - begin] <= high and spaces.high[i - begin] >= low:
            return True
        i += 1
    return False


@inline
def queue_halves(index, n, events, event, first_entry, spaces, queue, back):
    """Queue the halves of a node's bucket that may have a value of the event (Algorithm 2).

    Returns the new end of the queue. Whether a half really has a value is tested when the half is taken from the queue.
    """
    nodes = index.nodes
    left, right = nodes[n, LEFT], nodes[n, RIGHT]
    if left >= 0 or right >= 0:
        begin, end = events.start[event], events.start[event + 1]
        domain, middle = nodes[n, DOMAIN], nodes[n, MIDDLE]
        is_lower = is_higher = False
        i = first_entry[domain] - 1
        while i < end and events.domain[i] == domain:
            is_lower |= spaces.low[i - begin] <= middle
            is_higher |= spaces.high[i - begin] > middle
            i += 1
        queue[back] = left
        back += is_lower and left >= 0
        queue[back] = right
        back += is_higher and right >= 0
    return back


@inline
def find_nodes(index, events, event, first_entry, spaces, queue, leaf):
    """List in `queue` the nodes that the event visits, and in `leaf` those with conjunctions; returns how many of each.

    Nodes are visited level by level, so that the loads of several nodes overlap. New nodes are queued at the back. The
    list overwrites the front of the queue, where nodes have been visited.
    """
    nodes = index.nodes
    queue[0] = 0
    front, back, visited, leaves = 0, np.int64(1), 0, 0  # a literal would compile queue_pnodes twice
    while front < back:
        n = queue[front]
        front += 1
        if not is_touched(index, n, events, event, first_entry, spaces):
            continue
        back = queue_pnodes(index, n, events, event, first_entry, queue, back)
        back = queue_halves(index, n, events, event, first_entry, spaces, queue, back)
        queue[visited] = leaf[leaves] = n
        visited += 1
        leaves += nodes[n, WORDS] < nodes[n + 1, WORDS]
    return visited, leaves


@inline
def compute_matches_max(index, leaf, leaves):
    """Return an upper limit for the number of matches in the leaves: a conjunction has at least two words."""
    words = 0
    for k in range(leaves):
        words += index.nodes[leaf[k] + 1, WORDS] - index.nodes[leaf[k], WORDS]
    return words // 2


@inline
def prefetch_leaf(index, n):
    """Load a word of every cache line of a leaf; returns their sum. LLVM drops loads whose result is not used."""
    loaded = 0
    for w in range(index.nodes[n, WORDS], index.nodes[n + 1, WORDS], CACHE_LINE_WORDS):
        loaded += index.words[w]
    return loaded


@inline
def count_hits(index, n, hits):
    """Count a match in the subtree of a node and of all nodes above, at most once for an event."""
    m = np.int64(n)
    while m >= 0 and hits[m] != hits[-1]:
        hits[m] = hits[-1]
        index.counts[m, HITS] += 1
        m = np.int64(index.above[m])


@inline
def test_leaf(index, n, snapshot, scratch, out, written):
    """Test the conjunctions of a leaf, and write those that are true.

    Returns the new end of the output, and the numbers of conjunctions and of predicates that were tested. Counts for
    the growing tree: threads that count at the same time may lose counts, nothing else. Indexes are unsigned here,
    because Numba tests whether a signed index is negative.
    """
    words, truth, stamps = index.words, scratch.truth, scratch.stamps
    at, end = np.uint64(index.nodes[n, WORDS]), np.uint64(index.nodes[n + 1, WORDS])
    conjunctions = matches = passed = failed = 0
    while at < end:
        first = at + HEADER_WORDS
        i, stop = first, first + np.uint64(words[at])
        while i < stop and is_true(truth, words[i]):
            i += ONE
        if i == stop:
            passed += np.int64(i - first)
            matches += 1
            written = emit(words[at + ONE], snapshot, stamps, out, written)
        else:
            failed += np.int64(i - first) + 1
        conjunctions += 1
        at = stop
    index.counts[n, FAILED] += failed
    if matches > 0:
        index.counts[n, PASSED] += matches
        count_hits(index, n, scratch.hits)
    return written, conjunctions, passed + failed


@kernel
def match_tree(index, snapshot, scratch, events, out, event):
    """Match by the nodes that an event reaches (MatchBETree, Algorithm 1).

    Exact for single-valued events; writes too many slots for other events. effort[0] counts the conjunctions that are
    tested, and effort[1] the predicates that are tested for them.
    """
    index, snapshot = unpack(index, BETreeIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, BETreeScratch), borrow(events, Events), borrow(out, Matches)
    first_entry, queue, leaf = scratch.first_entry, scratch.queue, scratch.leaf
    longest = measure_longest_event(events, event)
    spaces = EntrySpaces(np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64))
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        find_spaces(index, events, e, spaces)
        open_event(events, e, first_entry)
        visited, leaves = find_nodes(index, events, e, first_entry, spaces, queue, leaf)
        close_event(events, e, first_entry)
        if compute_matches_max(index, leaf, leaves) > out.slot.size - written:
            return e
        satisfied = find_true_predicates(index.stabbing, events, e, scratch.runs, scratch.truth, scratch.satisfied)
        advance_clock(scratch.stamps)
        advance_clock(scratch.hits)
        conjunctions = predicates = loaded = 0  # local sums: writing to memory in every leaf would cost time
        for k in range(leaves):
            if k + PREFETCH_LEAVES < leaves:
                loaded += prefetch_leaf(index, leaf[k + PREFETCH_LEAVES])
            written, leaf_conjunctions, leaf_predicates = test_leaf(index, leaf[k], snapshot, scratch, out, written)
            conjunctions += leaf_conjunctions
            predicates += leaf_predicates
        leaf[leaves] = loaded  # keeps the prefetch loads alive
        for k in range(visited):
            index.counts[queue[k], VISITS] += 1
        scratch.effort[0] += conjunctions
        scratch.effort[1] += predicates
        clear_true_predicates(scratch.truth, scratch.satisfied, satisfied)
        out.start[e + 1] = written
    return events.single_valued.size
