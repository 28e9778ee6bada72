"""The keys of all conjunctions, numbered: combinations of a space of each access predicate, within limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.engines.shared.spaces import Spaces, count_coverage, count_spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, I32Matrix, I64Matrix, Predicates
from tellwhen.papers.ps_tree.psthash.arrays import KeyCursor, KeyLimits, KeyPredicates, KeyTable
from tellwhen.papers.ps_tree.psthash.kernels.keys import enumerate_keys, fill_table

INITIAL_KEYS = 1 << 11
"""Keys that a new table has room for."""


class NumberedKeys(NamedTuple):
    """The distinct keys of all conjunctions. A pair is a conjunction and one of its keys."""

    is_used: np.ndarray  # [conjunctions, access]    whether the access predicate makes keys
    pair_start: I64  # |0|4|4|6|    pairs of conjunction c are pair_start[c]:pair_start[c+1]
    pairs: I32  # |0 1 2 3|2 7|    the number of the key
    keys: I32Matrix  # as in PSTHashIndex
    table: I32


def number_key_spaces(spaces: Spaces, predicates: Predicates, times: I32) -> tuple[I32, Spaces]:
    """Assign numbers to the spaces that may be in keys; return them by space, and the intervals in these numbers.

    A *gap* is a space of one odd point that some predicate in use covers, but that is no interval by itself. Integers
    lie at even points, so only values between two integers are in a gap. Without gaps a range of integers has half as
    many spaces. Both neighbours of a gap have even points, so an interval that covers a gap covers a neighbour too.
    Predicate p is in use if times[p] is not 0.
    """
    is_first = np.zeros(spaces.total + 1, dtype=bool)
    is_first[spaces.cut_start + np.arange(len(spaces.cut_start))] = True
    begin = np.full(spaces.total + 1, LOWEST)
    begin[~is_first] = spaces.cuts
    end = np.where(is_first[1:], HIGHEST, begin[1:] - 1)
    is_used = spaces.first <= spaces.last
    first, last = spaces.first[is_used], spaces.last[is_used]
    is_interval = np.zeros(spaces.total, dtype=bool)
    is_interval[first[first == last]] = True
    is_covered = count_coverage(spaces, predicates, times.astype(np.int64)) > 0
    is_gap = (begin[:-1] == end) & (end & 1 == 1) & (end < HIGHEST) & is_covered & ~is_interval
    before = np.cumsum(~is_gap) - ~is_gap
    moved_first, moved_last = spaces.first.copy(), spaces.last.copy()
    moved_first[is_used], moved_last[is_used] = before[first], before[last] - is_gap[last]
    return np.where(is_gap, -before, before).astype(np.int32), spaces._replace(first=moved_first, last=moved_last)


def number_keys(access: I64Matrix, predicates: Predicates, spaces: Spaces, limits: KeyLimits) -> NumberedKeys:
    """Assign numbers to the keys of all conjunctions. Row c of `access` is the access predicates of c, then -1."""
    depth, count = _limit_combinations(np.append(count_spaces(spaces, predicates), np.inf)[access], limits)
    is_used = np.arange(access.shape[1]) < depth[:, None]
    makers = KeyPredicates(np.where(is_used, access, -1), np.concatenate([[0], np.cumsum(count)]))
    pairs = np.empty(makers.pair_start[-1], dtype=np.int32)
    predicate, interval, space = np.empty((3, access.shape[1]), dtype=np.int64)
    cursor = KeyCursor(predicate, interval, space, np.empty(access.shape[1], dtype=np.int32))
    known = _make_table(INITIAL_KEYS, access.shape[1])
    done = enumerate_keys(makers, predicates, spaces, cursor, known, pairs, 0)
    while done < len(access):
        known = _double_table(known)
        done = enumerate_keys(makers, predicates, spaces, cursor, known, pairs, done)
    return NumberedKeys(is_used, makers.pair_start, pairs, known.keys[: known.used[0]].copy(), known.table)


def _limit_combinations(width: np.ndarray, limits: KeyLimits) -> tuple[I64, I64]:
    """Return by conjunction how many of its access predicates make keys, and how many keys they make.

    width[c, n] is the number of spaces that access predicate n of conjunction c covers, or infinity without one.
    """
    combinations = np.cumprod(width, axis=1)
    first = combinations[:, :1]
    limit = np.where(first > limits.lists, 0, np.maximum(first, limits.combinations))
    depth = np.count_nonzero(combinations <= limit, axis=1)
    return depth, np.where(depth > 0, combinations[np.arange(len(depth)), depth - 1], 0).astype(np.int64)


def _make_table(room: int, access: int) -> KeyTable:
    return KeyTable(
        table=np.zeros(2 * room, dtype=np.int32),
        keys=np.empty((room, access), dtype=np.int32),
        used=np.zeros(1, dtype=np.int64),
    )


def _double_table(known: KeyTable) -> KeyTable:
    doubled = _make_table(2 * len(known.keys), known.keys.shape[1])
    doubled.keys[: len(known.keys)] = known.keys
    doubled.used[:] = known.used
    fill_table(doubled)
    return doubled
