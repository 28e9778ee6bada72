"""The frame in which `pstbloom` and `psthash` match, with the conjunctions that wait for a domain."""

from __future__ import annotations

from tellwhen.kernels.emit import advance_clock
from tellwhen.kernels.jit import inline
from tellwhen.kernels.truth import clear_true_predicates, find_true_predicates
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS, emit_if_true


@inline
def is_first_on_known_domain(events, event, i, domains):
    """Return whether entry i is the first of its event on its domain, and the index knows that domain."""
    domain = events.domain[i]
    return domain < domains and (i == events.start[event] or events.domain[i - 1] != domain)


@inline
def count_waiting_at_most(index, events, event):
    """Return an upper bound of the conjunctions that `emit_waiting` writes for an event."""
    waiting = index.common.waiting
    domains = waiting.size - 2
    words = waiting[domains + 1] - waiting[domains]
    for i in range(events.start[event], events.start[event + 1]):
        if is_first_on_known_domain(events, event, i, domains):
            words += waiting[events.domain[i] + 1] - waiting[events.domain[i]]
    return words // HEAD_WORDS


@inline
def emit_waiting(index, snapshot, scratch, events, event, out, written):
    """Write the true conjunctions that wait for a domain of the event, and the conjunctions without predicates.

    Returns the new end of the output. effort[0] counts the conjunctions that are tested.
    """
    common = index.common
    waiting = common.waiting
    domains = waiting.size - 2
    end = events.start[event + 1]
    for i in range(events.start[event], end + 1):
        run = domains  # behind the last entry: the conjunctions without predicates
        if i < end:
            if not is_first_on_known_domain(events, event, i, domains):
                continue
            run = events.domain[i]
        at = waiting[run]
        while at < waiting[run + 1]:
            scratch.effort[0] += run < domains
            written = emit_if_true(at, index, snapshot, scratch, events.single_valued[event], out, written)
            at += HEAD_WORDS + common.predicate_words * common.records[at + 1] + common.known_words
    return written


@inline
def match_events(index, snapshot, scratch, events, out, event, engine_functions):
    """Match the events from `event` on. Return the first event whose matches did not fit.

    `engine_functions` are the compiled EngineFunctions in which the engines differ.

    Exact for single-valued events; writes too many slots for other events. effort[0] counts the conjunctions tested.
    """
    working = scratch.common
    written = out.start[event]
    for e in range(event, events.single_valued.size):
        lists, candidates = engine_functions.find_lists(index, scratch, events, e)
        if candidates + count_waiting_at_most(index, events, e) > out.slot.size - written:
            engine_functions.clear_marks(index, scratch, events, e)
            return e
        count = find_true_predicates(index.common.stabbing, events, e, working.runs, working.truth, working.satisfied)
        advance_clock(working.stamps)
        written = engine_functions.emit_listed(index, snapshot, scratch, events, e, lists, out, written)
        written = emit_waiting(index, snapshot, scratch, events, e, out, written)
        clear_true_predicates(working.truth, working.satisfied, count)
        engine_functions.clear_marks(index, scratch, events, e)
        out.start[e + 1] = written
    return events.single_valued.size
