"""Match by a BE-Tree (BE-Tree, section 6, Algorithms 1 and 2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import Events
from tellwhen.kernels.evaluate import close_event, first_at_least, is_true, longest_event, open_event
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.propagation import forget_true, note_true
from tellwhen.kernels.rows import emit
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import RUNS

N_LINE, N_LOW, N_HIGH, N_LEFT, N_RIGHT, N_ROWS, N_DIRECTORY, N_COLUMNS = range(8)
"""Columns of a node: its bucket's attribute and bounds, its halves (-1 for none), and where its rows and its p-nodes
begin; they end where those of the next node begin. A row is some words: how many predicates, the slot, and these."""


AHEAD, LINE = 3, 16
"""Leaves whose rows are asked for before it is their turn, so that they are on their way; words that come together."""


@inline
def reach(node, pdir_line, pdir_top, known, events, event, first_entry, low_space, high_space, queue):
    """All nodes with rows that the event comes to, level by level (Algorithms 1 and 2); returns how many."""
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
                back += first_entry[pdir_line[k]] > 0
        else:
            for i in range(begin, end):
                line = events.line[i]
                if line < known and (i == begin or events.line[i - 1] != line):
                    k = first_at_least(pdir_line, first, last, line)
                    if k < last and pdir_line[k] == line:
                        queue[back] = pdir_top[k]
                        back += 1
        left, right = node[n, N_LEFT], node[n, N_RIGHT]
        if left >= 0 or right >= 0:
            line, low, high = node[n, N_LINE], node[n, N_LOW], node[n, N_HIGH]
            middle = (low + high) // 2
            lower = higher = False
            i = first_entry[line] - 1
            while i < end and events.line[i] == line:
                lower |= low_space[i - begin] <= middle and high_space[i - begin] >= low
                higher |= high_space[i - begin] > middle and low_space[i - begin] <= high
                i += 1
            queue[back] = left
            back += lower and left >= 0
            queue[back] = right
            back += higher and right >= 0
        queue[leaves] = n  # whose place is free by now
        leaves += node[n, N_ROWS] < node[n + 1, N_ROWS]
    return leaves


@kernel
def match_tree(
    cut_start, cuts, node, pdir_line, pdir_top, words, lines, keys, list_start, members,
    died, version, removed, first_entry, truth, satisfied, queue, stamps, looked, visits, lost,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for plain events, and for others no match is missing. looked[0] counts the rows looked at, looked[1] their
    predicates. `visits` and `lost` tell the tree, by node, how often its rows were looked at, and how many predicates
    were tested for rows that did not match; threads that write them at once may lose a count, and nothing else.
    """
    events = Events(entry_start, entry_line, entry_low, entry_high, plain)
    begins, ends = np.empty(RUNS, dtype=np.int64), np.empty(RUNS, dtype=np.int64)
    known = cut_start.size - 1
    longest = longest_event(entry_start, event)
    low_space, high_space = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    written = start[event]
    for e in range(event, plain.size):
        begin, end = entry_start[e], entry_start[e + 1]
        for i in range(begin, end):
            line = entry_line[i]
            if line < known:
                low_space[i - begin] = space_of(cut_start, cuts, line, entry_low[i])
                high_space[i - begin] = space_of(cut_start, cuts, line, entry_high[i])
        open_event(events, e, first_entry)
        leaves = reach(node, pdir_line, pdir_top, known, events, e, first_entry, low_space, high_space, queue)
        close_event(events, e, first_entry)
        most = 0
        for k in range(leaves):
            most += node[queue[k] + 1, N_ROWS] - node[queue[k], N_ROWS]
        if most // 2 > out.size - written:  # a row has two words at least
            return e
        count = note_true(
            lines, keys, list_start, members, entry_line, entry_low, entry_high, begin, end,
            begins, ends, truth, satisfied,
        )  # fmt: skip
        stamps[-1] += 1
        asked = 0
        for k in range(leaves):
            if k + AHEAD < leaves:
                for w in range(node[queue[k + AHEAD], N_ROWS], node[queue[k + AHEAD] + 1, N_ROWS], LINE):
                    asked += words[w]
            n = queue[k]
            at, bottom = node[n, N_ROWS], node[n + 1, N_ROWS]
            rows = passed = failed = 0
            while at < bottom:
                i, stop = at + 2, at + 2 + words[at]
                while i < stop and is_true(truth, words[i]):
                    i += 1
                if i == stop:
                    passed += i - at - 2
                    written = emit(words[at + 1], stamps, removed, died, version, out, written)
                else:
                    failed += i - at - 1
                rows += 1
                at = stop
            looked[0] += rows
            looked[1] += passed + failed
            visits[n] += 1
            lost[n] += failed
        queue[leaves] = asked  # or asking would be left out
        forget_true(truth, satisfied, count)
        start[e + 1] = written
    return plain.size
