"""Match by counting satisfied predicates (SIFT; BE-Tree, section 7.2).

Deviation: the paper's SIFT enumerates ranges into their values. Here a value finds its intervals by stabbing, so memory
does not grow with the domain. Counters run down from the number of predicates: one random access for each satisfied
predicate instead of two.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.counting.arrays import CountingIndex, CountingScratch
from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.emit import advance_clock, emit
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.stabbing import find_runs


@inline
def count_down(members, begin, end, is_single_valued, remaining, completed, count):
    """Count one predicate down for each conjunction of a run, and list the conjunctions that reach zero in `completed`.

    `count` is the number of listed conjunctions; returns the new number. With `is_single_valued` an event satisfies a
    predicate once; otherwise it may satisfy a predicate twice, and a counter stays at zero.

    This is the hot loop. Unsigned indices spare Numba's test for negative ones. An unconditional write, which the next
    one may overwrite, spares a branch that would be mispredicted at every match. Together they halve the time.
    """
    if is_single_valued:
        for i in range(np.uint64(begin), np.uint64(end)):
            conjunction = np.uint32(members[i])
            left = remaining[conjunction]
            remaining[conjunction] = left - np.uint8(1)
            completed[np.uint64(count)] = conjunction
            count += left == 1
    else:
        for i in range(begin, end):
            conjunction = members[i]
            left = remaining[conjunction]
            remaining[conjunction] = left - (left > 0)
            completed[count] = conjunction
            count += left == 1
    return count


@kernel
def match_counting(index, snapshot, scratch, events, out, event):
    """Match exactly for single-valued events; for others the result also has slots that do not match.

    effort[0] counts the conjunctions touched.
    """
    index, snapshot = unpack(index, CountingIndex), unpack(snapshot, Snapshot)
    scratch, events, out = unpack(scratch, CountingScratch), borrow(events, Events), borrow(out, Matches)
    stabbing, need, remaining, done, stamps = (
        index.stabbing,
        index.need,
        scratch.remaining,
        scratch.done,
        scratch.stamps,
    )
    domains = stabbing.key_start.size // 4 - 1
    counters, needed = remaining.view(np.uint8), need.view(np.uint8)
    direct = index.conjunctions - index.translated_slot.size
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        finished = 0
        # Copied by words, because Numba copies byte arrays byte by byte.
        for i in range(need.size):
            remaining[i] = need[i]
        for i in range(events.start[e], events.start[e + 1]):
            if events.domain[i] < domains:
                runs = find_runs(stabbing, events.domain[i], events.low[i], events.high[i], scratch.runs)
                for k in range(runs):
                    finished = count_down(
                        stabbing.members, scratch.runs.begin[k], scratch.runs.end[k], events.single_valued[e],
                        counters, done, finished,
                    )  # fmt: skip
        for conjunction in index.always:
            done[finished] = conjunction
            finished += 1
        if finished > out.slot.size - written:
            return e
        if scratch.effort[0]:
            for c in range(index.conjunctions):
                scratch.effort[0] += counters[c] != needed[c]
        advance_clock(stamps)
        for k in range(finished):
            slot = done[k]
            if slot >= direct:
                written = emit(index.translated_slot[slot - direct], snapshot, stamps, out, written)
            else:
                written = emit(np.uint32(slot), snapshot, stamps, out, written)
        out.start[e + 1] = written
    return events.single_valued.size
