"""Match by lists of conjunctions and signatures in predicate spaces (PSTBloom; PS-Tree, section 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.propagation.kernels import forget_true, note_true
from tellwhen.engines.pstree.records import AHEAD, HEAD, accepts, emit_waiting, most_waiting, slot_of
from tellwhen.kernels.emit import emit
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import MAX_RUNS, to_begins


@kernel
def place_conjunctions(access, begin, start, first, last, spaces):
    """Put conjunctions into the lists of the spaces that their access predicates cover: count, then place.

    begin[conjunction] is where its record begins, which the lists hold.
    """
    list_start = np.zeros(spaces + 2, dtype=np.int64)
    conjunctions = np.empty(0, dtype=np.int64)
    for placing in range(2):
        for conjunction in range(access.size):
            for i in range(start[access[conjunction]], start[access[conjunction] + 1]):
                for space in range(first[i], last[i] + 1):
                    if placing:
                        conjunctions[list_start[space + 1]] = begin[conjunction]
                    list_start[space + 1] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            conjunctions = np.empty(to_begins(list_start), dtype=np.int64)
    return list_start[:-1], conjunctions


@inline
def bit_of(at, words):
    """The bit that stands for a record in a signature of so many words."""
    mixed = (np.uint64(at) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return (mixed * (np.uint64(words) << np.uint64(6))) >> np.uint64(32)


@kernel
def sign_conjunctions(begin, records, start, first, last, sign_start):
    """Put all conjunctions into the signatures of their spaces. Predicates with a negative domain are in none."""
    sign = np.zeros(sign_start[-1], dtype=np.uint64)
    for conjunction in range(begin.size - 1):
        at = begin[conjunction]
        size = records[at + 1]
        for j in range(at + HEAD, at + HEAD + size):
            if records[j + size] < 0:
                continue
            p = records[j]
            for i in range(start[p], start[p + 1]):
                for space in range(first[i], last[i] + 1):
                    bit = bit_of(at, sign_start[space + 1] - sign_start[space])
                    word = sign_start[space] + np.int64(bit >> np.uint64(6))
                    sign[word] |= np.uint64(1) << (bit & np.uint64(63))
    return sign


@inline
def signed(records, at, here, sign_start, sign):
    """Does the event carry every domain of the conjunction, and have its spaces there the conjunction in their signatures?"""
    size = records[at + 1]
    for j in range(np.uint64(at + HEAD + size), np.uint64(at + HEAD + 2 * size)):
        domain = records[j]
        space = here[domain if domain >= 0 else -1 - domain]
        if space == 0:
            return False
        if domain >= 0:
            first = sign_start[space - 1]
            words = sign_start[space] - first
            if words == 0:
                return False
            bit = bit_of(at, words)
            if (sign[np.uint64(first) + (bit >> np.uint64(6))] >> (bit & np.uint64(63))) & np.uint64(1) == 0:
                return False
    return True


@kernel
def match_spaces(
    domains, keys, stab_start, members, cut_start, cuts, list_start, conjunctions, waiting, records, sign_start, sign,
    died, version, removed, truth, satisfied, here, stamps, effort,
    entry_start, entry_domain, entry_low, entry_high, single_valued, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for single-valued events, and for others no match is missing: signatures are for single values, and not asked then.
    effort[0] counts the conjunctions looked at. here[domain] is the number of the event's space + 1, 0 without one.
    """
    begins, ends = np.empty(MAX_RUNS, dtype=np.int64), np.empty(MAX_RUNS, dtype=np.int64)
    known = cut_start.size - 1
    written = start[event]
    for e in range(event, single_valued.size):
        first, last = entry_start[e], entry_start[e + 1]
        most = most_waiting(waiting, entry_domain, first, last)
        for i in range(first, last):
            domain = entry_domain[i]
            if domain < known:
                space = space_of(cut_start, cuts, domain, entry_low[i])
                upto = space if single_valued[e] else space_of(cut_start, cuts, domain, entry_high[i])
                here[domain] = space + 1
                most += list_start[upto + 1] - list_start[space]
        fits = most <= out.size - written
        if fits:
            count = note_true(
                domains, keys, stab_start, members, entry_domain, entry_low, entry_high, first, last,
                begins, ends, truth, satisfied,
            )  # fmt: skip
            stamps[-1] += 1
            asked = 0
            for i in range(first, last):
                domain = entry_domain[i]
                if domain >= known:
                    continue
                space = here[domain] - 1
                upto = space
                if not single_valued[e]:
                    space = space_of(cut_start, cuts, domain, entry_low[i])
                    upto = space_of(cut_start, cuts, domain, entry_high[i])
                effort[0] += list_start[upto + 1] - list_start[space]
                final = list_start[upto + 1] - 1
                for k in range(list_start[space], list_start[upto + 1]):
                    asked += records[conjunctions[min(k + AHEAD, final)]]
                    at = conjunctions[k]
                    if single_valued[e] and not signed(records, at, here, sign_start, sign):
                        continue
                    if accepts(records, at, truth):
                        written = emit(
                            slot_of(records, at, single_valued[e]), stamps, removed, died, version, out, written
                        )
            written = emit_waiting(
                waiting, records, 2, entry_domain, first, last, single_valued[e], truth, stamps, removed, died, version, effort,
                out, written,
            )  # fmt: skip
            forget_true(truth, satisfied, count)
            satisfied[0] = asked  # or asking would be left out
        for i in range(first, last):
            if entry_domain[i] < known:
                here[entry_domain[i]] = 0
        if not fits:
            return e
        start[e + 1] = written
    return single_valued.size
