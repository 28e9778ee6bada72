"""Match by looking at every subscription (SCAN, BE-Tree section 7.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import PROGRAM, ROW, Events, Predicates, Stabbing
from tellwhen.kernels.evaluate import close_event, holds, is_true, open_event, program_accepts, row_accepts, set_true
from tellwhen.kernels.jit import kernel
from tellwhen.kernels.stabbing import RUNS, find_runs


@kernel
def settle(stabbing, grouped, predicates, events, event, first, truth, begins, ends):
    """Set the bits of all true predicates.

    Those numbered `grouped` and above are not in the stabbing index yet: they are few, and tried one after the other.
    """
    line_of, every, interval, lows, highs = predicates
    entry_start, entry_line, entry_low, entry_high, plain = events
    lines, keys, list_start, members = stabbing
    stride = lines.size // 4
    end = entry_start[event + 1]
    for i in range(entry_start[event], end):
        line = entry_line[i]
        if line >= stride - 1:
            continue
        for k in range(find_runs(lines, keys, list_start, stride, line, entry_low[i], entry_high[i], begins, ends)):
            for j in range(np.uint64(begins[k]), np.uint64(ends[k])):
                p = members[j]
                # A negated predicate must hold for all values of a line: looked at once, with the first of them.
                if plain[event] or every[p] == 0:
                    set_true(truth, p)
                elif first[line] == i + 1 and holds(
                    p, line_of, every, interval, lows, highs, first, entry_line, entry_low, entry_high, end
                ):
                    set_true(truth, p)
    for p in range(grouped, line_of.size):
        if holds(p, line_of, every, interval, lows, highs, first, entry_line, entry_low, entry_high, end):
            set_true(truth, p)


@kernel
def scan(
    rows, head, others, lines, keys, list_start, members, grouped, version, first, truth, candidates, registers,
    predicate_line, every, interval, low, high, kind, code_start, code, died,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    `rows` are the slots of conjunctions, head[k] is a predicate of rows[k]; `others` are the slots of all else.
    """
    stabbing = Stabbing(lines, keys, list_start, members)
    predicates = Predicates(predicate_line, every, interval, low, high)
    events = Events(entry_start, entry_line, entry_low, entry_high, plain)
    begins, ends = np.empty(RUNS, dtype=np.int64), np.empty(RUNS, dtype=np.int64)
    words = (predicate_line.size >> 6) + 1
    written = start[event]
    for e in range(event, plain.size):
        truth[:words] = 0
        open_event(events, e, first)
        settle(stabbing, grouped, predicates, events, e, first, truth, begins, ends)
        close_event(events, e, first)
        # One predicate of each conjunction, from an array of its own, turns most of them away: 4 bytes read for each,
        # and no branch to mispredict.
        count = 0
        for k in range(np.uint64(rows.size)):
            candidates[np.uint64(count)] = rows[k]
            count += is_true(truth, head[k])
        if count + others.size > out.size - written:
            return e
        for k in range(np.uint64(count)):
            slot = np.uint32(candidates[k])
            out[np.uint64(written)] = slot
            if row_accepts(code, code_start[slot], code_start[slot + np.uint32(1)], truth):
                written += died[slot] > version
        for slot in others:
            out[written] = slot
            # A conjunction among them is empty, and always true.
            if kind[slot] == ROW or (
                kind[slot] == PROGRAM and program_accepts(code, code_start[slot], truth, registers)
            ):
                written += died[slot] > version
        start[e + 1] = written
    return plain.size
