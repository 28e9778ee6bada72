"""Match by a BE-Tree (BE-Tree, section 6, Algorithms 1 and 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.propagation.kernels import forget_true, note_true
from tellwhen.kernels.arrays import Events
from tellwhen.kernels.emit import emit
from tellwhen.kernels.evaluate import close_event, first_at_least, is_true, longest_event, open_event
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import MAX_RUNS

N_DOMAIN, N_LOW, N_HIGH, N_LEFT, N_RIGHT, N_CONJUNCTIONS, N_DIRECTORY, N_COLUMNS = range(8)
"""Columns of a node: its bucket's attribute and bounds, its halves (-1 for none), and where its conjunctions and its p-nodes
begin; they end where those of the next node begin. A conjunction is some words: how many predicates, the slot, and these."""


AHEAD, DOMAIN = 3, 16
"""Leaves whose conjunctions are asked for before it is their turn, so that they are on their way; words that come together."""


@inline
def reach(node, pdir_domain, pdir_top, known, events, event, first_entry, low_space, high_space, queue):
    """All nodes with conjunctions that the event comes to, level by level (Algorithms 1 and 2); returns how many."""
    begin, end = events.start[event], events.start[event + 1]
    queue[0] = 0
    front, back, leaves = 0, 1, 0
    while front < back:
        n = queue[front]
        front += 1
        first, last = node[n, N_DIRECTORY], node[n + 1, N_DIRECTORY]
        if last - first <= end - begin:
            for k in range(first, last):
                queue[back] = pdir_top[k]
                back += first_entry[pdir_domain[k]] > 0
        else:
            for i in range(begin, end):
                domain = events.domain[i]
                if domain < known and (i == begin or events.domain[i - 1] != domain):
                    k = first_at_least(pdir_domain, first, last, domain)
                    if k < last and pdir_domain[k] == domain:
                        queue[back] = pdir_top[k]
                        back += 1
        left, right = node[n, N_LEFT], node[n, N_RIGHT]
        if left >= 0 or right >= 0:
            domain, low, high = node[n, N_DOMAIN], node[n, N_LOW], node[n, N_HIGH]
            middle = (low + high) // 2
            lower = higher = False
            i = first_entry[domain] - 1
            while i < end and events.domain[i] == domain:
                lower |= low_space[i - begin] <= middle and high_space[i - begin] >= low
                higher |= high_space[i - begin] > middle and low_space[i - begin] <= high
                i += 1
            queue[back] = left
            back += lower and left >= 0
            queue[back] = right
            back += higher and right >= 0
        queue[leaves] = n  # whose place is free by now
        leaves += node[n, N_CONJUNCTIONS] < node[n + 1, N_CONJUNCTIONS]
    return leaves


@kernel
def match_tree(
    cut_start, cuts, node, pdir_domain, pdir_top, words, domains, keys, list_start, members,
    died, version, removed, first_entry, truth, satisfied, queue, stamps, effort, visits, lost,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for single-valued events, and for others no match is missing. effort[0] counts the conjunctions looked at, effort[1] their
    predicates. `visits` and `lost` tell the tree, by node, how often its conjunctions were looked at, and how many predicates
    were tested for conjunctions that did not match; threads that write them at once may lose a count, and nothing else.
    """
    events = Events(entry_start, entry_domain, entry_low, entry_high, single_valued)
    begins, ends = np.empty(MAX_RUNS, dtype=np.int64), np.empty(MAX_RUNS, dtype=np.int64)
    known = cut_start.size - 1
    longest = longest_event(entry_start, event)
    low_space, high_space = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    written = start[event]
    for e in range(event, single_valued.size):
        begin, end = entry_start[e], entry_start[e + 1]
        for i in range(begin, end):
            domain = entry_domain[i]
            if domain < known:
                low_space[i - begin] = space_of(cut_start, cuts, domain, entry_low[i])
                high_space[i - begin] = space_of(cut_start, cuts, domain, entry_high[i])
        open_event(events, e, first_entry)
        leaves = reach(node, pdir_domain, pdir_top, known, events, e, first_entry, low_space, high_space, queue)
        close_event(events, e, first_entry)
        most = 0
        for k in range(leaves):
            most += node[queue[k] + 1, N_CONJUNCTIONS] - node[queue[k], N_CONJUNCTIONS]
        if most // 2 > out.size - written:  # a conjunction has two words at least
            return e
        count = note_true(
            domains, keys, list_start, members, entry_domain, entry_low, entry_high, begin, end,
            begins, ends, truth, satisfied,
        )  # fmt: skip
        stamps[-1] += 1
        asked = 0
        for k in range(leaves):
            if k + AHEAD < leaves:
                for w in range(
                    node[queue[k + AHEAD], N_CONJUNCTIONS], node[queue[k + AHEAD] + 1, N_CONJUNCTIONS], DOMAIN
                ):
                    asked += words[w]
            n = queue[k]
            at, bottom = node[n, N_CONJUNCTIONS], node[n + 1, N_CONJUNCTIONS]
            conjunctions = passed = failed = 0
            while at < bottom:
                i, stop = at + 2, at + 2 + words[at]
                while i < stop and is_true(truth, words[i]):
                    i += 1
                if i == stop:
                    passed += i - at - 2
                    written = emit(words[at + 1], stamps, removed, died, version, out, written)
                else:
                    failed += i - at - 1
                conjunctions += 1
                at = stop
            effort[0] += conjunctions
            effort[1] += passed + failed
            visits[n] += 1
            lost[n] += failed
        queue[leaves] = asked  # or asking would be left out
        forget_true(truth, satisfied, count)
        start[e + 1] = written
    return single_valued.size
