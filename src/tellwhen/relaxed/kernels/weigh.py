"""Rank the matches of events by the weights of their true parts."""

from __future__ import annotations

from tellwhen.kernels.arrays import Events, Matches, Snapshot
from tellwhen.kernels.best import offer
from tellwhen.kernels.evaluate import close_event, is_predicate_true, open_event
from tellwhen.kernels.handover import borrow, unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import clear_true, set_true
from tellwhen.relaxed.arrays import MatchIndex, MatchScratch
from tellwhen.relaxed.kernels.code import run_part


@inline
def is_part_true(index, part, predicates, scratch, events, end):
    """Return whether a part is true for the event whose entries end at `end`."""
    for i in range(index.code_start[part], index.code_start[part + 1]):
        p = index.code[i]
        if p >= 0:
            if is_predicate_true(p, predicates, scratch.first_entry, events, end):
                set_true(scratch.truth, p)
            else:
                clear_true(scratch.truth, p)
    return run_part(index, part, scratch.truth, scratch)


@kernel
def rank_matches(index, snapshot, scratch, events, matches, factor, best_score, best_slot, found):
    """Offer the matches among the slots of the index to the heap of each event. A match without a true part has 0.

    factor[a] multiplies the weights of attribute a. The index was built from `snapshot`.
    """
    index, predicates = unpack(index, MatchIndex), unpack(snapshot, Snapshot).predicates
    scratch, events, matches = unpack(scratch, MatchScratch), borrow(events, Events), borrow(matches, Matches)
    for e in range(events.single_valued.size):
        open_event(events, e, scratch.first_entry)
        scores, slots, count = best_score[e], best_slot[e], found[e]
        for i in range(matches.start[e], matches.start[e + 1]):
            slot = matches.slot[i]
            at = slot - index.first
            if at < 0 or at >= index.start.size - 1:
                continue  # a slot of another segment
            total = 0.0
            for part in range(index.start[at], index.start[at + 1]):
                if is_part_true(index, part, predicates, scratch, events, events.start[e + 1]):
                    rank = index.attribute[part]
                    total += (factor[rank] if rank < factor.size else 1.0) * index.weight[part]
            count = offer(scores, slots, count, total, slot)
        found[e] = count
        close_event(events, e, scratch.first_entry)
