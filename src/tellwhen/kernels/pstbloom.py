"""Match by lists of rows and signatures in predicate spaces (PSTBloom; PS-Tree, section 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.propagation import forget_true, note_true
from tellwhen.kernels.pstrows import AHEAD, HEAD, accepts, emit_waiting, most_waiting, slot_of
from tellwhen.kernels.rows import emit
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import RUNS, to_begins


@kernel
def place_rows(access, begin, start, first, last, spaces):
    """Put rows into the lists of the spaces that their access predicates cover: count, then place.

    begin[row] is where its record begins, which the lists hold.
    """
    list_start = np.zeros(spaces + 2, dtype=np.int64)
    rows = np.empty(0, dtype=np.int64)
    for placing in range(2):
        for row in range(access.size):
            for i in range(start[access[row]], start[access[row] + 1]):
                for space in range(first[i], last[i] + 1):
                    if placing:
                        rows[list_start[space + 1]] = begin[row]
                    list_start[space + 1] += 1
        if not placing:
            # One place to the right; placing then moves each begin to its end.
            rows = np.empty(to_begins(list_start), dtype=np.int64)
    return list_start[:-1], rows


@inline
def bit_of(at, words):
    """The bit that stands for a record in a signature of so many words."""
    mixed = (np.uint64(at) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return (mixed * (np.uint64(words) << np.uint64(6))) >> np.uint64(32)


@kernel
def sign_rows(begin, records, start, first, last, sign_start):
    """Put all rows into the signatures of their spaces. Predicates with a negative line are in none."""
    sign = np.zeros(sign_start[-1], dtype=np.uint64)
    for row in range(begin.size - 1):
        at = begin[row]
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
    """Does the event carry every line of the row, and have its spaces there the row in their signatures?"""
    size = records[at + 1]
    for j in range(np.uint64(at + HEAD + size), np.uint64(at + HEAD + 2 * size)):
        line = records[j]
        space = here[line if line >= 0 else -1 - line]
        if space == 0:
            return False
        if line >= 0:
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
    lines, keys, stab_start, members, cut_start, cuts, list_start, rows, waiting, records, sign_start, sign,
    died, version, removed, truth, satisfied, here, stamps, looked,
    entry_start, entry_line, entry_low, entry_high, plain, event, start, out,
):  # fmt: skip
    """Fill `out` from `event` on; returns the first event whose matches did not fit.

    Exact for plain events, and for others no match is missing: signatures are for single values, and not asked then.
    looked[0] counts the rows looked at. here[line] is the number of the event's space + 1, 0 without one.
    """
    begins, ends = np.empty(RUNS, dtype=np.int64), np.empty(RUNS, dtype=np.int64)
    known = cut_start.size - 1
    written = start[event]
    for e in range(event, plain.size):
        first, last = entry_start[e], entry_start[e + 1]
        most = most_waiting(waiting, entry_line, first, last)
        for i in range(first, last):
            line = entry_line[i]
            if line < known:
                space = space_of(cut_start, cuts, line, entry_low[i])
                upto = space if plain[e] else space_of(cut_start, cuts, line, entry_high[i])
                here[line] = space + 1
                most += list_start[upto + 1] - list_start[space]
        fits = most <= out.size - written
        if fits:
            count = note_true(
                lines, keys, stab_start, members, entry_line, entry_low, entry_high, first, last,
                begins, ends, truth, satisfied,
            )  # fmt: skip
            stamps[-1] += 1
            asked = 0
            for i in range(first, last):
                line = entry_line[i]
                if line >= known:
                    continue
                space = here[line] - 1
                upto = space
                if not plain[e]:
                    space = space_of(cut_start, cuts, line, entry_low[i])
                    upto = space_of(cut_start, cuts, line, entry_high[i])
                looked[0] += list_start[upto + 1] - list_start[space]
                final = list_start[upto + 1] - 1
                for k in range(list_start[space], list_start[upto + 1]):
                    asked += records[rows[min(k + AHEAD, final)]]
                    at = rows[k]
                    if plain[e] and not signed(records, at, here, sign_start, sign):
                        continue
                    if accepts(records, at, truth):
                        written = emit(slot_of(records, at, plain[e]), stamps, removed, died, version, out, written)
            written = emit_waiting(
                waiting, records, 2, entry_line, first, last, plain[e], truth, stamps, removed, died, version, looked,
                out, written,
            )  # fmt: skip
            forget_true(truth, satisfied, count)
            satisfied[0] = asked  # or asking would be left out
        for i in range(first, last):
            if entry_line[i] < known:
                here[entry_line[i]] = 0
        if not fits:
            return e
        start[e + 1] = written
    return plain.size
