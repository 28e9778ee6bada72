"""Find the predicates that an event satisfies, each once, however many subscriptions have it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32, U64, Runs, keeps
from tellwhen.kernels.evaluate import close_event, is_predicate_true, open_event
from tellwhen.kernels.jit import inline
from tellwhen.kernels.stabbing import find_runs
from tellwhen.kernels.truth import is_true, set_true


@keeps("first_entry", "truth")
class Satisfied(NamedTuple):
    """The satisfied predicates of an event, with the working arrays for finding them: a part of a kernel's scratch."""

    runs: Runs
    first_entry: I32  # zero between events
    truth: U64  # a bit for every predicate; zero between events
    listed: I32  # true predicates


@inline
def find_satisfied(stabbing, predicates, events, event, found):
    """Set the bits of all true predicates in a stabbing index, and list them; return how many.

    Exact for all events. `kernels.truth.clear_true_predicates` clears the bits again.
    """
    first_entry, runs, truth = found.first_entry, found.runs, found.truth
    domains = stabbing.key_start.size // 4 - 1
    end, count = events.start[event + 1], np.int64(0)
    is_single = events.single_valued[event] != 0
    if not is_single:
        open_event(events, event, first_entry)
    for i in range(events.start[event], end):
        domain = events.domain[i]
        if domain >= domains:
            continue
        for k in range(find_runs(stabbing, domain, events.low[i], events.high[i], runs)):
            for j in range(np.uint64(runs.begin[k]), np.uint64(runs.end[k])):
                p = stabbing.members[j]
                if not is_single:
                    if is_true(truth, p):  # by another value
                        continue
                    # A negated predicate must hold for all values of its domain: tested once, with the first of them.
                    if predicates.every[p] != 0 and (
                        first_entry[domain] != i + 1 or not is_predicate_true(p, predicates, first_entry, events, end)
                    ):
                        continue
                set_true(truth, p)
                found.listed[np.uint64(count)] = p
                count += 1
    if not is_single:
        close_event(events, event, first_entry)
    return count
